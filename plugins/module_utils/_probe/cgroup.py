# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups of both versions: where a unit is, what bounds it, who is in it.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

from .source import Source

# Version 1 says "unlimited" as the largest page-aligned number.
_UNLIMITED = 1 << 60
_ROOT = "/sys/fs/cgroup"
_SETTINGS = ("MemoryMax", "MemoryHigh")
_HUGETLB = r"^hugetlb\.\w+\.(?:current|usage_in_bytes)$"
_TIMEOUT_S = 20.0

Facts = dict[str, t.Any]


def unit_of(source: Source, pid: int) -> str | None:
    """The systemd unit a process belongs to; None when it is gone or in none."""
    for line in _memberships(source, pid):
        units = [part for part in line[1].split("/") if part.endswith((".service", ".scope"))]
        if units:
            return units[-1]
    return None


def _memberships(source: Source, pid: int) -> list[tuple[str, str]]:
    """(controllers, path) of a process; systemd's own hierarchies first."""
    text = source.read_text(f"/proc/{pid}/cgroup") or ""
    pairs = [
        (line.split(":", 2)[1], line.split(":", 2)[2])
        for line in text.splitlines()
        if line.count(":") >= 2
    ]
    return sorted(pairs, key=lambda pair: pair[0] not in ("", "name=systemd"))


def slice_path(name: str) -> str:
    """Where systemd puts a slice: below the slices that its name has up to each dash."""
    if name == "-.slice":
        return ""
    parts = name.removesuffix(".slice").split("-")
    return "".join(f"/{'-'.join(parts[: end + 1])}.slice" for end in range(len(parts)))


def _hierarchy(source: Source) -> tuple[int | None, str]:
    """Version and mount point of the hierarchy that accounts memory.

    A mixed host has both versions side by side, and each controller in one of them.
    """
    unified = f"{_ROOT}/unified"
    if source.exists(f"{_ROOT}/cgroup.controllers"):
        return 2, _ROOT
    if source.exists(f"{_ROOT}/memory"):
        return 1, f"{_ROOT}/memory"
    if "memory" in (source.read_text(f"{unified}/cgroup.controllers") or "").split():
        return 2, unified
    return None, _ROOT


class MemoryGroup:
    """The memory control group of a unit, which need not exist yet."""

    def __init__(self, source: Source, unit: str, show: dict[str, str], pid: int | None) -> None:
        """C(show) has the unit's properties; C(pid) is its main process, None when it is down."""
        self._source = source
        self._unit = unit
        self._show = show
        self.version, self._mount = _hierarchy(source)
        self._path = self._inside(self._unit_path(pid))

    @property
    def is_its_own(self) -> bool:
        """Whether the group has the unit's processes and no others."""
        return _name(self._path) == self._unit

    def _unit_path(self, pid: int | None) -> str:
        """The path the kernel or systemd tells, else the one systemd will choose."""
        wanted = "" if self.version == 2 else "memory"
        if pid is not None:
            for controllers, path in _memberships(self._source, pid):
                if wanted in controllers.split(","):
                    return path
        if self._show.get("ControlGroup"):
            return self._show["ControlGroup"]
        return f"{slice_path(self._show.get('Slice') or 'system.slice')}/{self._unit}"

    def _inside(self, path: str) -> str:
        """A path below the mount: a container sees only a part of the hierarchy."""
        if ".." in path.split("/"):
            return "/"
        for line in (self._source.read_text("/proc/self/mountinfo") or "").splitlines():
            fields = line.split()
            if len(fields) > 4 and fields[4] == self._mount and fields[3] != "/":
                inside = f"{path}/".startswith(f"{fields[3]}/")
                return path[len(fields[3]) :] or "/" if inside else path
        return path

    def limits(self) -> list[Facts]:
        """Every bound between the unit and the root, the nearest first; unlimited is none."""
        parts = [part for part in self._path.split("/") if part]
        paths = ["/" + "/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]
        absent = [path for path in paths if not self._source.exists(self._mount + path)]
        declared = self._declared([_name(path) for path in absent]) if self.version else {}
        found: list[Facts] = []
        for path in paths if self.version else ():
            if path in absent:
                settings = declared.get(_name(path), {})
            elif path == paths[0] or self._read(path, "memory.use_hierarchy") != "0\n":
                settings = {name: self._read(path, name) or "" for name in self._bounds()}
            else:
                continue  # up to Linux 5.10 a group of version 1 may leave its children unbound
            limit, setting = _tightest(settings)
            if limit is not None:
                found.append(
                    {
                        "path": path,
                        "limit_bytes": limit,
                        "setting": setting,
                        "current_bytes": self._current(path),
                        "reclaimable_bytes": self._reclaimable(path),
                    }
                )
        return found

    def _bounds(self) -> tuple[str, ...]:
        return ("memory.max", "memory.high") if self.version == 2 else ("memory.limit_in_bytes",)

    def _declared(self, names: list[str]) -> dict[str, dict[str, str]]:
        """The bounds that units without a group will have, by their names."""
        told = {self._unit: {name: self._show.get(name, "") for name in _SETTINGS}}
        slices = [name for name in names if name.endswith(".slice")]
        if slices:
            said = self._source.command(
                "systemctl-slices.txt",
                ["systemctl", "show", *slices, f"--property=Id,{','.join(_SETTINGS)}"],
                _TIMEOUT_S,
            )
            for block in said.text.split("\n\n"):
                values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
                told[values.pop("Id", "")] = values
        return told

    def stat(self) -> dict[str, int]:
        """The group's own memory.stat, bytes and counts; empty when there is none."""
        return self._stat(self._path)

    def hugetlb(self) -> int | None:
        """Bytes of huge pages that the group holds; None when nobody counts them for it."""
        folder = f"{_ROOT}/hugetlb" if self.version == 1 else self._mount
        folder += self._path
        sizes = [
            _bytes(self._source.read_text(f"{folder}/{file}"))
            for file in self._source.listing(folder, _HUGETLB)
        ]
        known = [size for size in sizes if size is not None]
        return sum(known) if known else None

    def processes(self) -> list[int]:
        """The processes of the unit, by systemd's own hierarchy; empty when it has none."""
        told = self._show.get("ControlGroup")
        for root in (f"{_ROOT}/systemd", f"{_ROOT}/unified", _ROOT) if told else ():
            text = self._source.read_text(f"{root}{told}/cgroup.procs") or ""
            pids = re.findall(r"^[0-9]{1,10}$", text, re.M)
            if pids:
                return [int(pid) for pid in pids]
        return []

    def _current(self, path: str) -> int | None:
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        return _bytes(self._read(path, name))

    def _reclaimable(self, path: str) -> int | None:
        """Page cache of files, which the kernel gives back on demand."""
        stat = self._stat(path)
        prefix = "" if self.version == 2 else "total_"
        sizes = [
            stat[name]
            for name in (f"{prefix}active_file", f"{prefix}inactive_file")
            if name in stat
        ]
        return sum(sizes) if sizes else None

    def _stat(self, path: str) -> dict[str, int]:
        text = self._read(path, "memory.stat") or ""
        return {name: int(size) for name, size in re.findall(r"^(\w+) ([0-9]{1,18})$", text, re.M)}

    def _read(self, path: str, name: str) -> str | None:
        return self._source.read_text(f"{self._mount}{path.rstrip('/')}/{name}")


def headroom(limits: list[Facts]) -> int | None:
    """What is left under the tightest bound; None when nothing bounds.

    A group that does not exist yet holds nothing.
    """
    return _least(
        limit["limit_bytes"] - ((limit["current_bytes"] or 0) - (limit["reclaimable_bytes"] or 0))
        for limit in limits
    )


def _bytes(text: str | None) -> int | None:
    """A size; C(max), C(infinity) and the largest number mean that there is no bound."""
    match = re.match(r"[0-9]{1,20}", (text or "").strip())
    size = int(match[0]) if match else _UNLIMITED
    return size if size < _UNLIMITED else None


def _tightest(settings: dict[str, str]) -> tuple[int | None, str | None]:
    """The smallest bound of a group with the name of its setting."""
    bounds = [(_bytes(text), name) for name, text in settings.items()]
    return min(((size, name) for size, name in bounds if size is not None), default=(None, None))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _least(values: t.Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)

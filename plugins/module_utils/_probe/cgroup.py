# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups of both versions: where a unit is, what bounds it, what it holds.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

from .source import Source

# Version 1 says "unlimited" as the largest page-aligned number.
_UNLIMITED = 1 << 60
_ROOT = "/sys/fs/cgroup"

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


class MemoryGroup:
    """The memory control group of a unit."""

    def __init__(self, source: Source, unit: str, show: dict[str, str], pid: int | None) -> None:
        """C(show) has the unit's properties; C(pid) is its main process, None when it is down."""
        self._source = source
        self._unit = unit
        self._show = show
        self.version: int | None = None
        self._mount = _ROOT
        if source.exists(f"{_ROOT}/cgroup.controllers"):
            self.version = 2
        elif source.exists(f"{_ROOT}/memory"):
            self.version, self._mount = 1, f"{_ROOT}/memory"
        self._path = self._inside(self._unit_path(pid))

    def _unit_path(self, pid: int | None) -> str:
        """The path the kernel or systemd tells, else the one systemd would choose."""
        wanted = "" if self.version == 2 else "memory"
        if pid is not None:
            for controllers, path in _memberships(self._source, pid):
                if wanted in controllers.split(","):
                    return path
        if self._show.get("ControlGroup"):
            return self._show["ControlGroup"]
        parts = self._show.get("Slice", "system.slice").removesuffix(".slice").split("-")
        slices = ["-".join(parts[: n + 1]) + ".slice" for n in range(len(parts))]
        return "/" + "/".join([*slices, self._unit])

    def _inside(self, path: str) -> str:
        """A path below the mount: a container sees only a part of the hierarchy."""
        for line in (self._source.read_text("/proc/self/mountinfo") or "").splitlines():
            fields = line.split()
            if len(fields) > 4 and fields[4] == self._mount and fields[3] != "/":
                return path[len(fields[3]) :] if path.startswith(fields[3]) else path
        return path

    def limits(self) -> list[Facts]:
        """Every bound between the unit and the root, the nearest first; unlimited is none."""
        found: list[Facts] = []
        parts = [part for part in self._path.split("/") if part]
        for depth in range(len(parts), -1, -1):
            path = "/" + "/".join(parts[:depth])
            limit = self._limit(path)
            if limit is None and depth == len(parts) and not self._exists(path):
                limit = self._declared()
            if limit is not None:
                found.append(
                    {
                        "path": path,
                        "limit_bytes": limit,
                        "current_bytes": self._current(path),
                        "reclaimable_bytes": self._reclaimable(path),
                    }
                )
        return found

    def holds(self) -> tuple[int | None, int | None]:
        """Shared and private bytes of the running unit: by its group, else by its processes."""
        if self._path.rsplit("/", 1)[-1] == self._unit:
            stat = self._stat(self._path)
            names = ("shmem", "anon") if self.version == 2 else ("total_shmem", "total_rss")
            if names[0] in stat:
                return stat[names[0]], stat.get(names[1])
        return self._held_by_processes()

    def _held_by_processes(self) -> tuple[int | None, int | None]:
        path = self._show.get("ControlGroup", "")
        totals: dict[str, int] = {}
        for root in (f"{_ROOT}/systemd", f"{_ROOT}/unified", _ROOT):
            for pid in (self._source.read_text(f"{root}{path}/cgroup.procs") or "").split():
                status = self._source.read_text(f"/proc/{pid}/status") or ""
                for name, size in re.findall(r"^(RssShmem|RssAnon):\s+(\d+) kB", status, re.M):
                    totals[name] = totals.get(name, 0) + int(size) * 1024
            if totals:
                break
        return totals.get("RssShmem"), totals.get("RssAnon")

    def _exists(self, path: str) -> bool:
        return self._source.exists(self._mount + path)

    def _declared(self) -> int | None:
        """The bound a unit that is down will have."""
        return _least(_bytes(self._show.get(name)) for name in ("MemoryMax", "MemoryHigh"))

    def _limit(self, path: str) -> int | None:
        names = ("memory.max", "memory.high") if self.version == 2 else ("memory.limit_in_bytes",)
        return _least(_bytes(self._read(path, name)) for name in names)

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
        return {name: int(size) for name, size in re.findall(r"^(\w+) (\d+)$", text, re.M)}

    def _read(self, path: str, name: str) -> str | None:
        return self._source.read_text(f"{self._mount}{path.rstrip('/')}/{name}")


def headroom(limits: list[Facts]) -> int | None:
    """What is left under the tightest bound; None when nothing bounds."""
    return _least(
        limit["limit_bytes"] - ((limit["current_bytes"] or 0) - (limit["reclaimable_bytes"] or 0))
        for limit in limits
    )


def _bytes(text: str | None) -> int | None:
    """A size; C(max), C(infinity) and the largest number mean that there is no bound."""
    match = re.match(r"\d+", (text or "").strip())
    size = int(match[0]) if match else _UNLIMITED
    return size if size < _UNLIMITED else None


def _least(values: t.Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)

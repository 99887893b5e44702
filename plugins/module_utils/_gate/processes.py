# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes and ports as /proc shows them.

Private to the collection. Every function takes the root folder that stands in for `/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LISTEN = "0A"
_UNIT = re.compile(r"([^/]+\.(?:service|scope))(?:/|$)")


@dataclass(frozen=True)
class Process:
    """One process: its title, its parent, and the systemd unit whose cgroup it lives in."""

    pid: int
    parent: int | None
    title: str
    unit: str | None


def arguments_of(root: Path, pid: int) -> list[str]:
    """Return the command line as the kernel shows it now; raises OSError."""
    data = (root / f"proc/{pid}/cmdline").read_bytes()
    return [part.decode("utf-8", "replace") for part in data.rstrip(b"\0").split(b"\0")]


def environment_of(root: Path, pid: int) -> dict[str, str]:
    """Return the environment that the process was started with; raises OSError."""
    data = (root / f"proc/{pid}/environ").read_bytes()
    pairs = (part.decode("utf-8", "replace") for part in data.split(b"\0"))
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def unit_of(root: Path, pid: int) -> str | None:
    """Return the innermost service or scope that holds the process."""
    text = _read(root / f"proc/{pid}/cgroup")
    for line in text.splitlines():
        # Version 2 writes "0::/path"; on version 1 systemd keeps its own tree under name=systemd.
        _number, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers in ("", "name=systemd"):
            units = _UNIT.findall(path)
            if units:
                return str(units[-1])
    return None


def read_process(root: Path, pid: int) -> Process | None:
    """Return one process, or None when it is gone."""
    stat = _read(root / f"proc/{pid}/stat")
    if not stat:
        return None
    # The name stands in brackets and may hold spaces and brackets itself.
    name = stat[stat.find("(") + 1 : stat.rfind(")")]
    fields = stat[stat.rfind(")") + 1 :].split()
    parent = int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None
    try:
        title = " ".join(arguments_of(root, pid)).strip()
    except OSError:
        title = ""
    return Process(pid, parent, title or name, unit_of(root, pid))


def processes_titled(root: Path, prefix: str) -> Iterator[Process]:
    """Yield the processes whose title begins with a prefix."""
    for folder in (root / "proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            data = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if data.startswith(prefix.encode()):
            process = read_process(root, int(folder.name))
            if process is not None:
                yield process


def listeners(root: Path, wanted: tuple[int, ...]) -> dict[int, list[Process]]:
    """Return who listens on the wanted TCP ports: {port: processes}, empty when not to be seen.

    Raises OSError when the kernel's table cannot be read.
    """
    inodes: dict[str, int] = {}
    tables = [(root / "proc/net/tcp").read_text(encoding="ascii")]
    tables.append(_read(root / "proc/net/tcp6"))
    for table in tables:
        for line in table.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN:
                port = int(fields[1].rsplit(":", 1)[1], 16)
                if port in wanted:
                    inodes[fields[9]] = port
    found: dict[int, list[Process]] = {port: [] for port in inodes.values()}
    if inodes:
        for inode, pid in _sockets(root, set(inodes)):
            process = read_process(root, pid)
            if process is not None:
                found[inodes[inode]].append(process)
    return found


def _sockets(root: Path, inodes: set[str]) -> Iterator[tuple[str, int]]:
    """Yield (inode, pid) of the processes that hold one of these sockets."""
    for folder in (root / "proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            links = [str(entry.readlink()) for entry in (folder / "fd").iterdir()]
        except OSError:
            continue
        for inode in inodes.intersection(
            link[8:-1] for link in links if link.startswith("socket:[")
        ):
            yield inode, int(folder.name)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

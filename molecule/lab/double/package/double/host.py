# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Free memory of the host as a rank's guard sees it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .args import VERSION

GIB = 2**30
RESERVE_BYTES = 10 * GIB


@dataclass(frozen=True)
class HostMemory:
    """Free memory of the host, and the room in the control groups above this process."""

    available_bytes: int
    headroom_bytes: int | None

    def budget(self, pinned_bytes: int, ranks: int) -> int:
        """What one rank may take, by its guard, when `pinned_bytes` are gone already."""
        available = self.available_bytes
        if VERSION >= "0.5.21" and self.headroom_bytes is not None:
            available = min(available, self.headroom_bytes)
        left = available - pinned_bytes - RESERVE_BYTES
        return left if VERSION < "0.5.19" else left // ranks


def read_host_memory() -> HostMemory:
    """Read /proc/meminfo and the memory control groups from this process up to the root.

    LAB_DOUBLE_HOST_BYTES stands in for both.
    """
    forced = os.environ.get("LAB_DOUBLE_HOST_BYTES")
    if forced:
        return HostMemory(int(forced), int(forced))
    fields = dict(
        line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line
    )
    available = int(fields["MemAvailable"].split()[0]) * 1024
    return HostMemory(available, _cgroup_headroom())


def _cgroup_headroom() -> int | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _number, controllers, path = line.split(":", 2)
        if controllers == "memory":
            root = Path("/sys/fs/cgroup/memory")
            return _least_room(root, path, ("memory.limit_in_bytes",), "memory.usage_in_bytes")
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            root = Path("/sys/fs/cgroup")
            return _least_room(root, line[3:], ("memory.max", "memory.high"), "memory.current")
    return None


def _least_room(root: Path, path: str, limits: tuple[str, ...], usage: str) -> int | None:
    folder = root / path.lstrip("/")
    rooms = []
    while folder != root.parent:
        room = _room(folder, limits, usage)
        if room is not None:
            rooms.append(room)
        folder = folder.parent
    return min(rooms, default=None)


def _room(folder: Path, limits: tuple[str, ...], usage: str) -> int | None:
    try:
        used = int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        texts = [(folder / name).read_text().strip() for name in limits]
    except (OSError, ValueError):
        return None
    reclaimable = int(stat.get("active_file", 0)) + int(stat.get("inactive_file", 0))
    bounds = [2**63 if text == "max" else int(text) for text in texts]
    return min(bounds) - max(0, used - reclaimable)

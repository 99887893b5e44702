# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running instance holds, and what comes back when it stops.

This module util is private to the llmops.sglang collection.

The kernel charges a control group with every page once, however many ranks share it. Without a
group of its own the instance's processes are counted, and a segment that they share as one.
"""

from __future__ import annotations

import re
import typing as t

from .cgroup import MemoryGroup
from .source import Source

Facts = dict[str, t.Any]

# A mapping that is shared: its length, and the segment behind it (device, inode, name).
_SHARED = re.compile(
    r"^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..[-x]s [0-9a-f]+ ([0-9a-f:]+) ([0-9]+) +(/.+)$", re.M
)
# The kernel's names for pages of a process.
_RESIDENT = ("RssShmem", "RssAnon")
_HUGE = ("HugetlbPages",)
# Which mappings are of a kind that processes share; a GPU's are none of them.
_SEGMENTS = {
    "RssShmem": re.compile(r"/dev/zero|/dev/shm/|/memfd:|/SYSV"),
    "HugetlbPages": re.compile(r"/anon_hugepage|/dev/hugepages"),
}


def read_held(source: Source, group: MemoryGroup) -> Facts:
    """The C(memory.instance) part of the facts; every value None when the unit is down."""
    stat = group.stat() if group.is_its_own else {}
    shmem, private = ("shmem", "anon") if group.version == 2 else ("total_shmem", "total_rss")
    charged = {"RssShmem": stat.get(shmem), "RssAnon": stat.get(private)}
    by_group = charged["RssShmem"] is not None
    huge = group.hugetlb() if group.is_its_own else None
    wanted = (() if by_group else _RESIDENT) + (() if huge is not None else _HUGE)
    counted = _by_processes(source, group.processes(), wanted) if wanted else {}
    held = charged if by_group else counted
    known = held.get("RssShmem") is not None
    return {
        "shmem_bytes": held.get("RssShmem"),
        "rss_bytes": held.get("RssAnon"),
        "hugetlb_bytes": counted.get("HugetlbPages") if huge is None else huge,
        "measured_by": None if not known else "cgroup" if by_group else "processes",
    }


def after_stop(available_bytes: int | None, held: Facts, runs: bool) -> int | None:
    """Available bytes once the instance has stopped; None while either is not known.

    Huge pages are no part of it: they go back to their own pool.
    """
    if available_bytes is None or not runs:
        return available_bytes
    shmem, rss = held["shmem_bytes"], held["rss_bytes"]
    return None if shmem is None or rss is None else available_bytes + shmem + rss


def _by_processes(source: Source, pids: list[int], wanted: tuple[str, ...]) -> dict[str, int]:
    """Bytes of each wanted kind of pages, by the kernel's name for it, over some processes."""
    sums: dict[str, int] = {}
    for pid in pids:
        status = source.read_text(f"/proc/{pid}/status") or ""
        for name, size in re.findall(r"^(\w+):\s+([0-9]{1,15}) kB$", status, re.M):
            if name in wanted:
                sums[name] = sums.get(name, 0) + int(size) * 1024
    shared = [name for name in _SEGMENTS if sums.get(name)]
    if shared and len(pids) > 1:
        # A segment is at most as large as its mapping, and as what all processes say of it.
        for name, size in _segments(source, pids).items():
            if name in shared:
                sums[name] = min(sums[name], size)
    return sums


def _segments(source: Source, pids: list[int]) -> dict[str, int]:
    """Bytes of the mapped segments of each kind, each counted once; a kind without any is left
    out."""
    longest: dict[tuple[str, str, str, str], int] = {}
    for pid in pids:
        mapped = source.read_text(f"/proc/{pid}/maps") or ""
        for start, end, device, inode, path in _SHARED.findall(mapped):
            for kind, paths in _SEGMENTS.items():
                if paths.match(path):
                    segment = (kind, device, inode, path)
                    length = int(end, 16) - int(start, 16)
                    longest[segment] = max(longest.get(segment, 0), length)
    sums: dict[str, int] = {}
    for (kind, *_segment), length in longest.items():
        sums[kind] = sums.get(kind, 0) + length
    return sums

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a host, what bounds the unit, and what the running instance holds.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

from .cgroup import MemoryGroup, headroom
from .source import Source

Facts = dict[str, t.Any]

_NODES = "/sys/devices/system/node"
_HUGEPAGES = "/sys/kernel/mm/hugepages"


def read_memory(source: Source, unit: str, show: dict[str, str], pid: int | None) -> Facts:
    """The C(memory) part of the facts. C(show) has the unit's properties, empty when unknown."""
    info = _meminfo(source.read_text("/proc/meminfo") or "")
    group = MemoryGroup(source, unit, show, pid)
    limits = group.limits()
    shmem, rss = group.holds() if pid is not None else (None, None)
    memlock, reason = _memlock(source, show, pid)
    return {
        "total_bytes": info.get("MemTotal"),
        "available_bytes": info.get("MemAvailable"),
        "free_bytes": info.get("MemFree"),
        "shmem_bytes": info.get("Shmem"),
        "cached_bytes": info.get("Cached"),
        "swap_total_bytes": info.get("SwapTotal"),
        "swap_free_bytes": info.get("SwapFree"),
        "hugepages": _hugepages(source, info),
        "numa": _numa(source),
        "cgroup": {"version": group.version, "limits": limits, "headroom_bytes": headroom(limits)},
        "memlock_bytes": memlock,
        "memlock_reason": reason,
        "instance": {"shmem_bytes": shmem, "rss_bytes": rss},
    }


def _meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo or a node's meminfo: sizes in bytes, page counts as they are."""
    result: dict[str, int] = {}
    for name, number, unit in re.findall(r"^(?:Node \d+ )?([\w()]+):\s+(\d+)( kB)?", text, re.M):
        result[name] = int(number) * (1024 if unit else 1)
    return result


def _hugepages(source: Source, info: dict[str, int]) -> list[Facts]:
    """Every size of which pages are reserved."""
    pages: list[Facts] = []
    for name in source.listing(_HUGEPAGES):
        size = re.match(r"hugepages-(\d+)kB$", name)
        total = source.read_text(f"{_HUGEPAGES}/{name}/nr_hugepages")
        free = source.read_text(f"{_HUGEPAGES}/{name}/free_hugepages")
        if size and total and free and int(total):
            pages.append(
                {"size_bytes": int(size[1]) * 1024, "total": int(total), "free": int(free)}
            )
    if not pages and info.get("HugePages_Total") and "Hugepagesize" in info:
        pages.append(
            {
                "size_bytes": info["Hugepagesize"],
                "total": info["HugePages_Total"],
                "free": info.get("HugePages_Free", 0),
            }
        )
    return sorted(pages, key=lambda page: int(page["size_bytes"]))


def _numa(source: Source) -> list[Facts]:
    """The nodes that have memory. The kernel tells no available bytes per node: they are counted
    as free plus file pages plus what the slab gives back."""
    nodes: list[Facts] = []
    for name in source.listing(_NODES):
        number = re.match(r"node(\d+)$", name)
        info = _meminfo(source.read_text(f"{_NODES}/{name}/meminfo") or "") if number else {}
        if number and info.get("MemTotal"):
            parts = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")
            available = sum(info.get(part, 0) for part in parts)
            nodes.append(
                {
                    "node": int(number[1]),
                    "total_bytes": info["MemTotal"],
                    "available_bytes": available if "MemFree" in info else None,
                }
            )
    return sorted(nodes, key=lambda node: int(node["node"]))


def _memlock(
    source: Source, show: dict[str, str], pid: int | None
) -> tuple[int | None, str | None]:
    """How many bytes the instance may lock; None with a reason when unlimited or unknown."""
    text = source.read_text(f"/proc/{pid}/limits") or "" if pid is not None else ""
    running = re.search(r"^Max locked memory\s+(\S+)", text, re.M)
    limit = running[1] if running else show.get("LimitMEMLOCKSoft", show.get("LimitMEMLOCK", ""))
    if show.get("LoadState") != "loaded" and not running:
        return None, "unknown: the unit does not exist yet"
    if limit in ("unlimited", "infinity", str(2**64 - 1)):
        return None, "unlimited"
    return (int(limit), None) if limit.isdigit() else (None, "unknown")

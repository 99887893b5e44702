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
from .held import after_stop, read_held
from .neighbours import read_neighbours
from .source import Source

Facts = dict[str, t.Any]

_NODES = "/sys/devices/system/node"
_HUGEPAGES = "/sys/kernel/mm/hugepages"


def read_memory(source: Source, unit: str, show: dict[str, str], pid: int | None) -> Facts:
    """The C(memory) part of the facts. C(show) has the unit's properties, empty when unknown."""
    info = _meminfo(source.read_text("/proc/meminfo") or "")
    group = MemoryGroup(source, unit, show, pid)
    limits = group.limits()
    held = read_held(source, group)
    runs = pid is not None or bool(show.get("ControlGroup"))
    planned, planned_reason = _memlock_of_unit(show)
    running = _memlock_of_process(source, pid)
    memlock, reason = running or (planned, planned_reason)
    return {
        "total_bytes": info.get("MemTotal"),
        "available_bytes": info.get("MemAvailable"),
        "free_bytes": info.get("MemFree"),
        "shmem_bytes": info.get("Shmem"),
        "cached_bytes": info.get("Cached"),
        "swap_total_bytes": info.get("SwapTotal"),
        "swap_free_bytes": info.get("SwapFree"),
        "zram_bytes": _zram(source.read_text("/proc/swaps")),
        "hugepages": _hugepages(source, _HUGEPAGES) or _default_hugepages(info),
        "numa": _numa(source),
        "cgroup": {"version": group.version, "limits": limits, "headroom_bytes": headroom(limits)},
        "memlock_bytes": memlock,
        "memlock_reason": reason,
        "memlock_unit_bytes": planned,
        "memlock_unit_reason": planned_reason,
        "instance": held,
        "available_after_stop_bytes": after_stop(info.get("MemAvailable"), held, runs),
        "neighbours": read_neighbours(source, unit),
    }


def _meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo or a node's meminfo: sizes in bytes, page counts as they are."""
    line = r"^(?:Node [0-9]+ )?([\w()]+):\s+([0-9]{1,15})( kB)?$"
    return {
        name: int(number) * (1024 if unit else 1)
        for name, number, unit in re.findall(line, text, re.M)
    }


def _zram(swaps: str | None) -> int | None:
    """Bytes of swap that lie compressed in RAM: no room beside it, whatever they are called."""
    if swaps is None:
        return None
    sizes = re.findall(r"^/dev/zram[0-9]+\s+\S+\s+([0-9]{1,15})\s", swaps, re.M)
    return sum(int(size) * 1024 for size in sizes)


def _hugepages(source: Source, folder: str) -> list[Facts]:
    """Every size of which there are pages, on the host or on a node."""
    pages: list[Facts] = []
    for name in source.listing(folder):
        size = re.fullmatch(r"hugepages-([0-9]{1,12})kB", name)
        count = {
            key: _count(source.read_text(f"{folder}/{name}/{key}_hugepages"))
            for key in ("nr", "free", "resv")
        }
        if size and count["nr"]:
            pages.append(
                {
                    "size_bytes": int(size[1]) * 1024,
                    "total": count["nr"],
                    "free": count["free"],
                    "reserved": count["resv"],
                }
            )
    return sorted(pages, key=lambda page: int(page["size_bytes"]))


def _default_hugepages(info: dict[str, int]) -> list[Facts]:
    """The pages of the default size, which /proc/meminfo tells."""
    if not info.get("HugePages_Total") or "Hugepagesize" not in info:
        return []
    return [
        {
            "size_bytes": info["Hugepagesize"],
            "total": info["HugePages_Total"],
            "free": info.get("HugePages_Free"),
            "reserved": info.get("HugePages_Rsvd"),
        }
    ]


def _count(text: str | None) -> int | None:
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*", text or "")
    return int(match[1]) if match else None


def _numa(source: Source) -> list[Facts]:
    """The nodes that have memory. The kernel tells no available bytes per node: they are counted
    as free plus file pages plus what the slab gives back."""
    nodes: list[Facts] = []
    for name in source.listing(_NODES):
        number = re.fullmatch(r"node([0-9]{1,6})", name)
        folder = f"{_NODES}/{name}"
        info = _meminfo(source.read_text(f"{folder}/meminfo") or "") if number else {}
        if number and info.get("MemTotal"):
            parts = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")
            available = sum(info.get(part, 0) for part in parts)
            cpus = source.read_text(f"{folder}/cpulist")
            nodes.append(
                {
                    "node": int(number[1]),
                    "total_bytes": info["MemTotal"],
                    "available_bytes": available if "MemFree" in info else None,
                    "cpus": None if cpus is None else cpus.strip(),
                    "hugepages": _hugepages(source, f"{folder}/hugepages"),
                }
            )
    return sorted(nodes, key=lambda node: int(node["node"]))


_Limit = tuple[t.Optional[int], t.Optional[str]]


def _memlock_of_unit(show: dict[str, str]) -> _Limit:
    """How many bytes the next start may lock; None with a reason when unlimited or unknown."""
    if show.get("LoadState") != "loaded":
        return None, "unknown: the unit does not exist yet"
    return _limit(show.get("LimitMEMLOCKSoft") or show.get("LimitMEMLOCK") or "")


def _memlock_of_process(source: Source, pid: int | None) -> _Limit | None:
    """How many bytes the running process may lock; None when there is none to ask."""
    text = source.read_text(f"/proc/{pid}/limits") or "" if pid is not None else ""
    running = re.search(r"^Max locked memory\s+(\S+)", text, re.M)
    return _limit(running[1]) if running else None


def _limit(text: str) -> _Limit:
    if text in ("unlimited", "infinity", str(2**64 - 1)):
        return None, "unlimited"
    count = _count(text)
    return count, None if count is not None else "unknown"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A /proc/meminfo of any size whose lines agree with one another."""

from __future__ import annotations

KIB_PER_GIB = 2**20
# What is left of the available memory that is not page cache, in parts of the total.
FREE_PART = 0.12
# fields that are the same on every such machine, in KiB
FIXED = {"KernelStack": 24576, "PageTables": 65536, "Percpu": 147456}


def meminfo(
    total_gib: float,
    available_gib: float,
    *,
    shmem_gib: float = 0.0,
    swap_gib: float = 0.0,
    hugepages_1gib: int = 0,
    hugepages_2mib: int = 0,
) -> str:
    """The text for a host of that size; `free` shows total and available as given.

    Huge pages are free ones and, as in the kernel, part of the used memory; /proc/meminfo counts
    those of the default size (2 MiB, or 1 GiB when only these are there). Raises ValueError when
    the parts do not fit into the total.
    """
    total, available, shmem, swap = (
        round(gib * KIB_PER_GIB) for gib in (total_gib, available_gib, shmem_gib, swap_gib)
    )
    huge = hugepages_1gib * KIB_PER_GIB + hugepages_2mib * 2048
    free = min(round(total * FREE_PART), available)
    # Available = free + what the kernel could take back: the cache of files and half the slab.
    reclaimable = available - free
    slab = reclaimable // 50
    buffers = reclaimable // 200
    files = reclaimable - slab - buffers
    anonymous = total - free - files - buffers - 2 * slab - shmem - huge - sum(FIXED.values())
    if available > total or anonymous < 0:
        raise ValueError(
            f"{total_gib:g} GiB cannot hold {available_gib:g} GiB available, {shmem_gib:g} GiB "
            f"shared and {huge / KIB_PER_GIB:g} GiB of huge pages"
        )
    page_kib = KIB_PER_GIB if hugepages_1gib and not hugepages_2mib else 2048
    pages = hugepages_1gib if page_kib == KIB_PER_GIB else hugepages_2mib
    values = {
        "MemTotal": total,
        "MemFree": free,
        "MemAvailable": available,
        "Buffers": buffers,
        "Cached": files + shmem,
        "SwapCached": 0,
        "Active": anonymous + files // 3,
        "Inactive": files - files // 3 + shmem,
        "Active(anon)": anonymous,
        "Inactive(anon)": shmem,
        "Active(file)": files // 3,
        "Inactive(file)": files - files // 3,
        "Unevictable": 0,
        "Mlocked": 0,
        "SwapTotal": swap,
        "SwapFree": swap,
        "Dirty": 0,
        "Writeback": 0,
        "AnonPages": anonymous,
        "Mapped": min(files, anonymous) // 4,
        "Shmem": shmem,
        "KReclaimable": slab,
        "Slab": 2 * slab,
        "SReclaimable": slab,
        "SUnreclaim": slab,
        **FIXED,
        "CommitLimit": swap + (total - huge) // 2,
        "Committed_AS": anonymous + shmem,
        "VmallocTotal": 34359738367,
        "VmallocUsed": 262144,
        "VmallocChunk": 0,
        "HardwareCorrupted": 0,
        "AnonHugePages": 0,
        "ShmemHugePages": 0,
        "HugePages_Total": pages,
        "HugePages_Free": pages,
        "HugePages_Rsvd": 0,
        "HugePages_Surp": 0,
        "Hugepagesize": page_kib,
        "Hugetlb": huge,
    }
    lines = []
    for name, value in values.items():
        unit = "" if name.startswith("HugePages_") else " kB"
        lines.append(f"{name + ':':<15} {value:>{23 - max(15, len(name) + 1)}}{unit}\n")
    return "".join(lines)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up /proc/meminfo must be one that a kernel could have written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from meminfo import meminfo

GIB = 2**20  # in KiB


def values(text: str) -> dict[str, int]:
    lines = [re.fullmatch(r"(\S+): +(\d+)( kB)?", line) for line in text.splitlines()]
    assert all(lines)
    return {match[1]: int(match[2]) for match in lines if match}


def test_sizes_are_exact() -> None:
    found = values(meminfo(449, 396))
    assert (found["MemTotal"], found["MemAvailable"]) == (449 * GIB, 396 * GIB)


def test_columns_are_those_of_the_kernel() -> None:
    lines = meminfo(64, 40).splitlines()
    assert lines[0] == "MemTotal:       67108864 kB"
    assert "HugePages_Total:       0" in lines
    assert {len(line) for line in lines if "HugePages_" not in line and "Vmalloc" not in line} == {
        27
    }


@given(
    total=st.floats(8, 4096),
    part=st.floats(0.05, 0.85),
    shmem=st.floats(0, 0.05),
    huge=st.integers(0, 3),
)
def test_lines_agree(total: float, part: float, shmem: float, huge: int) -> None:
    text = meminfo(total, total * part, shmem_gib=total * shmem, hugepages_2mib=huge)
    found = values(text)
    assert min(found.values()) >= 0
    taken_back = found["Buffers"] + found["Cached"] - found["Shmem"] + found["SReclaimable"]
    assert found["MemFree"] + taken_back == found["MemAvailable"]
    assert found["Slab"] == found["SReclaimable"] + found["SUnreclaim"]
    assert found["Active"] == found["Active(anon)"] + found["Active(file)"]
    accounted = found["MemFree"] + found["Buffers"] + found["Cached"] + found["Slab"]
    accounted += found["AnonPages"] + found["KernelStack"] + found["PageTables"]
    assert accounted + found["Percpu"] + found["Hugetlb"] == found["MemTotal"]
    assert found["Hugetlb"] == found["HugePages_Total"] * found["Hugepagesize"]


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="449 GiB cannot hold 440 GiB available"):
        meminfo(449, 440, hugepages_1gib=8)

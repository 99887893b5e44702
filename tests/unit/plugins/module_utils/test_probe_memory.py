# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a host and every bound on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.cgroup import unit_of
from ansible_collections.llmops.sglang.plugins.module_utils._probe.memory import read_memory
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)

GIB = 1 << 30
UNIT = "sglang-kimi.service"
UNLIMITED_V1 = "9223372036854771712\n"


def memory_of(
    folder: Path, files: dict[str, str], show: dict[str, str] | None = None, pid: int | None = None
) -> dict[str, Any]:
    return read_memory(record(folder, files), UNIT, show or {}, pid)


def test_the_headline_host() -> None:
    memory = facts_of("headline")["memory"]
    assert memory["total_bytes"] == 449 * GIB
    assert memory["available_bytes"] == 396 * GIB
    assert memory["hugepages"] == []
    assert [node["node"] for node in memory["numa"]] == [0, 1]
    assert memory["numa"][0]["available_bytes"] == (
        (30539776 + 1000000 + 176000000 + 2097152) * 1024
    )
    assert memory["cgroup"] == {"version": 2, "limits": [], "headroom_bytes": None}
    assert (memory["memlock_bytes"], memory["memlock_reason"]) == (None, "unlimited")
    assert memory["instance"] == {"shmem_bytes": 536870912, "rss_bytes": 50465865728}


def test_nothing_known_is_null(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, {})
    assert memory["total_bytes"] is None and memory["available_bytes"] is None
    assert memory["numa"] == [] and memory["hugepages"] == []
    assert memory["cgroup"] == {"version": None, "limits": [], "headroom_bytes": None}
    assert memory["memlock_reason"] == "unknown: the unit does not exist yet"
    assert memory["instance"] == {"shmem_bytes": None, "rss_bytes": None}


def v2(path: str, **values: Any) -> dict[str, str]:
    """The files of a group of version 2."""
    stat = values.pop("stat", {})
    files = {f"sys/fs/cgroup{path}/memory.{name}": f"{value}\n" for name, value in values.items()}
    if stat:
        files[f"sys/fs/cgroup{path}/memory.stat"] = "".join(
            f"{name} {size}\n" for name, size in stat.items()
        )
    return {"sys/fs/cgroup/cgroup.controllers": "memory\n", **files}


def test_version_2_counts_every_group_up_to_the_root(tmp_path: Path) -> None:
    unit, llm = f"/llm.slice/llm-big.slice/{UNIT}", "/llm.slice"
    memory = memory_of(
        tmp_path,
        {
            **v2(
                unit,
                max="max",
                high=100 * GIB,
                current=60 * GIB,
                stat={
                    "active_file": 4 * GIB,
                    "inactive_file": 16 * GIB,
                    "shmem": 30 * GIB,
                    "anon": 5 * GIB,
                },
            ),
            **v2("/llm.slice/llm-big.slice", max="max", high="max", current=61 * GIB),
            **v2(llm, max=80 * GIB, high="max", current=70 * GIB, stat={"inactive_file": 2 * GIB}),
            "proc/77/cgroup": f"0::{unit}\n",
            "proc/77/limits": "Max locked memory         8388608              8388608        bytes\n",
        },
        {"ControlGroup": "/wrong", "LoadState": "loaded", "LimitMEMLOCK": "infinity"},
        77,
    )
    assert memory["cgroup"]["version"] == 2
    assert memory["cgroup"]["limits"] == [
        {
            "path": unit,
            "limit_bytes": 100 * GIB,
            "current_bytes": 60 * GIB,
            "reclaimable_bytes": 20 * GIB,
        },
        {
            "path": llm,
            "limit_bytes": 80 * GIB,
            "current_bytes": 70 * GIB,
            "reclaimable_bytes": 2 * GIB,
        },
    ]
    assert memory["cgroup"]["headroom_bytes"] == 12 * GIB
    assert memory["memlock_bytes"] == 8388608
    assert memory["instance"] == {"shmem_bytes": 30 * GIB, "rss_bytes": 5 * GIB}


def test_a_unit_that_is_down_is_bound_by_its_slices_and_its_own_settings(tmp_path: Path) -> None:
    memory = memory_of(
        tmp_path,
        v2("/llm.slice/llm-big.slice", max=90 * GIB, current=10 * GIB),
        {
            "Slice": "llm-big.slice",
            "MemoryMax": str(50 * GIB),
            "MemoryHigh": "infinity",
            "LoadState": "loaded",
            "LimitMEMLOCK": "8388608",
            "ControlGroup": "",
        },
    )
    assert [limit["path"] for limit in memory["cgroup"]["limits"]] == [
        f"/llm.slice/llm-big.slice/{UNIT}",
        "/llm.slice/llm-big.slice",
    ]
    assert memory["cgroup"]["limits"][0]["current_bytes"] is None
    assert memory["cgroup"]["headroom_bytes"] == 50 * GIB
    assert memory["memlock_bytes"] == 8388608


def test_version_1_in_a_container_sees_its_part_of_the_hierarchy(tmp_path: Path) -> None:
    box = "/lxc/box"
    group = f"{box}/system.slice/{UNIT}"

    def v1(path: str, limit: str, usage: int) -> dict[str, str]:
        folder = f"sys/fs/cgroup/memory{path}"
        return {
            f"{folder}/memory.limit_in_bytes": limit,
            f"{folder}/memory.usage_in_bytes": f"{usage}\n",
            f"{folder}/memory.stat": f"cache 1\ntotal_shmem {7 * GIB}\ntotal_rss {GIB}\n"
            f"total_active_file {GIB}\ntotal_inactive_file {GIB}\n",
        }

    memory = memory_of(
        tmp_path,
        {
            **v1("", f"{64 * GIB}\n", 30 * GIB),
            **v1("/system.slice", UNLIMITED_V1, 30 * GIB),
            **v1(f"/system.slice/{UNIT}", UNLIMITED_V1, 20 * GIB),
            "proc/77/cgroup": f"5:memory:{group}\n1:name=systemd:{group}\n0::{group}\n",
            "proc/self/mountinfo": f"90 88 0:32 {box} /sys/fs/cgroup/memory ro - cgroup cgroup rw,"
            "memory\n",
        },
        {"LoadState": "loaded"},
        77,
    )
    assert memory["cgroup"]["version"] == 1
    assert memory["cgroup"]["limits"] == [
        {
            "path": "/",
            "limit_bytes": 64 * GIB,
            "current_bytes": 30 * GIB,
            "reclaimable_bytes": 2 * GIB,
        }
    ]
    assert memory["cgroup"]["headroom_bytes"] == 36 * GIB
    assert memory["instance"] == {"shmem_bytes": 7 * GIB, "rss_bytes": GIB}


def test_without_a_memory_group_of_its_own_the_processes_are_counted(tmp_path: Path) -> None:
    group = f"/system.slice/{UNIT}"
    status = "Name:\tpython\nRssAnon:\t    1024 kB\nRssShmem:\t    2048 kB\n"
    memory = memory_of(
        tmp_path,
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1,
            f"sys/fs/cgroup/systemd{group}/cgroup.procs": "77\n78\n79\n",
            "proc/77/cgroup": f"4:memory:/\n1:name=systemd:{group}\n",
            "proc/77/status": status,
            "proc/78/status": status,
        },
        {"ControlGroup": group, "LoadState": "loaded"},
        77,
    )
    assert memory["instance"] == {"shmem_bytes": 4 << 20, "rss_bytes": 2 << 20}
    assert memory["cgroup"]["headroom_bytes"] is None


def test_hugepages_of_every_size(tmp_path: Path) -> None:
    root = "sys/kernel/mm/hugepages"
    memory = memory_of(
        tmp_path,
        {
            f"{root}/hugepages-1048576kB/nr_hugepages": "120\n",
            f"{root}/hugepages-1048576kB/free_hugepages": "118\n",
            f"{root}/hugepages-2048kB/nr_hugepages": "512\n",
            f"{root}/hugepages-2048kB/free_hugepages": "0\n",
            f"{root}/hugepages-64kB/nr_hugepages": "0\n",
            f"{root}/hugepages-64kB/free_hugepages": "0\n",
        },
    )
    assert memory["hugepages"] == [
        {"size_bytes": 2 << 20, "total": 512, "free": 0},
        {"size_bytes": GIB, "total": 120, "free": 118},
    ]


def test_hugepages_of_the_default_size_stand_in_meminfo(tmp_path: Path) -> None:
    memory = memory_of(
        tmp_path,
        {
            "proc/meminfo": "HugePages_Total:    1024\nHugePages_Free:     1000\n"
            "Hugepagesize:       2048 kB\n"
        },
    )
    assert memory["hugepages"] == [{"size_bytes": 2 << 20, "total": 1024, "free": 1000}]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0::/system.slice/sglang-kimi.service\n", "sglang-kimi.service"),
        ("0::/user.slice/user-0.slice/user@0.service/app.slice/train.service\n", "train.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope"),
        (
            "4:memory:/system.slice/wrong.service\n1:name=systemd:/system.slice/x.service\n",
            "x.service",
        ),
        ("0::/\n", None),
        ("", None),
        ("garbage\n", None),
    ],
)
def test_the_unit_of_a_process(tmp_path: Path, text: str, unit: str | None) -> None:
    assert unit_of(record(tmp_path, {"proc/9/cgroup": text}), 9) == unit

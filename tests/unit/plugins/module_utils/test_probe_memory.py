# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a host and every bound on it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.cgroup import unit_of
from ansible_collections.llmops.sglang.plugins.module_utils._probe.memory import read_memory
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)
from hypothesis import given, settings
from hypothesis import strategies as st

GIB = 1 << 30
UNIT = "sglang-kimi.service"
UNLIMITED_V1 = "9223372036854771712\n"


def memory_of(
    folder: Path, files: dict[str, str], show: dict[str, str] | None = None, pid: int | None = None
) -> dict[str, Any]:
    return read_memory(record(folder, files), UNIT, show or {}, pid)


def held(memory: dict[str, Any]) -> tuple[int | None, int | None, str | None]:
    """Shared and private bytes of the running instance, and who told them."""
    instance = memory["instance"]
    return instance["shmem_bytes"], instance["rss_bytes"], instance["measured_by"]


def test_the_headline_host() -> None:
    memory = facts_of("headline", detail=True)["memory"]
    assert memory["total_bytes"] == 449 * GIB
    assert memory["available_bytes"] == 396 * GIB
    assert memory["hugepages"] == []
    assert [node["node"] for node in memory["numa"]] == [0, 1]
    assert memory["numa"][0]["available_bytes"] == (
        (30539776 + 1000000 + 176000000 + 2097152) * 1024
    )
    assert memory["cgroup"] == {"version": 2, "limits": [], "headroom_bytes": None}
    assert (memory["memlock_bytes"], memory["memlock_reason"]) == (None, "unlimited")
    assert memory["instance"] == {
        "shmem_bytes": 536870912,
        "rss_bytes": 50465865728,
        "hugetlb_bytes": None,
        "measured_by": "cgroup",
    }
    assert memory["available_after_stop_bytes"] == 396 * GIB + 536870912 + 50465865728


def test_nothing_known_is_null(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, {})
    assert memory["total_bytes"] is None and memory["available_bytes"] is None
    assert memory["numa"] == [] and memory["hugepages"] == []
    assert memory["cgroup"] == {"version": None, "limits": [], "headroom_bytes": None}
    assert memory["memlock_reason"] == "unknown: the unit does not exist yet"
    assert set(memory["instance"].values()) == {None}
    assert memory["zram_bytes"] is None and memory["available_after_stop_bytes"] is None


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
            "setting": "memory.high",
            "current_bytes": 60 * GIB,
            "reclaimable_bytes": 20 * GIB,
        },
        {
            "path": llm,
            "limit_bytes": 80 * GIB,
            "setting": "memory.max",
            "current_bytes": 70 * GIB,
            "reclaimable_bytes": 2 * GIB,
        },
    ]
    assert memory["cgroup"]["headroom_bytes"] == 12 * GIB
    assert memory["memlock_bytes"] == 8388608
    assert held(memory) == (30 * GIB, 5 * GIB, "cgroup")


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
            "setting": "memory.limit_in_bytes",
            "current_bytes": 30 * GIB,
            "reclaimable_bytes": 2 * GIB,
        }
    ]
    assert memory["cgroup"]["headroom_bytes"] == 36 * GIB
    assert held(memory) == (7 * GIB, GIB, "cgroup")


# --- where a unit is, and what bounds it there ----------------------------------------------------


@pytest.mark.parametrize(
    ("show", "path"),
    [
        ({}, f"/system.slice/{UNIT}"),
        ({"Slice": ""}, f"/system.slice/{UNIT}"),
        ({"Slice": "-.slice"}, f"/{UNIT}"),
        ({"Slice": "a-b-c.slice"}, f"/a.slice/a-b.slice/a-b-c.slice/{UNIT}"),
    ],
)
def test_a_unit_that_is_down_will_run_in_its_slice(
    tmp_path: Path, show: dict[str, str], path: str
) -> None:
    memory = memory_of(tmp_path, v2("", max="max"), {**show, "MemoryMax": str(GIB)})
    assert [limit["path"] for limit in memory["cgroup"]["limits"]] == [path]


def test_a_slice_that_nothing_runs_in_yet_tells_its_bound_by_systemd(tmp_path: Path) -> None:
    memory = memory_of(
        tmp_path,
        {
            **v2("/llm.slice", max="max"),
            "commands/systemctl-slices.txt": "Id=llm-big.slice\nMemoryMax=infinity\n"
            f"MemoryHigh={70 * GIB}\n\nId=llm-big-one.slice\nMemoryMax={90 * GIB}\n"
            "MemoryHigh=infinity\n",
        },
        {"Slice": "llm-big-one.slice"},
    )
    bounds = [
        (limit["path"], limit["limit_bytes"], limit["setting"])
        for limit in memory["cgroup"]["limits"]
    ]
    assert bounds == [
        ("/llm.slice/llm-big.slice/llm-big-one.slice", 90 * GIB, "MemoryMax"),
        ("/llm.slice/llm-big.slice", 70 * GIB, "MemoryHigh"),
    ]
    assert memory["cgroup"]["headroom_bytes"] == 70 * GIB


def test_a_mixed_host_accounts_memory_in_its_version_2_tree(tmp_path: Path) -> None:
    group = f"/system.slice/{UNIT}"
    files = {
        "sys/fs/cgroup/unified/cgroup.controllers": "cpu memory\n",
        "sys/fs/cgroup/systemd/cgroup.procs": "1\n",
        f"sys/fs/cgroup/unified{group}/memory.max": f"{8 * GIB}\n",
        f"sys/fs/cgroup/unified{group}/memory.current": f"{3 * GIB}\n",
        "proc/77/cgroup": f"3:cpuset:/\n1:name=systemd:{group}\n0::{group}\n",
    }
    memory = memory_of(tmp_path, files, {}, 77)
    assert (memory["cgroup"]["version"], memory["cgroup"]["headroom_bytes"]) == (2, 5 * GIB)


def test_a_mixed_host_accounts_memory_in_its_version_1_tree(tmp_path: Path) -> None:
    group = f"/system.slice/{UNIT}"
    files = {
        "sys/fs/cgroup/unified/cgroup.controllers": "pids\n",
        f"sys/fs/cgroup/memory{group}/memory.limit_in_bytes": f"{8 * GIB}\n",
        "proc/77/cgroup": f"5:memory:{group}\n1:name=systemd:{group}\n0::{group}\n",
    }
    memory = memory_of(tmp_path, files, {}, 77)
    assert (memory["cgroup"]["version"], memory["cgroup"]["headroom_bytes"]) == (1, 8 * GIB)


def test_a_group_of_version_1_without_hierarchy_does_not_bind_its_children(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/memory/system.slice"
    files = {
        f"{folder}/memory.limit_in_bytes": f"{GIB}\n",
        f"{folder}/memory.use_hierarchy": "0\n",
        f"{folder}/{UNIT}/memory.limit_in_bytes": f"{8 * GIB}\n",
        f"{folder}/{UNIT}/memory.use_hierarchy": "0\n",
        "proc/77/cgroup": f"5:memory:/system.slice/{UNIT}\n",
    }
    assert memory_of(tmp_path, files, {}, 77)["cgroup"]["headroom_bytes"] == 8 * GIB


@pytest.mark.parametrize(
    ("root", "path", "seen"),
    [
        ("/", "/box/inner.service", "/box/inner.service"),
        ("/box", "/box/inner.service", "/inner.service"),
        ("/box", "/boxes/inner.service", "/boxes/inner.service"),
        ("/box", "/box", "/"),
        ("/", "/../outside.service", "/"),
    ],
)
def test_a_container_sees_the_groups_below_its_own(
    tmp_path: Path, root: str, path: str, seen: str
) -> None:
    files = {
        **v2(seen.rstrip("/"), max=2 * GIB),
        "proc/77/cgroup": f"0::{path}\n",
        "proc/self/mountinfo": f"29 22 0:26 {root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    }
    limits = memory_of(tmp_path, files, {}, 77)["cgroup"]["limits"]
    assert [limit["path"] for limit in limits] == [seen]


# --- what the running instance holds -------------------------------------------------------------

GROUP = f"/system.slice/{UNIT}"
RUNNING = {"ControlGroup": GROUP, "LoadState": "loaded"}


def process(pid: int, maps: str = "", **kib: int) -> dict[str, str]:
    """The files of a process; C(kib) are lines of its status."""
    status = "".join(f"{name}:\t{size:8d} kB\n" for name, size in kib.items())
    return {f"proc/{pid}/status": f"Name:\tpython\n{status}", f"proc/{pid}/maps": maps}


def without_group(*pids: int) -> dict[str, str]:
    """A host that accounts no memory per unit."""
    return {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1,
        f"sys/fs/cgroup/systemd{GROUP}/cgroup.procs": "".join(f"{pid}\n" for pid in pids),
        "proc/77/cgroup": f"4:memory:/\n1:name=systemd:{GROUP}\n",
        "proc/meminfo": "MemAvailable:   1024 kB\n",
    }


def mapping(start: int, mib: int, inode: int, name: str, mode: str = "rw-s") -> str:
    end = start + mib * (1 << 20)
    return f"{start:x}-{end:x} {mode} 00000000 00:01 {inode}                 {name}\n"


def test_without_a_memory_group_of_its_own_the_processes_are_counted(tmp_path: Path) -> None:
    pages = {"RssAnon": 1024, "RssShmem": 2048}
    files = {**without_group(77, 78, 79), **process(77, **pages), **process(78, **pages)}
    memory = memory_of(tmp_path, files, RUNNING, 77)
    assert held(memory) == (4 << 20, 2 << 20, "processes")
    assert memory["cgroup"]["headroom_bytes"] is None
    assert memory["available_after_stop_bytes"] == 7 << 20


def test_a_segment_that_ranks_share_is_counted_once(tmp_path: Path) -> None:
    pool, own = mapping(0x10000000, 40, 5, "/dev/zero (deleted)"), "/dev/shm/nccl-1"
    device = mapping(0x90000000, 4096, 3, "/dev/nvidia-uvm")
    code = mapping(0x20000000, 8, 9, "/usr/lib/libc.so.6", "r-xp")
    files = {
        **without_group(77, 78),
        **process(77, pool + device + code, RssAnon=0, RssShmem=40 << 10),
        **process(78, pool + mapping(0x50000000, 2, 6, own), RssAnon=0, RssShmem=42 << 10),
    }
    assert held(memory_of(tmp_path, files, RUNNING, 77))[0] == 42 << 20


def test_a_segment_counts_no_more_than_what_is_resident(tmp_path: Path) -> None:
    pool = mapping(0x10000000, 4096, 5, "/dev/zero (deleted)")
    files = {
        **without_group(77, 78),
        **process(77, pool, RssAnon=0, RssShmem=40 << 10),
        **process(78, pool, RssAnon=0, RssShmem=0),
    }
    assert held(memory_of(tmp_path, files, RUNNING, 77))[0] == 40 << 20


def test_huge_pages_of_the_instance_by_its_group(tmp_path: Path) -> None:
    folder = f"sys/fs/cgroup{GROUP}"
    files = {
        **v2(GROUP, max="max", stat={"shmem": GIB, "anon": GIB}),
        f"{folder}/hugetlb.2MB.current": f"{4 << 20}\n",
        f"{folder}/hugetlb.1GB.current": f"{6 * GIB}\n",
        f"{folder}/hugetlb.1GB.rsvd.current": f"{9 * GIB}\n",
        f"{folder}/hugetlb.1GB.max": "max\n",
    }
    memory = memory_of(tmp_path, files, RUNNING)
    assert memory["instance"]["hugetlb_bytes"] == 6 * GIB + (4 << 20)


def test_huge_pages_of_the_instance_by_its_processes(tmp_path: Path) -> None:
    page = "/anon_hugepage (deleted)"
    shared = mapping(0x40000000, 2048, 7, page)
    files = {
        **v2(GROUP, max="max", stat={"shmem": GIB, "anon": GIB}),
        f"sys/fs/cgroup{GROUP}/cgroup.procs": "77\n78\n",
        **process(77, shared, HugetlbPages=2 << 20, RssShmem=9),
        **process(78, shared + mapping(0xF0000000, 1024, 8, page), HugetlbPages=3 << 20),
    }
    memory = memory_of(tmp_path, files, RUNNING, 77)
    assert memory["instance"]["hugetlb_bytes"] == 3 * GIB
    assert held(memory) == (GIB, GIB, "cgroup")


def test_what_a_stopping_unit_still_holds_is_counted(tmp_path: Path) -> None:
    files = {
        **v2(GROUP, max="max", stat={"shmem": 3 * GIB, "anon": GIB}),
        "proc/meminfo": "MemAvailable:   1024 kB\n",
    }
    memory = memory_of(tmp_path, files, RUNNING)
    assert held(memory) == (3 * GIB, GIB, "cgroup")
    assert memory["available_after_stop_bytes"] == 4 * GIB + (1 << 20)


def test_what_is_not_known_to_be_held_is_not_added(tmp_path: Path) -> None:
    files = {"proc/meminfo": "MemAvailable:   1024 kB\n"}
    assert memory_of(tmp_path, files)["available_after_stop_bytes"] == 1 << 20
    assert memory_of(tmp_path, files, RUNNING, 77)["available_after_stop_bytes"] is None


# --- the host ------------------------------------------------------------------------------------


def test_hugepages_of_every_size(tmp_path: Path) -> None:
    root = "sys/kernel/mm/hugepages"
    memory = memory_of(
        tmp_path,
        {
            f"{root}/hugepages-1048576kB/nr_hugepages": "120\n",
            f"{root}/hugepages-1048576kB/free_hugepages": "118\n",
            f"{root}/hugepages-1048576kB/resv_hugepages": "18\n",
            f"{root}/hugepages-2048kB/nr_hugepages": "512\n",
            f"{root}/hugepages-2048kB/free_hugepages": "odd\n",
            f"{root}/hugepages-64kB/nr_hugepages": "0\n",
            f"{root}/hugepages-64kB/free_hugepages": "0\n",
        },
    )
    assert memory["hugepages"] == [
        {"size_bytes": 2 << 20, "total": 512, "free": None, "reserved": None},
        {"size_bytes": GIB, "total": 120, "free": 118, "reserved": 18},
    ]


def test_hugepages_of_the_default_size_stand_in_meminfo(tmp_path: Path) -> None:
    memory = memory_of(
        tmp_path,
        {
            "proc/meminfo": "HugePages_Total:    1024\nHugePages_Free:     1000\n"
            "Hugepagesize:       2048 kB\n"
        },
    )
    assert memory["hugepages"] == [
        {"size_bytes": 2 << 20, "total": 1024, "free": 1000, "reserved": None}
    ]


def test_two_nodes_with_huge_pages_on_one(tmp_path: Path) -> None:
    def node(number: int, free: int) -> dict[str, str]:
        folder = f"sys/devices/system/node/node{number}"
        return {
            f"{folder}/meminfo": f"Node {number} MemTotal:       1000 kB\n"
            f"Node {number} MemFree:        {free} kB\nNode {number} Inactive(file): 7 kB\n",
            f"{folder}/cpulist": f"{number * 4}-{number * 4 + 3}\n",
            f"{folder}/hugepages/hugepages-2048kB/nr_hugepages": f"{number * 8}\n",
            f"{folder}/hugepages/hugepages-2048kB/free_hugepages": "8\n",
        }

    files = {**node(0, 100), **node(1, 200), "sys/devices/system/node/node2/cpulist": "8\n"}
    numa = memory_of(tmp_path, files)["numa"]
    assert [(entry["node"], entry["available_bytes"]) for entry in numa] == [
        (0, 107 * 1024),
        (1, 207 * 1024),
    ]
    assert [entry["cpus"] for entry in numa] == ["0-3", "4-7"]
    assert [len(entry["hugepages"]) for entry in numa] == [0, 1]


@pytest.mark.parametrize(
    ("swaps", "zram_bytes"),
    [
        ("Filename Type Size Used Priority\n", 0),
        ("/dev/sda3                partition\t1000\t\t0\t\t-2\n", 0),
        (
            "/dev/zram0               partition\t2048\t\t9\t\t100\n"
            "/swapfile                file\t\t4096\t\t0\t\t-2\n"
            "/dev/zram1               partition\t1024\t\t0\t\t100\n",
            3 << 20,
        ),
    ],
)
def test_swap_that_is_compressed_ram(tmp_path: Path, swaps: str, zram_bytes: int) -> None:
    files = {"proc/swaps": swaps, "proc/meminfo": "SwapTotal:   7168 kB\n"}
    memory = memory_of(tmp_path, files)
    assert (memory["zram_bytes"], memory["swap_total_bytes"]) == (zram_bytes, 7 << 20)


def test_unified_memory_is_the_host_s(tmp_path: Path) -> None:
    memory = facts_of("gb10", detail=True)["memory"]
    assert memory["total_bytes"] > memory["available_bytes"] > 100 * GIB
    assert memory["available_after_stop_bytes"] == memory["available_bytes"]


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("8388608", (8388608, None)),
        ("infinity", (None, "unlimited")),
        ("18446744073709551615", (None, "unlimited")),
        ("", (None, "unknown")),
        ("odd", (None, "unknown")),
    ],
)
def test_what_the_next_start_may_lock_beside_the_running_process(
    tmp_path: Path, limit: str, told: tuple[int | None, str | None]
) -> None:
    limits = "Max locked memory         65536                65536                bytes\n"
    memory = memory_of(
        tmp_path,
        {"proc/77/limits": limits},
        {"LoadState": "loaded", "LimitMEMLOCK": limit},
        77,
    )
    assert (memory["memlock_unit_bytes"], memory["memlock_unit_reason"]) == told
    assert (memory["memlock_bytes"], memory["memlock_reason"]) == (65536, None)


READ = (
    "proc/meminfo",
    "proc/swaps",
    "proc/77/cgroup",
    "proc/77/limits",
    "proc/77/status",
    "proc/77/maps",
    "proc/self/mountinfo",
    f"sys/fs/cgroup{GROUP}/memory.stat",
    f"sys/fs/cgroup{GROUP}/memory.max",
    f"sys/fs/cgroup{GROUP}/memory.current",
    f"sys/fs/cgroup{GROUP}/cgroup.procs",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/devices/system/node/node0/meminfo",
    "commands/systemctl-slices.txt",
)
WORDS = st.sampled_from(
    ["MemTotal:", "shmem", "77", "kB", "max", "0::", "/", "..", ":", "-", "9" * 30, "²", "\0", "x"]
)
GARBLED = st.lists(st.one_of(WORDS, st.text(max_size=4)), max_size=12).map(" ".join)


@given(st.fixed_dictionaries({}, optional={name: GARBLED for name in READ}))
@settings(max_examples=60, deadline=None)
def test_garbled_files_are_unknown_and_never_an_error(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: text.encode("utf-8", "replace").decode() for name, text in files.items()}
        root = {"sys/fs/cgroup/cgroup.controllers": "memory\n"}
        memory = memory_of(Path(folder), {**root, **files}, RUNNING, 77)
    sizes = ("total_bytes", "available_bytes", "shmem_bytes", "available_after_stop_bytes")
    assert all(memory[name] is None or f"{memory[name] // 1024}" in str(files) for name in sizes)


# --- the unit of a process -----------------------------------------------------------------------


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

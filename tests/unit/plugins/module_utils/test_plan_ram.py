# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RAM that host pools may take, on hosts of every kind."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    GROUPED_MODEL,
    host,
    ids,
    wishes,
)


def limit(capacity: dict[str, Any], name: str) -> dict[str, Any]:
    """One limit by name."""
    found: dict[str, Any] = next(e for e in capacity["limits"] if e["name"] == name)
    return found


def cgroup(headroom_gib: float, *limits: tuple[str, float, float, float]) -> dict[str, Any]:
    """Memory facts with a cgroup chain: path, limit, current and reclaimable in GiB."""
    keys = ("limit_bytes", "current_bytes", "reclaimable_bytes")
    chain = [
        {"path": path, **{key: int(gib * GIB) for key, gib in zip(keys, values)}}
        for path, *values in limits
    ]
    return {"cgroup": {"version": 2, "limits": chain, "headroom_bytes": int(headroom_gib * GIB)}}


def test_what_the_running_pools_hold_comes_back() -> None:
    held = {"instance": {"shmem_bytes": 300 * GIB, "rss_bytes": 340 * GIB}}

    capacity = plan_capacity(host("0.5.18", available_gib=96, memory=held), wishes())

    ram = capacity["ram"]
    assert ram["held_by_instance_bytes"] == 300 * GIB
    assert ram["available_after_stop_bytes"] == 396 * GIB
    assert ram["usable_bytes"] == 386 * GIB
    # 386 GiB / (8 x 70,272 x 159,300) = 4.628
    assert capacity["host"]["ratio"] == 4.62


def test_pools_that_are_not_shared_memory_are_known_from_the_journal() -> None:
    journal = {"host_bytes_per_rank": 10 * GIB, "draft_host_bytes_per_rank": GIB}
    capacity = plan_capacity(host("0.5.10.post1", available_gib=308, startup=journal), wishes())
    assert capacity["ram"]["held_by_instance_bytes"] == 8 * 11 * GIB
    assert capacity["ram"]["available_after_stop_bytes"] == 396 * GIB


def test_a_stopped_instance_holds_nothing_and_will_need_ram_itself() -> None:
    stale = {"host_bytes_per_rank": 10 * GIB}

    capacity = plan_capacity(host("0.5.18", running=False, startup=stale), wishes())

    assert capacity["ram"]["held_by_instance_bytes"] == 0
    assert capacity["ram"]["processes_bytes"] == 8 * 4 * GIB
    assert capacity["ram"]["usable_bytes"] == (396 - 10 - 32) * GIB
    assert "RAM-007" in ids(capacity, "advise")


def test_a_bare_journal_of_a_start_counts_as_a_running_server() -> None:
    facts = host("0.5.18")
    facts["server"] = {"startup": facts["server"]["startup"]}
    assert plan_capacity(facts, wishes())["ram"]["usable_bytes"] == 386 * GIB


def test_reserve_headroom_and_budget() -> None:
    asked = wishes(hicache_reserve_gib=4, hicache_headroom_gib=20, hicache_budget_gib=200)

    capacity = plan_capacity(host("0.5.18"), asked)

    # The engine's own 10 GiB are the least.
    assert capacity["ram"]["reserve_bytes"] == 30 * GIB
    assert capacity["ram"]["usable_bytes"] == 200 * GIB
    assert capacity["ram"]["bound_by"] == "sglang_hicache_budget_gib"
    # 200 GiB / (8 x 70,272 x 159,300) = 2.398
    assert capacity["host"]["ratio"] == 2.39


def test_the_ratio_has_a_ceiling() -> None:
    capacity = plan_capacity(host("0.5.18", tokens=20_000), wishes())
    assert capacity["host"]["ratio"] == 8.0
    assert capacity["ram"]["bound_by"] == "sglang_hicache_ratio_max"


def test_a_cgroup_inside_a_cgroup_bounds_all_versions() -> None:
    memory = cgroup(
        120, ("/machine.slice", 300, 100, 40), ("/machine.slice/llm.service", 150, 60, 30)
    )
    for version in ("0.5.18", "0.5.20", "0.5.23"):
        capacity = plan_capacity(host(version, memory=memory), wishes())
        assert capacity["ram"]["available_after_stop_bytes"] == 120 * GIB
        assert capacity["ram"]["usable_bytes"] == 110 * GIB
        assert capacity["host"]["bytes_node"] <= 110 * GIB
        assert "/machine.slice/llm.service" in limit(capacity, "ram")["text"]


def test_only_newer_engines_see_the_cgroup_in_their_own_check() -> None:
    memory = cgroup(120)
    asked = wishes(hicache_mode="ratio", hicache_ratio=1.2)
    unaware = plan_capacity(host("0.5.20", memory=memory), asked)
    aware = plan_capacity(host("0.5.21", memory=memory), asked)
    # (386 or 110) GiB x 8 / 15
    assert limit(unaware, "rank_order")["limit_bytes"] == 386 * GIB * 8 // 15
    assert limit(aware, "rank_order")["limit_bytes"] == 110 * GIB * 8 // 15


def test_two_instances_share_what_is_available() -> None:
    # The other one's pools are gone from the available RAM already.
    other = plan_capacity(host("0.5.18", available_gib=396 - 200), wishes(tp_size=4))
    # 186 GiB / (4 x 70,272 x 159,300) = 4.46
    assert other["host"]["ratio"] == 4.46


def test_four_hosts_of_the_fleet_with_256_gb_cannot_double_the_device_tier() -> None:
    # Four ranks of 40 GB each: 160 GB of 256e9 B, less 10 GiB.
    model = {**GROUPED_MODEL, "layers": 80}
    facts = host("0.5.3.post3", tokens=300_000, model=model, gpus=4, available_gib=226)
    asked = wishes(tp_size=4, hicache_mode="size", hicache_size_gb=40)
    assert plan_capacity(facts, asked)["host"]["certainty"] == "certain"
    asked["sglang_hicache_size_gb"] = 60
    assert plan_capacity(facts, asked)["host"]["certainty"] == "no"


def test_a_big_host_with_a_sparse_model_counts_the_indexer() -> None:
    model = {
        "attention": "mla",
        "layers": 78,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "index_head_dim": 128,
        "context_tokens": 524_288,
        "weights_bytes": 700 * 10**9,
    }
    facts = host("0.5.13.post1", tokens=500_000, model=model, available_gib=2_100)
    asked = wishes(kv_cache_dtype="fp8_e4m3", hicache_mode="size", hicache_size_gb=96)

    tier = plan_capacity(facts, asked)["host"]

    # 96e9 / (656 x 78) = 1,876,172 tokens, in pages of 64 with one to spare: 1,876,224.
    assert tier["tokens"] == 1_876_224
    # 96.00 GB of KV and 19.32 GB of indexer on each of 8 ranks.
    assert tier["bytes_per_rank"] == 1_876_224 * (656 + 132) * 78
    assert round(tier["bytes_node"] / 1e9) == 923
    assert tier["certainty"] == "certain"


def test_free_huge_pages_count_only_when_the_engine_uses_them() -> None:
    pages = [{"size_bytes": GIB, "total": 800, "free": 800}]
    facts = host("0.5.20", available_gib=160, memory={"hugepages": pages})

    without = plan_capacity(facts, wishes())
    asked = wishes(hugepage_size="1GB")
    used = plan_capacity(facts, asked)

    assert "RAM-012" in ids(without, "advise")
    assert without["host"]["bytes_node"] <= 150 * GIB
    # The check still reads normal RAM, an eighth of 150 GiB per rank, but no rank pays for peers.
    assert limit(used, "rank_order")["limit_bytes"] == 150 * GIB
    assert limit(used, "hugepages")["limit_bytes"] == 800 * GIB
    assert used["host"]["ratio"] == 1.79
    assert "RAM-012" not in ids(used)


def test_huge_pages_bound_the_pools_and_lose_one_page_per_pool() -> None:
    pages = [{"size_bytes": GIB, "total": 200, "free": 200}, {"size_bytes": 2**21, "free": 9}]
    facts = host("0.5.14", available_gib=400, memory={"hugepages": pages})

    capacity = plan_capacity(facts, wishes(hugepage_size="1GB"))

    # 192 GiB / (8 x 70,272 x 159,300) = 2.30
    assert capacity["host"]["ratio"] == 2.30
    assert capacity["ram"]["bound_by"] == "the free huge pages"


def numa(first_gib: int, second_gib: int, places: list[int | None]) -> dict[str, Any]:
    """A host of two memory nodes, with the node of each GPU."""
    nodes = [
        {"node": node, "total_bytes": 512 * GIB, "available_bytes": gib * GIB}
        for node, gib in enumerate((first_gib, second_gib))
    ]
    facts = host("0.5.18", available_gib=first_gib + second_gib, memory={"numa": nodes})
    for device, place in zip(facts["gpu"]["devices"], places):
        device["numa_node"] = place
    return facts


FOUR_EACH: list[int | None] = [0, 0, 0, 0, 1, 1, 1, 1]


def test_ranks_bound_to_a_node_share_its_memory() -> None:
    capacity = plan_capacity(numa(105, 291, FOUR_EACH), wishes())

    # Half of the reserve on each node: 100 GiB / (4 x 70,272 x 159,300) = 2.39
    assert capacity["host"]["ratio"] == 2.39
    assert "NUMA node 0" in capacity["ram"]["bound_by"]


@pytest.mark.parametrize(
    ("version", "changes"),
    [
        ("0.5.17", {}),
        ("0.5.18", {"numa_bind": "off"}),
        ("0.5.18", {"numa_bind": "on", "environment": {"SGLANG_AUTO_NUMA_BIND": "0"}}),
        ("0.5.18", {"environment": {"SGLANG_AUTO_NUMA_BIND": "False"}}),
    ],
)
def test_ranks_that_are_not_bound_share_the_host(version: str, changes: dict[str, Any]) -> None:
    facts = numa(105, 291, FOUR_EACH)
    facts["engine"]["version"] = version
    capacity = plan_capacity(facts, wishes(**changes))
    assert capacity["host"]["ratio"] == 4.62
    assert "RAM-011" not in ids(capacity)


@pytest.mark.parametrize("places", [[None] * 8, [0, 0, 0, 0, 1, 1, 1, None]])
def test_an_unknown_node_is_said_and_not_guessed(places: list[int | None]) -> None:
    capacity = plan_capacity(numa(105, 291, places), wishes())
    assert capacity["host"]["ratio"] == 4.62
    assert "RAM-011" in ids(capacity, "advise")


def test_numa_node_flags_bind_older_versions_too() -> None:
    facts = numa(105, 291, FOUR_EACH)
    facts["engine"]["version"] = "0.5.12.post1"
    asked = wishes(extra_args={"--numa-node": [0, 0, 0, 0, 1, 1, 1, 1]})
    assert plan_capacity(facts, asked)["host"]["ratio"] == 2.39


@pytest.mark.parametrize(("version", "bounded"), [("0.5.18", True), ("0.5.19", False)])
def test_one_pinned_allocation_stays_below_512_gib(version: str, bounded: bool) -> None:
    facts = host(version, tokens=6_000_000, available_gib=4_000, gpus=1)

    capacity = plan_capacity(facts, wishes(tp_size=1))

    names = {entry["name"] for entry in capacity["limits"]}
    assert ("registration" in names) is bounded
    # 512 GiB / 70,272 B = 7,823,030 tokens; 3,990 GiB would hold 60,966,217.
    assert capacity["host"]["ratio"] == (1.30 if bounded else 8.0)


@pytest.mark.parametrize(("locked_gib", "said"), [(8, True), (64, False)])
def test_a_small_lock_limit_is_said(locked_gib: int, said: bool) -> None:
    memory = {"memlock_bytes": locked_gib * GIB}
    capacity = plan_capacity(host("0.5.18", memory=memory), wishes())
    assert ("RAM-006" in ids(capacity, "warn")) is said


def test_one_memory_for_cpu_and_gpu_has_no_host_tier() -> None:
    facts = host("0.5.23", gpus=1)
    facts["gpu"]["devices"][0]["memory_kind"] = "unified"

    automatic = plan_capacity(facts, wishes(tp_size=1))
    asked = wishes(tp_size=1, hicache_mode="ratio", hicache_ratio=2.0)
    forced = plan_capacity(facts, asked)

    assert automatic["host"]["mode"] == "off"
    assert "HIC-010" in ids(automatic, "advise")
    assert "HIC-010" in ids(forced, "refuse")
    assert not any("HiCache" in entry["title"] for entry in automatic["options"])


def test_unknown_ram_leaves_the_host_tier_off() -> None:
    facts = host("0.5.18", memory={"available_bytes": None})
    capacity = plan_capacity(facts, wishes())
    assert capacity["host"]["mode"] == "off"
    assert capacity["ram"]["usable_bytes"] is None
    assert "HIC-013" in ids(capacity, "warn")


def test_too_little_ram_leaves_the_host_tier_off_and_says_what_is_needed() -> None:
    capacity = plan_capacity(host("0.5.18", available_gib=60), wishes())

    assert capacity["host"]["mode"] == "off"
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "RAM-001"]
    # 159,301 x 70,272 x 8 = 83.4 GiB
    assert "83.4 GiB" in said["text"]
    assert "50.0 GiB" in said["text"]
    assert said["variable"] == "sglang_hicache_reserve_gib"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host the collection was born from, by version: numbers worked out by hand.

396 GiB available, 8 ranks, 70,272 B per token and rank, a draft of 4,096 B, a device pool
measured at 159,300 tokens, 10 GiB reserve: 386 GiB = 414.46 GB may be used.
"""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    SMALL_DRAFT,
    drafting,
    host,
    option,
    wishes,
)


def gb(value_bytes: int) -> float:
    """Decimal GB with one decimal, as the table is written."""
    return round(value_bytes / 1e9, 1)


def test_the_device_tier_in_bytes_and_unique_tokens() -> None:
    capacity = plan_capacity(host("0.5.18", draft=SMALL_DRAFT), drafting())

    device = capacity["device"]
    each = capacity["bytes_per_token"]
    assert (each["target"], each["draft"], each["indexer"]) == (70_272, 4_096, None)
    assert round(device["bytes_per_rank"] / 1e9, 2) == 11.19
    assert gb(device["bytes_node"]) == 89.6
    assert (device["tokens"], device["origin"]) == (159_300, "measured")
    # MLA keeps the same tokens on each of the eight ranks, so they count once.
    assert capacity["tokens"]["device"] == 159_300


@pytest.mark.parametrize("version", ["0.5.4.post3", "0.5.10.post1"])
def test_ratio_4_without_a_draft_pool(version: str) -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=4.0)

    capacity = plan_capacity(host(version), asked)

    # 159,300 x 4 = 637,200; one slot more is padding from 0.5.5 on.
    assert gb(capacity["host"]["bytes_node"]) == 358.2
    assert capacity["tokens"]["in_reach"] == 637_200
    assert capacity["host"]["certainty"] == "certain"


@pytest.mark.parametrize("version", ["0.5.11", "0.5.14", "0.5.18"])
def test_ratio_4_with_the_draft_pool(version: str) -> None:
    asked = drafting(hicache_mode="ratio", hicache_ratio=4.0)

    capacity = plan_capacity(host(version, draft=SMALL_DRAFT), asked)

    # 637,201 x (70,272 + 4,096) x 8 ranks.
    assert gb(capacity["host"]["bytes_node"]) == 379.1
    assert capacity["host"]["draft_tokens"] == 637_201
    assert capacity["host"]["certainty"] == "certain"


def test_the_largest_certain_ratio_where_ranks_do_not_share() -> None:
    capacity = plan_capacity(host("0.5.18", draft=SMALL_DRAFT), drafting())

    # 414.46 GB / (8 x 74,368 B x 159,300) = 4.373, cut to what a flag of two decimals says.
    assert gb(capacity["ram"]["usable_bytes"]) == 414.5
    assert (capacity["host"]["mode"], capacity["host"]["ratio"]) == ("ratio", 4.37)
    assert capacity["host"]["tokens"] == 696_142
    assert capacity["host"]["bytes_node"] == 8 * 696_142 * 74_368
    assert capacity["tokens"]["in_reach"] >= 637_200


@pytest.mark.parametrize("version", ["0.5.19", "0.5.20", "0.5.23"])
def test_ratio_4_starts_only_with_luck_where_ranks_share(version: str) -> None:
    asked = drafting(hicache_mode="ratio", hicache_ratio=4.0)

    capacity = plan_capacity(host(version, draft=SMALL_DRAFT), asked)

    assert capacity["host"]["certainty"] == "likely"


@pytest.mark.parametrize("version", ["0.5.19", "0.5.20", "0.5.21", "0.5.23"])
def test_the_largest_certain_ratio_where_ranks_share(version: str) -> None:
    capacity = plan_capacity(host(version, draft=SMALL_DRAFT), drafting())

    # The last rank sees what 7 peers left and may take an eighth of it:
    # (414.46 - 7 x 1.05829 x) / 8 >= x, so x <= 26.90 GB of target pool.
    limit = next(entry for entry in capacity["limits"] if entry["name"] == "rank_order")
    assert "26.90 GB of target pool per rank" in limit["text"]
    assert gb(limit["limit_bytes"]) == 227.7
    assert capacity["host"]["ratio"] == 2.40
    assert capacity["host"]["tokens"] == 382_321
    assert capacity["host"]["certainty"] == "certain"
    assert "26.90 GB" in capacity["ram"]["bound_by"]


def test_the_engines_own_sizing_at_this_device_pool() -> None:
    asked = drafting(hicache_mode="engine_auto", hicache_host_memory_fraction=0.98)

    capacity = plan_capacity(host("0.5.21", draft=SMALL_DRAFT), asked)

    assert capacity["host"]["ratio"] == 2.0
    assert capacity["host"]["tokens"] == 318_601
    assert gb(capacity["host"]["bytes_node"]) == 189.5
    assert capacity["host"]["certainty"] == "certain"


def test_a_larger_device_pool_lets_the_engines_own_sizing_use_the_ram() -> None:
    asked = drafting(hicache_mode="engine_auto", hicache_host_memory_fraction=0.98)

    capacity = plan_capacity(host("0.5.21", tokens=324_288, draft=SMALL_DRAFT), asked)

    # 386 GiB / 8 x 0.98 x 0.95 = 48.23 GB per rank.
    assert round(capacity["host"]["bytes_node"] / 1e9) == 386
    assert capacity["host"]["certainty"] == "certain"


def test_the_two_knobs_together_beat_either() -> None:
    running = host("0.5.23", draft=SMALL_DRAFT, startup={"avail_after_bytes": 16 * GIB})

    capacity = plan_capacity(running, drafting(mem_fraction_static=0.79))

    both = option(capacity, "memory fraction 0.907 + HiCache")
    assert both["rank"] == 1
    assert both["certainty"] == "certain"
    assert "324,288 tokens" in both["note"]
    assert round(both["ram_bytes"] / 1e9) == 386
    assert both["variables"] == {
        "sglang_mem_fraction_static": 0.907,
        "sglang_hicache_mode": "engine_auto",
        "sglang_hicache_host_memory_fraction": 0.98,
    }
    alone = [
        option(capacity, title)["tokens_in_reach"]
        for title in ("HiCache, sized by SGLang", "memory fraction 0.920", "HiCache, ratio 2.40")
    ]
    assert both["tokens_in_reach"] > max(alone)


def test_the_two_knobs_stop_at_what_the_gpu_has_left() -> None:
    left = {"avail_after_bytes": int(7.9 * GIB)}
    running = host("0.5.23", draft=SMALL_DRAFT, startup=left)

    capacity = plan_capacity(running, drafting(mem_fraction_static=0.79))

    # 5.9 GiB may be used: 5.9 x 2^30 / 74,368 = 85,185 tokens more, twice in RAM.
    both = option(capacity, "memory fraction 0.8")
    assert both["tokens_in_reach"] == 2 * (159_300 + 85_185)
    assert "RAM would serve up to 324,288 device tokens" in both["note"]
    assert both["rank"] == 1

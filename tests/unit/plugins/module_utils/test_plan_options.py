# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options: which there are, what they cost, how they are ranked."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    GROUPED_MODEL,
    SMALL_DRAFT,
    drafting,
    host,
    option,
    wishes,
)


def titles(capacity: dict[str, Any]) -> list[str]:
    return [entry["title"] for entry in capacity["options"]]


def test_every_way_before_ranks_shared_the_ram() -> None:
    capacity = plan_capacity(host("0.5.18", draft=SMALL_DRAFT), drafting(mem_fraction_static=0.85))

    assert titles(capacity) == [
        "HiCache, ratio 4.37",
        "HiCache, ratio 4.00",
        "fp8 KV + HiCache, ratio 4.37",
        "fp8 KV cache",
        "memory fraction 0.920",
    ]
    first = capacity["options"][0]
    assert first["variables"] == {"sglang_hicache_mode": "auto"}
    assert first["factor"] == 4.37
    assert first["ram_bytes"] == capacity["host"]["bytes_node"]


def test_a_larger_pool_on_the_gpu_is_not_certain_until_its_room_was_measured() -> None:
    asked = wishes(mem_fraction_static=0.85)
    guessed = option(plan_capacity(host("0.5.18"), asked), "memory fraction")
    left = {"avail_after_bytes": 6 * GIB}
    measured = option(plan_capacity(host("0.5.18", startup=left), asked), "memory fraction")

    assert guessed["certainty"] == "likely"
    assert measured["certainty"] == "certain"
    # 2 GiB stay free: 4 GiB / 70,272 B = 61,119 tokens more.
    assert measured["tokens_in_reach"] == 159_300 + 61_119
    assert measured["ram_bytes"] == 0
    fraction = measured["variables"]["sglang_mem_fraction_static"]
    # 4 GiB of 94.6 GiB free before load are 0.0423.
    assert fraction == 0.893


@pytest.mark.parametrize(("fraction", "left_gib"), [(0.92, 20), (0.95, 20), (0.80, 1.5)], ids=str)
def test_no_larger_pool_is_offered_where_there_is_no_room(fraction: float, left_gib: float) -> None:
    facts = host("0.5.23", startup={"avail_after_bytes": int(left_gib * GIB)})
    capacity = plan_capacity(facts, wishes(mem_fraction_static=fraction))
    assert not any("memory fraction" in title for title in titles(capacity))


def test_what_keeps_the_precision_comes_first() -> None:
    capacity = plan_capacity(host("0.5.18"), wishes())
    small = option(capacity, "fp8 KV + HiCache")
    assert small["tokens_in_reach"] > capacity["options"][0]["tokens_in_reach"]
    assert small["rank"] > capacity["options"][0]["rank"]
    assert "measure it first" in small["note"]


def test_an_8_bit_cache_is_not_offered_twice() -> None:
    capacity = plan_capacity(host("0.5.18"), wishes(kv_cache_dtype="fp8_e5m2"))
    assert capacity["bytes_per_token"]["target"] == 35_136
    assert not any("fp8" in title for title in titles(capacity))


def test_the_users_own_ratio_is_compared() -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=3.0)
    found = option(plan_capacity(host("0.5.18"), asked), "HiCache, ratio 3.00")
    assert found["variables"] == {"sglang_hicache_mode": "ratio", "sglang_hicache_ratio": 3.0}
    assert found["factor"] == 3.0


def test_what_does_not_fit_stands_last_and_says_what_it_would_need() -> None:
    last = plan_capacity(host("0.5.18", available_gib=200), wishes())["options"][-1]
    assert (last["title"], last["certainty"]) == ("HiCache, ratio 4.00", "no")
    # 637,201 x 70,272 x 8 B = 333.6 GiB
    assert "333.6 GiB" in last["note"]
    assert "190.0 GiB" in last["note"]


def test_a_host_with_little_ram_is_offered_what_needs_none() -> None:
    capacity = plan_capacity(host("0.5.18", available_gib=40), wishes(mem_fraction_static=0.92))
    certain = [entry["title"] for entry in capacity["options"] if entry["certainty"] == "certain"]
    assert certain == ["fp8 KV cache"]


def test_copies_count_together() -> None:
    asked = wishes(tp_size=4, dp_size=2, mem_fraction_static=0.92)
    capacity = plan_capacity(host("0.5.18", model=GROUPED_MODEL), asked)
    first = capacity["options"][0]
    assert first["tokens_in_reach"] == capacity["tokens"]["in_reach"]
    assert capacity["tokens"]["in_reach"] == 2 * int(159_300 * first["factor"])


def test_a_declared_pool_offers_only_what_follows_from_it() -> None:
    facts = host("0.5.23", tokens=None, gpus=0)
    capacity = plan_capacity(facts, wishes(tp_size=1, max_total_tokens=4_096))
    assert {title.split(",")[0] for title in titles(capacity)} == {"HiCache"}


def test_a_capped_device_tier_is_not_offered_larger() -> None:
    left = {"avail_after_bytes": 20 * GIB}
    asked = wishes(mem_fraction_static=0.85, max_total_tokens=159_300)
    capacity = plan_capacity(host("0.5.23", startup=left), asked)
    assert capacity["device"]["tokens"] == 159_300
    assert all(title.startswith("HiCache") for title in titles(capacity))

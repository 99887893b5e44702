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
    LATENT_MODEL,
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
        "HiCache, ratio 4.37 + file store",
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


LATENT_SHAPE: dict[str, Any] = {
    **LATENT_MODEL,
    "hidden_size": 7_168,
    "heads": 64,
    "q_lora_rank": 1_536,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}
"""61 layers x 64 heads x (1,536 x 192 + 512 x 256 + 128 x 7,168) x 2 B = 10.49 GB of attention."""


def test_every_option_tells_tokens_bytes_costs_and_its_arithmetic() -> None:
    capacity = plan_capacity(host("0.5.18", draft=SMALL_DRAFT), drafting())
    hand = option(capacity, "HiCache, ratio 4.00")

    assert hand["device_tokens"] == 159_300
    assert hand["requests"] == 637_200 // 32_768
    assert hand["ram_bytes_per_rank"] == 637_201 * (70_272 + 4_096)
    assert hand["ram_bytes"] == 8 * hand["ram_bytes_per_rank"]
    for step in (
        "159,300 device tokens x 4.00 = 637,201 slots per rank",
        "8 ranks x (44.78 GB target + 2.61 GB draft) = 379.10 GB",
        "<= 414.46 GB",
        "396.0 GiB available once stopped - 10.0 GiB reserve",
    ):
        assert step in hand["arithmetic"]
    # 379.1 GB at 1.5 GB/s
    assert any("353.1 GiB" in cost for cost in hand["costs"])
    assert any("253 s" in cost and "estimated" in cost for cost in hand["costs"])
    assert any("accept length" in cost for cost in hand["costs"])


def test_the_arithmetic_tells_what_the_last_rank_finds() -> None:
    capacity = plan_capacity(host("0.5.20", draft=SMALL_DRAFT), drafting())
    best, hand = option(capacity, "HiCache, ratio 2.40"), option(capacity, "HiCache, ratio 4.00")
    # 7 peers hold 7 x 28.43 GB: an eighth of the rest is 26.93 GB.
    assert (
        "asks 26.87 GB for its target pool <= (414.46 GB - 199.03 GB of pools that are there by "
        "then) / 8 = 26.93 GB" in best["arithmetic"]
    )
    assert "asks 44.78 GB for its target pool > (414.46 GB - 331.71 GB" in hand["arithmetic"]
    assert hand["certainty"] == "likely"


def test_costs_name_no_draft_where_none_is_mirrored() -> None:
    for version, wish in (("0.5.10.post1", drafting()), ("0.5.18", wishes())):
        first = plan_capacity(host(version, draft=SMALL_DRAFT), wish)["options"][0]
        assert not any(cost.startswith("drafts") for cost in first["costs"])


def test_a_store_is_offered_behind_the_host_tier_and_its_tokens_are_not_counted() -> None:
    asked = wishes(environment={"A": "1"})
    capacity = plan_capacity(host("0.5.23"), asked)
    store = option(capacity, "HiCache, ratio 2.46 + file store")

    assert store["certainty"] == "likely"
    assert store["tokens_in_reach"] == capacity["tokens"]["in_reach"]
    # A latent is the same on all ranks and is written once: 10^12 / 70,272 B.
    assert "14,230,418 tokens per TB" in store["arithmetic"]
    assert any("65.4 GiB for each million tokens" in cost for cost in store["costs"])
    assert any("mooncake" in cost and "seaweedfs" in cost for cost in store["costs"])
    variables = store["variables"]
    assert variables["sglang_hicache_storage_backend"] == "file"
    assert variables["sglang_environment"]["A"] == "1"
    folder = variables["sglang_environment"]["SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"]
    assert folder.startswith("/var/cache/sglang/kimi/kv-")


def test_a_store_folder_is_another_for_another_kv_format() -> None:
    def folder(**changes: Any) -> str:
        capacity = plan_capacity(host("0.5.23"), wishes(**changes))
        store = next(entry for entry in capacity["options"] if "store" in entry["title"])
        path: str = store["variables"]["sglang_environment"][
            "SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"
        ]
        return path

    assert folder() == folder(tp_size=8)
    assert len({folder(), folder(kv_cache_dtype="fp8_e4m3"), folder(page_size=64)}) == 3


@pytest.mark.parametrize(
    ("version", "changes", "available_gib"),
    [
        ("0.5.8.post1", {}, 396),
        ("0.5.23", {"hicache_storage_backend": "nixl"}, 396),
        ("0.5.23", {}, 40),
    ],
    ids=["no folder of its own", "one is there", "no host tier"],
)
def test_no_store_is_offered(version: str, changes: dict[str, Any], available_gib: float) -> None:
    capacity = plan_capacity(host(version, available_gib=available_gib), wishes(**changes))
    assert not any("store" in title for title in titles(capacity))


def test_a_store_of_split_heads_holds_every_ranks_part() -> None:
    capacity = plan_capacity(host("0.5.18", model=GROUPED_MODEL), wishes())
    store = next(entry for entry in capacity["options"] if "store" in entry["title"])
    assert f"{10**12 // 131_072:,} tokens per TB" in store["arithmetic"]


def test_latents_held_once_multiply_the_tokens() -> None:
    facts = host("0.5.18", tokens=860_000, model=LATENT_SHAPE, available_gib=1_800)

    capacity = plan_capacity(facts, wishes(mem_fraction_static=0.92))

    both, alone = (e for e in capacity["options"] if e["title"].startswith("DP attention"))
    assert (both["title"], alone["title"]) == (
        "DP attention, 8 ranks + HiCache",
        "DP attention, 8 ranks",
    )
    # 860,000 x 70,272 B = 60.43 GB - 9.18 GB = 51.26 GB: 729,383 tokens on each rank.
    assert alone["device_tokens"] == 8 * 729_383
    assert alone["tokens_in_reach"] == alone["device_tokens"]
    assert alone["factor"] == 6.78
    assert alone["requests"] == 8 * (729_383 // 32_768)
    assert alone["certainty"] == both["certainty"] == "likely"
    assert alone["variables"] == {"sglang_enable_dp_attention": True, "sglang_dp_size": 8}
    assert any("729,383 tokens instead of 860,000" in cost for cost in alone["costs"])
    assert both["tokens_in_reach"] > 4 * alone["tokens_in_reach"]
    assert both["ram_bytes"] <= 1_790 * GIB
    assert both["variables"]["sglang_hicache_mode"] == "auto"


def test_copies_that_leave_no_room_for_a_request_are_not_offered() -> None:
    capacity = plan_capacity(host("0.5.18", model=LATENT_SHAPE), wishes())
    # 11.19 GB - 9.18 GB = 2.02 GB per rank
    found = option(capacity, "DP attention, 8 ranks")
    assert (found["certainty"], found["requests"]) == ("no", 0)
    assert "28,683 tokens on each rank, fewer than one request of 32,768" in found["note"]
    assert found is capacity["options"][-1]


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (LATENT_MODEL, {}),
        (GROUPED_MODEL, {}),
        (LATENT_SHAPE, {"tp_size": 1}),
        (LATENT_SHAPE, {"dp_size": 2, "enable_dp_attention": True}),
        (LATENT_SHAPE, {"max_total_tokens": 100_000}),
    ],
    ids=["unknown shape", "split heads", "one rank", "copies already", "a fixed device tier"],
)
def test_attention_without_sharing_is_offered_only_where_it_helps(
    model: dict[str, Any], changes: dict[str, Any]
) -> None:
    capacity = plan_capacity(host("0.5.18", model=model), wishes(**changes))
    assert not any(title.startswith("DP attention") for title in titles(capacity))


def test_a_larger_device_tier_helps_the_host_tier_where_its_ratio_is_bound() -> None:
    left = {"avail_after_bytes": 12 * GIB}
    facts = host("0.5.18", tokens=60_000, available_gib=1_000, startup=left)
    capacity = plan_capacity(facts, wishes(mem_fraction_static=0.80))
    # Eight times the device tier, whatever the RAM: 10 GiB more of GPU hold 152,797 tokens more.
    both = option(capacity, "memory fraction")
    assert both["title"].endswith("+ HiCache")
    assert (both["rank"], both["certainty"]) == (1, "certain")
    assert both["device_tokens"] == 60_000 + 152_797
    assert both["tokens_in_reach"] == 8 * both["device_tokens"]
    assert both["variables"]["sglang_hicache_mode"] == "auto"


def test_options_are_ranked_by_unique_tokens_among_the_certain_ones() -> None:
    left = {"avail_after_bytes": 16 * GIB}
    facts = host("0.5.23", draft=SMALL_DRAFT, startup=left)
    options = plan_capacity(facts, drafting(mem_fraction_static=0.79))["options"]
    exact = [o for o in options if o["certainty"] == "certain" and "fp8" not in o["title"]]
    tokens = [entry["tokens_in_reach"] for entry in exact]
    assert len(exact) >= 4
    assert tokens == sorted(tokens, reverse=True)
    assert exact == options[: len(exact)]

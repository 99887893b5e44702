# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the memory of a GPU is shared among pools of several kinds, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.setting import Parallel
from ansible_collections.llmops.sglang.plugins.module_utils._plan.weights import rank_weights
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    DELTA_MODEL,
    GIB,
    GROUPED_MODEL,
    LATENT_MODEL,
    MIB,
    SMALL_DRAFT,
    SPARSE_MODEL,
    WINDOW_MODEL,
    drafting,
    host,
    ids,
    wishes,
)

BEFORE_LOAD = 96_863 * MIB
"""97,887 MiB less 1 GiB for driver context and communicators."""


def plan(facts: dict[str, Any], **asked: Any) -> dict[str, Any]:
    return plan_capacity(facts, wishes(**asked))


def test_windows_share_by_tokens() -> None:
    capacity = plan(host(tokens=None, model=WINDOW_MODEL), tp_size=2, mem_fraction_static=0.8)

    # TP 2: 12,288 B per token in either pool, and 0.8 tokens in the window's for each in the
    # other: 12,288 + 9,830.4 B, rounded up to 22,119.
    rest = int(0.8 * BEFORE_LOAD) - 7 * 10**9
    tokens = rest // 22_119
    device = capacity["device"]
    assert device["tokens"] == tokens
    assert device["swa_tokens"] == int(tokens * 0.8)
    assert device["bytes_per_rank"] == 12_288 * (tokens + int(tokens * 0.8))
    assert rest - device["bytes_per_rank"] < 22_119 + 0.6 * tokens


@pytest.mark.parametrize("page", [1, 16, 64])
def test_both_pools_hold_whole_pages(page: int) -> None:
    asked = {"tp_size": 2, "mem_fraction_static": 0.8, "page_size": page}
    extra = {"swa-full-tokens-ratio": 0.5}
    capacity = plan(host(tokens=None, model=WINDOW_MODEL), **asked, extra_args=extra)

    # Half a window token for each: 12,288 + 6,144 B.
    tokens = (int(0.8 * BEFORE_LOAD) - 7 * 10**9) // 18_432 // page * page
    assert capacity["device"]["tokens"] == tokens
    assert capacity["device"]["swa_tokens"] == int(tokens * 0.5) // page * page


def test_a_cap_lowers_both_pools() -> None:
    facts = host(tokens=None, model=WINDOW_MODEL)
    capacity = plan(facts, tp_size=2, mem_fraction_static=0.8, max_total_tokens=100_000)
    assert capacity["device"]["tokens"] == 100_000
    assert capacity["device"]["swa_tokens"] == 80_000


def test_the_measured_window_pool_is_what_the_server_says() -> None:
    model, startup = WINDOW_MODEL, {"swa_tokens": 70_000}
    assert plan(host(model=model, startup=startup))["device"]["swa_tokens"] == 70_000
    assert plan(host(model=model))["device"]["swa_tokens"] == int(159_300 * 0.8)


def test_states_come_first_and_tokens_get_the_rest() -> None:
    facts = host("0.5.14", tokens=None, model=DELTA_MODEL)
    capacity = plan(facts, tp_size=8, mem_fraction_static=0.8)

    # TP 8: 36 layers of 524,288 / 8 x 4 bytes of state, and of a convolution of 12,288 + 16 x 768
    # elements / 8 x 2 bytes. 9/19 of the rest are for states.
    slot = 36 * (262_144 + 6_144)
    rest = int(0.8 * BEFORE_LOAD) - 20 * 10**9
    slots = int(rest * 0.9 / 1.9) // slot
    # One of 2 heads on each rank: 512 x 12 layers x 2 bytes per token.
    tokens = (rest - slots * slot) // 12_288
    device = capacity["device"]
    assert (device["tokens"], device["state_slots"]) == (tokens, slots)
    assert device["bytes_per_rank"] == tokens * 12_288 + slots * slot
    assert capacity["bytes_per_token"]["state_slot"] == slot


def test_slots_and_state_dtype_may_be_given() -> None:
    extra = {"max-mamba-cache-size": 200, "mamba-ssm-dtype": "bfloat16"}
    facts = host("0.5.14", tokens=None, model=DELTA_MODEL)
    capacity = plan(facts, tp_size=8, mem_fraction_static=0.8, extra_args=extra)

    slot = 36 * (131_072 + 6_144)
    rest = int(0.8 * BEFORE_LOAD) - 20 * 10**9
    assert capacity["device"]["state_slots"] == 200
    assert capacity["device"]["tokens"] == (rest - 200 * slot) // 12_288


def test_groups_of_dp_attention_share_slots_and_keep_whole_heads() -> None:
    extra = {"max-mamba-cache-size": 200}
    asked = {"tp_size": 8, "dp_size": 8, "enable_dp_attention": True, "extra_args": extra}
    capacity = plan(
        host("0.5.14", tokens=None, model=DELTA_MODEL), mem_fraction_static=0.9, **asked
    )
    assert capacity["device"]["state_slots"] == 25
    # Both heads on each rank: 2 x 512 x 12 x 2.
    assert capacity["bytes_per_token"]["target"] == 24_576


def test_the_host_tier_mirrors_states_and_tokens_by_the_ratio() -> None:
    facts = host("0.5.18", model=DELTA_MODEL, startup={"state_slots": 500}, available_gib=2_000)
    asked = {"tp_size": 8, "hicache_mode": "ratio", "hicache_ratio": 2.0}

    capacity = plan(facts, **asked)

    # 500 slots of 9,658,368 B for 159,300 tokens: 30,316 B for each, beside 12,288.
    share = -(-500 * 36 * 268_288 // 159_300)
    assert capacity["host"]["bytes_per_rank"] == 318_601 * (12_288 + share)


def test_states_that_were_not_counted_cannot_be_mirrored_by_arithmetic() -> None:
    capacity = plan(host("0.5.18", model=DELTA_MODEL))
    assert capacity["host"]["mode"] == "off"
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "HIC-011"]
    assert "recurrent states" in said["text"]


@pytest.mark.parametrize(
    ("version", "model", "words"),
    [
        ("0.5.12.post1", WINDOW_MODEL, "0.5.13 has"),
        ("0.5.9", DELTA_MODEL, "0.5.10 has"),
        ("0.5.23", {**WINDOW_MODEL, "architecture": "Step3p5ForCausalLM"}, "gives up the pool"),
        ("0.5.20", {**WINDOW_MODEL, "architecture": "MiMoV2FlashForCausalLM"}, "gives up the pool"),
    ],
)
def test_pools_that_a_version_cannot_mirror(
    version: str, model: dict[str, Any], words: str
) -> None:
    capacity = plan(host(version, model=model, startup={"state_slots": 500}))
    assert capacity["host"]["mode"] == "off"
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "HIC-011"]
    assert words in said["text"]


def test_the_host_tier_mirrors_windows_since_0_5_13() -> None:
    asked = {"tp_size": 2, "hicache_mode": "ratio", "hicache_ratio": 2.0}
    capacity = plan(host("0.5.18", model=WINDOW_MODEL, available_gib=2_000), **asked)
    # 12,288 B and 0.8 x 12,288 B for each slot, rounded up.
    assert capacity["host"]["bytes_per_rank"] == 318_601 * (12_288 + 9_831)


def test_a_sparse_model_predicted_in_16_bits() -> None:
    facts = host(tokens=None, model=SPARSE_MODEL)
    capacity = plan(facts, mem_fraction_static=0.92, kv_cache_dtype="bf16")
    # Pages of 64 tokens at 100,152 B each.
    rest = int(0.92 * BEFORE_LOAD) - 55 * 10**9
    assert capacity["device"]["tokens"] == rest // 100_152 // 64 * 64
    assert capacity["page_size"] == 64


def test_a_model_over_two_stages_predicted() -> None:
    capacity = plan(host(tokens=None), tp_size=4, pp_size=2, mem_fraction_static=0.85)
    # The larger stage has 31 of 61 layers; weights are shared by 8 ranks; 100 MiB for images.
    rest = int(0.85 * BEFORE_LOAD) - 547 * 10**9 // 8 - 100 * MIB
    assert capacity["device"]["tokens"] == rest // (576 * 31 * 2)


def test_what_is_left_when_nothing_is_left() -> None:
    capacity = plan(host(tokens=None), tp_size=4, mem_fraction_static=0.9)

    assert capacity["device"]["tokens"] is None
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "DEV-001"]
    # 0.9 x 94.6 GiB = 85.1 GiB, and 547e9 B / 4 = 127.4 GiB of weights.
    for term in ("94.6 GiB of GPU memory x 0.900 = 85.1 GiB", "weights of 127.4 GiB per rank"):
        assert term in said["text"]
    assert said["variable"] == "sglang_mem_fraction_static"


def test_states_may_leave_no_room_for_tokens() -> None:
    extra = {"max-mamba-cache-size": 100_000}
    facts = host("0.5.14", tokens=None, model=DELTA_MODEL)
    capacity = plan(facts, mem_fraction_static=0.8, extra_args=extra)
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "DEV-001"]
    assert "of recurrent states" in said["text"]


def test_a_measured_hybrid_pool_moves_with_the_fraction() -> None:
    argv = ["python", "--tp-size=8", "--mem-fraction-static", "0.80"]
    startup = {"state_slots": 4_000}
    facts = host("0.5.14", model=DELTA_MODEL, argv=argv, startup=startup, tokens=3_000_000)
    capacity = plan(facts, mem_fraction_static=0.85)

    # What both pools held and 5 % of the GPU, shared anew.
    slot = 36 * 268_288
    rest = 3_000_000 * 12_288 + 4_000 * slot + int((0.85 - 0.80) * BEFORE_LOAD)
    slots = int(rest * 0.9 / 1.9) // slot
    assert capacity["device"]["state_slots"] == slots
    assert capacity["device"]["tokens"] == (rest - slots * slot) // 12_288


@pytest.mark.parametrize(
    ("extra_args", "flags"),
    [
        ({"swa-full-tokens-ratio": 0.5}, []),
        ({}, ["--max-mamba-cache-size", "64"]),
        ({}, ["--enable-dp-attention"]),
        ({}, ["--disable-radix-cache"]),
        ({"--disable-hybrid-swa-memory": None}, []),
    ],
)
def test_flags_without_a_variable_make_another_configuration(
    extra_args: dict[str, Any], flags: list[str]
) -> None:
    facts = host(argv=["python", "--tp-size=8", *flags], model=GROUPED_MODEL)
    assert plan(facts, extra_args=extra_args)["device"]["origin"] == "predicted"
    same = host(argv=["python", "--tp-size=8"], model=GROUPED_MODEL)
    assert plan(same)["device"]["origin"] == "measured"


@pytest.mark.parametrize(
    "flags", [["--dp-size", "8", "--enable-dp-attention"], ["--attn-dp-size=8"]]
)
def test_either_way_to_ask_for_dp_attention_is_the_same(flags: list[str]) -> None:
    facts = host(argv=["python", "--tp-size=8", *flags], model=GROUPED_MODEL)
    asked = {"dp_size": 8, "enable_dp_attention": True}
    assert plan(facts, **asked)["device"]["origin"] == "measured"


def test_ranks_hold_the_way_into_the_latent_space_whole() -> None:
    # 7,168 x (1,536 + 512 + 64) x 2 bytes x 61 layers = 1,846,935,552: whole on each of 8 ranks.
    shape = {"hidden_size": 7_168, "q_lora_rank": 1_536}
    model = {**LATENT_MODEL, **shape}
    whole = 7_168 * 2_112 * 2 * 61
    assert rank_weights(model, Parallel(tp=8)) == (547 * 10**9 - whole) // 8 + whole
    # Without its shape, an eighth of everything.
    assert rank_weights(LATENT_MODEL, Parallel(tp=8)) == 547 * 10**9 // 8
    assert rank_weights({}, Parallel(tp=8)) is None


@pytest.mark.parametrize(
    ("method", "element"), [("fp8", 1), ("modelopt_fp8", 1), ("modelopt_fp4", 2), (None, 2)]
)
def test_attention_in_8_bits_is_half(method: str | None, element: int) -> None:
    # 4-bit checkpoints leave the attention in 16 bits.
    model = {**LATENT_MODEL, "hidden_size": 7_168, "q_lora_rank": 1_536, "quantization": method}
    whole = 7_168 * 2_112 * element * 61
    assert rank_weights(model, Parallel(tp=8)) == (547 * 10**9 - whole) // 8 + whole


def test_dp_attention_holds_more_attention_on_each_rank() -> None:
    # 64 heads x (1,536 x 192 + 512 x 256 + 128 x 7,168) x 2 bytes x 61 layers are split by one
    # rank instead of eight.
    shape = {"hidden_size": 7_168, "q_lora_rank": 1_536, "heads": 64, "v_head_dim": 128}
    model = {**LATENT_MODEL, **shape}
    heads = 61 * 64 * (1_536 * 192 + 512 * 256 + 128 * 7_168) * 2
    plain = rank_weights(model, Parallel(tp=8))
    split = rank_weights(model, Parallel(tp=8, dp=8, dp_attention=True))
    assert plain is not None and split is not None
    assert split - plain == heads - heads // 8


@pytest.mark.parametrize(("version", "counts"), [("0.5.13.post1", False), ("0.5.14", True)])
def test_a_draft_of_its_own_model_counts_since_0_5_14(version: str, counts: bool) -> None:
    facts = host(version, tokens=None)
    asked = wishes(speculative_algorithm="NEXTN", mem_fraction_static=0.85)
    rest = int(0.85 * BEFORE_LOAD) - 547 * 10**9 // 8
    # 61 layers, and one that drafts: 71,424 B instead of 70,272.
    cell = 71_424 if counts else 70_272
    assert plan_capacity(facts, asked)["device"]["tokens"] == rest // cell


def test_a_prediction_says_how_far_it_may_be_off() -> None:
    found = plan(host(tokens=None), mem_fraction_static=0.85)["device"]
    rest = int(0.85 * BEFORE_LOAD) - 547 * 10**9 // 8 - 100 * MIB
    assert found["error_percent"] == round(100 * 1.5 * GIB / rest, 1)
    assert "DEV-001" not in ids(plan_capacity(host(draft=SMALL_DRAFT), drafting()))

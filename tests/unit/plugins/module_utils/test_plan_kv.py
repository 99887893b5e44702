# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes per token, worked out by hand for each kind of attention."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.kv import token_bytes
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GROUPED_MODEL,
    LATENT_MODEL,
    SMALL_DRAFT,
    drafting,
    host,
    ids,
    wishes,
)


def per_token(model: dict[str, Any], attention_tp: int = 1, pp: int = 1, element: int = 2) -> int:
    found = token_bytes(model, attention_tp, pp, element)
    assert found is not None
    return found.device


@pytest.mark.parametrize("attention_tp", [1, 4, 8, 16])
def test_mla_is_the_same_on_every_rank(attention_tp: int) -> None:
    assert per_token(LATENT_MODEL, attention_tp) == (512 + 64) * 61 * 2 == 70_272


def test_mla_in_8_bits_is_half() -> None:
    assert per_token(LATENT_MODEL, 8, element=1) == 35_136


@pytest.mark.parametrize(
    ("attention_tp", "heads"), [(1, 8), (4, 2), (8, 1), (16, 1)], ids="TP {0}".format
)
def test_grouped_heads_are_split_but_each_rank_keeps_one(attention_tp: int, heads: int) -> None:
    assert per_token(GROUPED_MODEL, attention_tp) == heads * (128 + 128) * 32 * 2


def test_keys_and_values_of_different_width() -> None:
    model = {**GROUPED_MODEL, "head_dim": 192, "v_head_dim": 128}
    assert per_token(model, 4) == 2 * (192 + 128) * 32 * 2 == 40_960


def test_plain_heads_whose_width_is_not_stated() -> None:
    # 4,096 / 32 heads = 128 wide; without KV heads every head has its own.
    model = {"attention": "gqa", "layers": 10, "heads": 32, "hidden_size": 4_096}
    assert per_token(model, 2) == 16 * 256 * 10 * 2


def test_a_pipeline_stage_holds_its_share_of_layers_rounded_up() -> None:
    assert per_token(LATENT_MODEL, 8, pp=2) == 576 * 31 * 2


def test_a_sparse_model_has_indexer_keys_beside_the_latent() -> None:
    model = {**LATENT_MODEL, "index_head_dim": 128}
    found = token_bytes(model, 8, 1, 2)
    assert found is not None
    # 128 bytes and one 4-byte scale per layer, in 8 bits whatever the KV format.
    assert (found.kv, found.indexer) == (70_272, 132 * 61)


def test_a_sparse_model_in_8_bits_packs_scales_and_rope_in_656_bytes() -> None:
    found = token_bytes({**LATENT_MODEL, "layers": 78, "index_head_dim": 128}, 8, 1, 1)
    assert found is not None
    assert (found.kv, found.indexer) == (656 * 78, 132 * 78)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"attention": "swa", "layers": 30, "kv_heads": 8, "head_dim": 128},
        {"attention": "hybrid", "layers": 48, "kv_heads": 2, "head_dim": 256},
        {"attention": "mla", "layers": 61, "kv_lora_rank": None, "qk_rope_head_dim": 64},
        {"attention": "gqa", "layers": 32, "heads": None, "kv_heads": None, "head_dim": 128},
        {"attention": "gqa", "layers": 32, "kv_heads": 8, "head_dim": None, "hidden_size": None},
    ],
)
def test_what_is_not_computed_is_unknown(model: dict[str, Any]) -> None:
    assert token_bytes(model, 1, 1, 2) is None


@pytest.mark.parametrize(("attention", "word"), [("swa", "sliding"), ("hybrid", "state-space")])
def test_two_kinds_of_pools_leave_the_host_tier_off_and_say_why(attention: str, word: str) -> None:
    model = {**GROUPED_MODEL, "attention": attention}

    capacity = plan_capacity(host("0.5.23", model=model), wishes())

    assert capacity["bytes_per_token"]["target"] is None
    assert capacity["host"]["mode"] == "off"
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "HIC-011"]
    assert word in said["text"]
    assert "engine_auto" in said["remedy"]
    # What was measured stays known.
    assert capacity["tokens"]["device"] == 159_300


def test_the_engine_may_size_pools_that_are_not_computed_here() -> None:
    model = {**GROUPED_MODEL, "attention": "swa"}

    capacity = plan_capacity(host(model=model), wishes(hicache_mode="engine_auto"))

    assert capacity["host"]["mode"] == "engine_auto"
    assert capacity["host"]["certainty"] is None
    assert ids(capacity, "refuse") == set()


def test_dp_attention_gives_each_group_its_own_heads_and_tokens() -> None:
    asked = wishes(tp_size=8, dp_size=4, enable_dp_attention=True, plan_context_tokens=100_000)

    capacity = plan_capacity(host("0.5.18", model=GROUPED_MODEL), asked)

    # Two ranks share a request: 4 heads each. Four groups hold different tokens.
    assert capacity["bytes_per_token"]["target"] == 4 * 256 * 32 * 2
    assert capacity["ranks_per_node"] == 8
    assert capacity["tokens"]["device"] == 4 * 159_300
    assert capacity["requests"]["device"] == 4
    assert capacity["longest_request_tokens"] == 131_072


def test_copies_without_dp_attention_are_processes_of_their_own() -> None:
    asked = wishes(tp_size=4, dp_size=2)

    capacity = plan_capacity(host("0.5.18", model=GROUPED_MODEL), asked)

    assert capacity["ranks_per_node"] == 8
    assert capacity["bytes_per_token"]["target"] == 2 * 256 * 32 * 2


def test_an_engine_over_two_hosts_has_half_its_ranks_here() -> None:
    asked = wishes(tp_size=16, extra_args={"--nnodes": 2})
    assert plan_capacity(host("0.5.23"), asked)["ranks_per_node"] == 8


def test_a_model_that_drafts_for_itself_adds_one_layer_to_its_own_pool() -> None:
    asked = wishes(speculative_algorithm="NEXTN", hicache_mode="ratio", hicache_ratio=2.0)

    packed = plan_capacity(host("0.5.18"), asked)
    apart = plan_capacity(host("0.5.17"), asked)

    assert packed["host"]["bytes_per_rank"] == 318_601 * 576 * 62 * 2
    assert packed["host"]["draft_tokens"] is None
    assert apart["host"]["draft_tokens"] == 318_601


def test_a_draft_of_unknown_shape_is_not_guessed() -> None:
    capacity = plan_capacity(host("0.5.18", draft=None), drafting())

    assert capacity["bytes_per_token"]["draft"] is None
    assert capacity["host"]["mode"] == "off"
    assert "HIC-011" in ids(capacity)


def test_an_n_gram_draft_has_no_cache() -> None:
    asked = wishes(speculative_algorithm="NGRAM")
    assert plan_capacity(host("0.5.18"), asked)["bytes_per_token"]["draft"] is None


@pytest.mark.parametrize(("version", "mirrored"), [("0.5.10.post1", False), ("0.5.11", True)])
def test_the_draft_has_a_host_pool_since_0_5_11(version: str, mirrored: bool) -> None:
    capacity = plan_capacity(host(version, draft=SMALL_DRAFT), drafting())

    assert (capacity["host"]["draft_tokens"] is not None) is mirrored
    assert ("RAM-010" in ids(capacity, "advise")) is not mirrored


def test_a_packed_4_bit_format_is_unknown() -> None:
    capacity = plan_capacity(host("0.5.18"), wishes(kv_cache_dtype="fp4_e2m1"))
    assert capacity["bytes_per_token"]["target"] is None
    assert capacity["host"]["mode"] == "off"


def test_auto_means_what_the_running_server_made_of_it() -> None:
    facts = host("0.5.23", argv=["python", "--tp-size", "8"])
    facts["server"]["info"] = {"kv_cache_dtype": "fp8_e4m3"}
    assert plan_capacity(facts, wishes())["bytes_per_token"]["target"] == 35_136

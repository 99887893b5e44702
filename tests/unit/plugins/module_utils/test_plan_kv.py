# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes per token and per state on one rank, worked out by hand for each kind of attention."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.kv_format import (
    KvFormat,
    automatic_dtype,
    kv_format,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import Version
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.kv import (
    Layout,
    TokenBytes,
    token_bytes,
)
from ansible_collections.llmops.sglang.plugins.module_utils._plan.setting import read_setting
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    DELTA_MODEL,
    GROUPED_MODEL,
    LATENT_MODEL,
    SMALL_DRAFT,
    SPARSE_MODEL,
    WINDOW_MODEL,
    drafting,
    host,
    ids,
    wishes,
)

BF16, FP8 = KvFormat(2), KvFormat(1)


def on_rank(model: dict[str, Any], form: KvFormat = BF16, **layout: Any) -> TokenBytes:
    found = token_bytes(model, Layout(form, **layout))
    assert found is not None
    return found


def per_token(model: dict[str, Any], form: KvFormat = BF16, **layout: Any) -> int:
    return on_rank(model, form, **layout).device


@pytest.mark.parametrize("attention_tp", [1, 4, 8, 16])
def test_mla_is_the_same_on_every_rank(attention_tp: int) -> None:
    # One latent of 512 and 64 rope elements per layer: 576 x 61 layers x 2 bytes.
    assert per_token(LATENT_MODEL, attention_tp=attention_tp) == 70_272


def test_mla_in_8_bits_is_half() -> None:
    # 576 x 61 x 1 byte.
    assert per_token(LATENT_MODEL, FP8, attention_tp=8) == 35_136


def test_mla_in_4_bits_has_a_scale_for_16_elements() -> None:
    # 576 / 2 bytes of elements and 576 / 16 of scales: 324 per layer, x 61.
    form = kv_format("fp4_e2m1", None, Version.parse("0.5.9"))
    assert form is not None
    assert per_token(LATENT_MODEL, form) == 324 * 61 == 19_764


@pytest.mark.parametrize(("attention_tp", "expected"), [(1, 131_072), (4, 32_768), (8, 16_384)])
def test_grouped_heads_are_split(attention_tp: int, expected: int) -> None:
    # 8 heads x (128 + 128) elements x 32 layers x 2 bytes = 131,072, of which a rank at TP 4
    # holds 2 heads and at TP 8 one.
    assert per_token(GROUPED_MODEL, attention_tp=attention_tp) == expected


def test_at_tp_16_each_rank_keeps_one_of_8_heads_and_two_ranks_the_same() -> None:
    # 8 // 16 would be no head at all: 1 x 256 x 32 x 2.
    assert per_token(GROUPED_MODEL, attention_tp=16) == 16_384


def test_mx_formats_add_a_scale_for_32_elements() -> None:
    # TP 8: one head of 256 elements is 256 bytes and 8 scales, x 32 layers.
    form = kv_format("mxfp8", None, Version.parse("0.5.23"))
    assert form is not None
    assert per_token(GROUPED_MODEL, form, attention_tp=8) == 264 * 32


def test_keys_and_values_of_different_width() -> None:
    # 2 heads x (192 + 128) x 32 x 2.
    model = {**GROUPED_MODEL, "head_dim": 192, "v_head_dim": 128}
    assert per_token(model, attention_tp=4) == 40_960


def test_plain_heads_whose_width_is_not_stated() -> None:
    # 4,096 / 32 heads = 128 wide; without KV heads every head has its own: 16 x 256 x 10 x 2.
    model = {"attention": "gqa", "layers": 10, "heads": 32, "hidden_size": 4_096}
    assert per_token(model, attention_tp=2) == 81_920


def test_the_larger_pipeline_stage_decides() -> None:
    # 61 layers on 2 stages are 30 and 31: 576 x 31 x 2.
    assert per_token(LATENT_MODEL, attention_tp=8, pp=2) == 35_712
    # On 4 stages 15, 15, 15 and 16: 576 x 16 x 2.
    assert per_token(LATENT_MODEL, attention_tp=8, pp=4) == 18_432


def test_stages_may_be_given() -> None:
    # 40 and 21 layers: 576 x 40 x 2. A partition that does not add up is not used.
    assert per_token(LATENT_MODEL, pp=2, stages=(40, 21)) == 46_080
    assert per_token(LATENT_MODEL, pp=2, stages=(40, 20)) == 35_712


def test_a_sparse_model_has_index_keys_beside_the_latent() -> None:
    # 576 x 2 bytes of latent, and 128 + 4 bytes of index keys in 8 bits, on each of 78 layers.
    found = on_rank(SPARSE_MODEL, attention_tp=8)
    assert (found.kv, found.indexer, found.device) == (89_856, 10_296, 100_152)


def test_a_sparse_model_in_8_bits_packs_scales_and_rope_in_656_bytes() -> None:
    # 512 latent bytes, 4 scales of 4 bytes, 64 rope elements of 2 bytes: 656 x 78 layers.
    found = on_rank(SPARSE_MODEL, FP8, attention_tp=8)
    assert (found.kv, found.indexer) == (51_168, 10_296)


def test_raw_8_bit_rows_of_a_sparse_model_have_576_bytes() -> None:
    assert on_rank(SPARSE_MODEL, FP8, packed_rows=False).kv == 576 * 78


def test_layers_that_share_a_choice_keep_no_index_keys_where_the_engine_is_compact() -> None:
    model = {**SPARSE_MODEL, "index_layers": 21}
    assert on_rank(model).indexer == 132 * 78
    assert on_rank(model, compact_index=True).indexer == 132 * 21


def test_sliding_windows_have_a_pool_of_their_own() -> None:
    # 12 full and 12 window layers, 8 heads of 64: a rank at TP 2 holds 4 x 128 x 12 x 2 bytes
    # per token in either pool.
    found = on_rank(WINDOW_MODEL, attention_tp=2)
    assert (found.kv, found.window, found.layers) == (12_288, 12_288, 12)


def test_window_layers_may_have_heads_of_their_own() -> None:
    # TP 4: 8 full layers of 1 head x (192 + 128) x 2 bytes, 40 window layers of 2 heads.
    model = {
        "attention": "swa", "layers": 48, "layer_kinds": "fsssss" * 8,
        "kv_heads": 4, "head_dim": 192, "v_head_dim": 128,
        "swa_kv_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128,
    }  # fmt: skip
    found = on_rank(model, attention_tp=4)
    assert (found.kv, found.window) == (640 * 8, 1_280 * 40)


def test_without_a_window_pool_every_layer_keeps_the_whole_context() -> None:
    # 24 layers x 4 heads x 128 x 2.
    found = on_rank(WINDOW_MODEL, attention_tp=2, window_pool=False)
    assert (found.kv, found.window) == (24_576, 0)


def test_a_hybrid_keeps_tokens_in_one_layer_of_four_and_states_in_the_others() -> None:
    # TP 2, 12 full layers: 1 head x 512 x 12 x 2 bytes per token. State of one of 36 layers:
    # 32 heads x 128 x 128 / 2 ranks x 4 bytes = 1,048,576, and the convolution: values 4,096 and
    # 16 groups x 256 make 8,192 channels x 3 / 2 ranks x 2 bytes = 24,576.
    found = on_rank(DELTA_MODEL, attention_tp=2)
    assert found.device == 12_288
    assert found.state == 36 * (1_048_576 + 24_576) == 38_633_472


def test_states_may_be_kept_in_16_bits() -> None:
    # Half of 1,048,576, and the same convolution.
    found = on_rank(DELTA_MODEL, attention_tp=2, state_bytes=2)
    assert found.state == 36 * (524_288 + 24_576)


def test_groups_are_repeated_where_ranks_do_not_divide_them() -> None:
    # One layer on 4 ranks, 2 groups: 4 groups instead of 2 make 64 + 4 x 8 = 96 elements; a
    # quarter, 24, x 2 bytes. The state: 256 / 4 x 4 bytes.
    model = {
        **DELTA_MODEL, "layer_kinds": "fr", "state_elements": 256,
        "state_conv_elements": 64, "state_groups": 2, "state_group_elements": 8,
    }  # fmt: skip
    assert on_rank(model, attention_tp=4).state == 24 * 2 + 64 * 4


def test_a_hybrid_may_keep_latents() -> None:
    # 7 of 27 layers keep 576 elements of 2 bytes; 20 keep states of 32 x 128 x 128 x 4 bytes and
    # 3 x 4,096 channels x 3 x 2 bytes.
    model = {
        "attention": "hybrid", "layers": 27, "layer_kinds": "rrrf" * 6 + "rrf",
        "kv_lora_rank": 512, "qk_rope_head_dim": 64, "state_elements": 524_288,
        "state_conv_elements": 36_864, "state_groups": 0, "state_group_elements": 0,
    }  # fmt: skip
    found = on_rank(model)
    assert (found.kv, found.state) == (7 * 1_152, 20 * (2_097_152 + 73_728))


def test_every_stage_is_charged_the_largest_share_of_states() -> None:
    # "rrff" on two stages: the first keeps both states, the second both full layers.
    model = {**DELTA_MODEL, "layers": 4, "layer_kinds": "rrff"}
    found, whole = on_rank(model, pp=2), on_rank(model)
    assert (found.device, found.state) == (whole.device, whole.state)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"attention": "swa", "layers": 30, "kv_heads": 8, "head_dim": 128},
        {**WINDOW_MODEL, "swa_head_dim": None, "head_dim": None},
        {"attention": "hybrid", "layers": 48, "kv_heads": 2, "head_dim": 256},
        {**DELTA_MODEL, "state_elements": None},
        {"attention": "unknown", "layers": 48, "kv_heads": 2, "head_dim": 256},
        {"attention": "mla", "layers": 61, "kv_lora_rank": None, "qk_rope_head_dim": 64},
        {"attention": "gqa", "layers": 32, "heads": None, "kv_heads": None, "head_dim": 128},
        {"attention": "gqa", "layers": 32, "kv_heads": 8, "head_dim": None, "hidden_size": None},
    ],
)
def test_what_is_not_computed_is_unknown(model: dict[str, Any]) -> None:
    assert token_bytes(model, Layout(BF16)) is None


def test_formats_by_name() -> None:
    new = Version.parse("0.5.23")
    assert kv_format("auto", None, new) == kv_format("bf16", "bfloat16", new) == KvFormat(2)
    assert kv_format("auto", "float32", new) == KvFormat(4)
    assert kv_format("fp8_e5m2", "float32", new) == KvFormat(1)
    # 4 bits have workspaces since 0.5.16, which are not computed.
    assert kv_format("fp4_e2m1", None, Version.parse("0.5.16")) is None
    assert kv_format("nvfp4", None, new) is None


@pytest.mark.parametrize(
    ("model", "capability", "expected"),
    [
        (LATENT_MODEL, 12.0, "auto"),
        (SPARSE_MODEL, 12.0, "fp8_e4m3"),
        (SPARSE_MODEL, 9.0, "bfloat16"),
        (SPARSE_MODEL, None, "auto"),
        ({**LATENT_MODEL, "kv_cache_quantization": "fp8"}, 12.0, "fp8_e4m3"),
    ],
)
def test_what_auto_comes_to(model: dict[str, Any], capability: float | None, expected: str) -> None:
    assert automatic_dtype(model, capability) == expected


@pytest.mark.parametrize(
    ("version", "capability", "extra", "row"),
    [
        ("0.5.23", "9.0", {}, 656),
        ("0.5.9", "10.0", {}, 656),
        ("0.5.23", "10.0", {}, 576),
        ("0.5.23", "12.0", {}, 656),
        ("0.5.16", "12.0", {}, 576),
        ("0.5.23", "9.0", {"dsa-decode-backend": "trtllm"}, 576),
        (
            "0.5.14",
            "10.0",
            {"--dsa-decode-backend": "flashmla_kv", "--dsa-prefill-backend": "flashmla_kv"},
            656,
        ),
    ],
)
def test_rows_of_a_sparse_model_depend_on_its_backend(
    version: str, capability: str, extra: dict[str, str], row: int
) -> None:
    facts = host(version, model=SPARSE_MODEL)
    for gpu in facts["gpu"]["devices"]:
        gpu["compute_capability"] = capability
    setting = read_setting(facts, wishes(kv_cache_dtype="fp8_e4m3", extra_args=extra))
    assert setting.target is not None
    assert setting.target.kv == row * 78


@pytest.mark.parametrize(
    ("version", "kv", "window"), [("0.5.8.post1", 3_072, 3_072), ("0.5.23", 6_144, 0)]
)
def test_whether_windows_have_a_pool_depends_on_version_and_architecture(
    version: str, kv: int, window: int
) -> None:
    # TP 8: one head x 128 x 12 layers x 2 bytes in either pool, or all 24 layers in one: Gemma 3
    # is not among the architectures that split since 0.5.9.
    model = {**WINDOW_MODEL, "architecture": "Gemma3ForCausalLM"}
    target = read_setting(host(version, model=model), wishes()).target
    assert target is not None
    assert (target.kv, target.window) == (kv, window)


@pytest.mark.parametrize(
    ("given", "kv", "window"), [(None, 6_144, 0), (True, 6_144, 0), (False, 3_072, 3_072)]
)
def test_the_window_pool_may_be_switched_off(given: bool | None, kv: int, window: int) -> None:
    # TP 8: one head x 128 x 24 layers x 2 bytes in one pool.
    asked = wishes(extra_args={"--disable-hybrid-swa-memory": given})
    target = read_setting(host(model=WINDOW_MODEL), asked).target
    assert target is not None
    assert (target.kv, target.window) == (kv, window)


def test_an_unknown_attention_leaves_the_host_tier_off_and_says_why() -> None:
    model = {**GROUPED_MODEL, "attention": "unknown"}

    capacity = plan_capacity(host("0.5.23", model=model), wishes())

    assert capacity["bytes_per_token"]["target"] is None
    assert capacity["host"]["mode"] == "off"
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "HIC-011"]
    assert "unknown" in said["text"]
    assert "engine_auto" in said["remedy"]
    # What was measured stays known.
    assert capacity["tokens"]["device"] == 159_300


def test_the_engine_may_size_pools_that_are_not_computed_here() -> None:
    model = {**GROUPED_MODEL, "attention": "unknown"}

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
    asked = wishes(tp_size=16, nnodes=2)
    assert plan_capacity(host("0.5.23"), asked)["ranks_per_node"] == 8


def test_stages_are_read_from_the_environment() -> None:
    asked = wishes(pp_size=2, environment={"SGLANG_PP_LAYER_PARTITION": "40,21"})
    # 576 x 40 layers x 2 bytes.
    assert plan_capacity(host("0.5.23"), asked)["bytes_per_token"]["target"] == 46_080


def test_a_model_that_drafts_for_itself_adds_one_layer_to_its_own_pool() -> None:
    asked = wishes(speculative_algorithm="NEXTN", hicache_mode="ratio", hicache_ratio=2.0)

    packed = plan_capacity(host("0.5.18"), asked)
    apart = plan_capacity(host("0.5.17"), asked)

    assert packed["host"]["bytes_per_rank"] == 318_601 * 576 * 62 * 2
    assert packed["host"]["draft_tokens"] is None
    assert apart["host"]["draft_tokens"] == 318_601


@pytest.mark.parametrize(("version", "expected"), [("0.5.14", 576), ("0.5.16", 656 + 132)])
def test_the_draft_layer_of_a_sparse_model_is_sparse_since_0_5_16(
    version: str, expected: int
) -> None:
    model = {**SPARSE_MODEL, "architecture": "GlmMoeDsaForCausalLM"}
    asked = wishes(speculative_algorithm="NEXTN", kv_cache_dtype="fp8_e4m3")
    draft = read_setting(host(version, model=model), asked).draft
    assert draft is not None
    assert draft.device == expected


def test_several_layers_may_draft() -> None:
    # 3 layers x 576 x 2 bytes.
    facts = host("0.5.18", model={**LATENT_MODEL, "draft_layers": 3})
    draft = read_setting(facts, wishes(speculative_algorithm="EAGLE")).draft
    assert draft is not None
    assert (draft.device, draft.layers) == (3_456, 3)


def test_an_eagle_draft_has_its_own_heads() -> None:
    # 64 heads at TP 8: 8 x 256 x 1 layer x 2 bytes.
    capacity = plan_capacity(host("0.5.18", draft=SMALL_DRAFT), drafting())
    assert capacity["bytes_per_token"]["draft"] == 4_096


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

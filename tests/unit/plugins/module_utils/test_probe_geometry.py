# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What config.json says about the layers of a model, family by family."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.geometry import read_geometry

GQA: dict[str, Any] = {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4_096,
    "num_hidden_layers": 8,
}


def geometry(architecture: str = "SomeForCausalLM", **config: Any) -> dict[str, Any]:
    return read_geometry({"architectures": [architecture], **GQA, **config})


def layers(found: dict[str, Any]) -> tuple[Any, ...]:
    names = ("attention", "layer_kinds", "kv_layers", "swa_layers", "state_layers")
    return tuple(found[name] for name in names)


def state(found: dict[str, Any]) -> tuple[Any, ...]:
    names = ("state_elements", "state_conv_elements", "state_groups", "state_group_elements")
    return tuple(found[name] for name in names)


def test_a_plain_model_keeps_the_whole_context_in_every_layer() -> None:
    found = geometry()
    assert layers(found) == ("gqa", None, 8, None, None)
    assert (found["sliding_window"], found["swa_kv_heads"]) == (None, None)
    assert state(found) == (None, None, None, None)


def test_windows_by_layer() -> None:
    kinds = ["sliding_attention", "full_attention"] * 4
    found = geometry("GptOssForCausalLM", layer_types=kinds, sliding_window=128)
    assert layers(found) == ("swa", "sfsfsfsf", 4, 4, None)
    assert found["sliding_window"] == 128
    assert (found["swa_kv_heads"], found["swa_head_dim"], found["swa_v_head_dim"]) == (8, 128, 128)


def test_windows_by_flags_with_heads_of_their_own() -> None:
    found = geometry(
        "MiMoV2FlashForCausalLM",
        hybrid_layer_pattern=[0, 1, 1, 1, 1, 1, 1, 0],
        sliding_window_size=128,
        head_dim=192,
        v_head_dim=128,
        swa_num_key_value_heads=16,
        swa_head_dim=192,
        swa_v_head_dim=128,
    )
    assert layers(found) == ("swa", "fssssssf", 2, 6, None)
    assert (found["kv_heads"], found["head_dim"], found["v_head_dim"]) == (8, 192, 128)
    assert (found["swa_kv_heads"], found["swa_head_dim"], found["swa_v_head_dim"]) == (16, 192, 128)


def test_windows_by_chunks_in_three_layers_of_four() -> None:
    found = read_geometry(
        {
            "architectures": ["Llama4ForConditionalGeneration"],
            "vision_config": {},
            "text_config": {**GQA, "attention_chunk_size": 8_192},
        }
    )
    assert layers(found) == ("swa", "sssfsssf", 2, 6, None)
    assert (found["sliding_window"], found["multimodal"]) == (8_192, True)


def test_windows_by_a_period() -> None:
    found = geometry("Gemma3ForCausalLM", sliding_window_pattern=6, sliding_window=1_024)
    assert layers(found) == ("swa", "sssssfss", 1, 7, None)


def test_groups_of_window_layers_under_another_name() -> None:
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"] * 2
    found = geometry(
        "Step3p5ForCausalLM",
        num_key_value_heads=None,
        num_attention_groups=8,
        layer_types=[*kinds, "full_attention"],
        attention_other_setting={"num_attention_groups": 16},
        sliding_window=512,
    )
    # A layer beyond num_hidden_layers drafts and is not one of the model's.
    assert layers(found) == ("swa", "fsssfsss", 2, 6, None)
    assert (found["kv_heads"], found["swa_kv_heads"]) == (8, 16)


def test_full_layers_with_heads_of_their_own() -> None:
    found = geometry(
        "Gemma4ForCausalLM",
        layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 2,
        head_dim=256,
        global_head_dim=512,
        num_global_key_value_heads=4,
        sliding_window=1_024,
    )
    assert (found["kv_heads"], found["head_dim"], found["v_head_dim"]) == (4, 512, 512)
    assert (found["swa_kv_heads"], found["swa_head_dim"], found["swa_v_head_dim"]) == (8, 256, 256)


def test_a_window_of_which_no_layers_are_told() -> None:
    found = geometry("MistralForCausalLM", sliding_window=4_096)
    assert layers(found) == ("swa", None, None, None, None)


DELTA = {
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 128,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}


def test_a_gated_delta_rule_in_three_layers_of_four() -> None:
    found = geometry("Qwen3NextForCausalLM", full_attention_interval=4, **DELTA)
    assert layers(found) == ("hybrid", "rrrfrrrf", 2, None, 6)
    # 32 x 128 x 128 elements; values of 4,096 channels and 16 groups of 2 x 128, 3 steps each.
    assert state(found) == (524_288, 12_288, 16, 768)


def test_the_same_in_a_multimodal_model_with_a_dtype_for_states() -> None:
    inner = {**GQA, **DELTA, "layer_types": ["linear_attention", "full_attention"] * 4}
    found = read_geometry(
        {
            "architectures": ["Qwen3_5ForConditionalGeneration"],
            "text_config": {**inner, "mamba_ssm_dtype": "bfloat16"},
        }
    )
    assert layers(found) == ("hybrid", "rfrfrfrf", 4, None, 4)
    assert found["state_dtype"] == "bfloat16"


def test_mamba_layers_by_letters() -> None:
    found = geometry(
        "NemotronHForCausalLM",
        hybrid_override_pattern="M-M*E-M-",
        mamba_num_heads=64,
        mamba_head_dim=64,
        ssm_state_size=128,
        n_groups=8,
        conv_kernel=4,
    )
    assert layers(found) == ("hybrid", "r-rf--r-", 1, None, 3)
    # 64 x 64 x 128 elements; 4,096 channels and 8 groups of 2 x 128, 3 steps each.
    assert state(found) == (524_288, 12_288, 8, 768)


def test_mamba_beside_attention_in_every_layer() -> None:
    found = geometry(
        "FalconH1ForCausalLM",
        mamba_d_ssm=3_072,
        mamba_n_heads=24,
        mamba_d_head=128,
        mamba_d_state=256,
        mamba_n_groups=1,
        mamba_d_conv=4,
    )
    assert layers(found) == ("hybrid", "b" * 8, 8, None, 8)
    assert state(found) == (3_072 * 256, 3_072 * 3, 1, 2 * 256 * 3)


def test_the_width_of_mamba_from_its_expansion() -> None:
    found = geometry(
        "GraniteMoeHybridForCausalLM",
        layer_types=["mamba", "mamba", "mamba", "attention"] * 2,
        mamba_n_heads=128,
        mamba_d_head="auto",
        mamba_expand=2,
        mamba_d_state=128,
        mamba_d_conv=4,
    )
    assert layers(found) == ("hybrid", "rrrfrrrf", 2, None, 6)
    assert state(found) == (8_192 * 128, 8_192 * 3, 1, 768)


def test_kimi_delta_attention_beside_latents() -> None:
    linear = {
        "kda_layers": [1, 2, 3, 5, 6, 7],
        "full_attn_layers": [4, 8],
        "num_heads": 32,
        "head_dim": 128,
        "short_conv_kernel_size": 4,
    }
    found = geometry(
        "KimiLinearForCausalLM", kv_lora_rank=512, qk_rope_head_dim=64, linear_attn_config=linear
    )
    assert layers(found) == ("hybrid", "rrrfrrrf", 2, None, 6)
    # Three projections of 4,096 channels go through the convolution.
    assert state(found) == (524_288, 36_864, 0, 0)


def test_lightning_attention_has_no_convolution() -> None:
    found = geometry(
        "BailingMoeV2_5ForCausalLM", layer_group_size=4, head_dim=128, kv_lora_rank=512
    )
    assert layers(found) == ("hybrid", "rrrfrrrf", 2, None, 6)
    assert state(found) == (32 * 128 * 128, 0, 0, 0)


def test_short_convolutions_have_no_state() -> None:
    kinds = ["conv", "conv", "full_attention", "conv"] * 2
    found = geometry("Lfm2ForCausalLM", layer_types=kinds, conv_L_cache=3)
    assert layers(found) == ("hybrid", "rrfrrrfr", 2, None, 6)
    assert state(found) == (0, 8_192, 0, 0)


LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}


def test_latents_only_where_the_engine_keeps_them() -> None:
    assert geometry("DeepseekV3ForCausalLM", **LATENT)["attention"] == "mla"
    assert geometry("SomethingNewForCausalLM", **LATENT)["attention"] == "unknown"


def test_two_attentions_in_each_layer() -> None:
    found = geometry("LongcatFlashForCausalLM", **LATENT)
    assert (found["layers"], found["kv_layers"]) == (8, 16)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 8),
        ({"indexer_types": ["full", "shared", "shared", "full"] * 2}, 4),
        ({"index_topk_pattern": "FSSSFSSS"}, 2),
        # Layers 0 and 1, then every fourth: 5.
        ({"index_topk_freq": 4}, 3),
        # Layers 0 to 2, then 6.
        ({"index_topk_freq": 4, "index_skip_topk_offset": 3}, 4),
    ],
)
def test_layers_that_choose_tokens_themselves(config: dict[str, Any], expected: int) -> None:
    found = geometry("GlmMoeDsaForCausalLM", index_head_dim=128, **LATENT, **config)
    assert (found["attention"], found["index_layers"]) == ("mla", expected)


@pytest.mark.parametrize(
    "config",
    [
        {"compress_ratios": [0, 4, 128]},
        {"sparse_attention_config": {"sparse_index_dim": 64}},
        {"block_configs": [{}]},
        {"local_layer_ids": [0, 1]},
        {"is_encoder_decoder": True},
        {"kv_lora_rank": 512, "swa_kv_lora_rank": 256},
        {"kv_lora_rank": 512, "index_kpool": 4},
        {"layer_types": ["linear_attention", "sliding_attention"] * 4},
    ],
)
def test_layouts_that_are_not_computed_are_unknown(config: dict[str, Any]) -> None:
    found = geometry("DeepseekV3ForCausalLM", **config)
    assert found["attention"] == "unknown"


def test_recurrent_layers_without_attention_are_unknown() -> None:
    assert read_geometry({"mamba_num_heads": 64, "hidden_size": 4_096})["attention"] == "unknown"


def test_a_kind_of_layer_that_is_not_known_hides_them_all() -> None:
    found = geometry(layer_types=["linear_attention", "novel_attention"] * 4)
    assert layers(found) == ("hybrid", None, None, None, None)


def test_heads_that_a_configuration_hides() -> None:
    assert geometry("FalconForCausalLM", multi_query=True)["kv_heads"] == 1
    assert geometry("DbrxForCausalLM", attn_config={"kv_n_heads": 4})["kv_heads"] == 4


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ({"quant_method": "modelopt", "kv_cache_scheme": {"type": "float", "num_bits": 8}}, "fp8"),
        ({"quant_method": "modelopt_fp4", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt", "kv_cache_scheme": {"type": "float", "num_bits": 4}}, None),
        # Other methods keep their KV cache in the model's own format.
        ({"quant_method": "fp8", "kv_cache_quant_algo": "FP8"}, None),
    ],
)
def test_checkpoints_that_bring_a_kv_format(method: dict[str, Any], expected: str | None) -> None:
    assert geometry(quantization_config=method)["kv_cache_quantization"] == expected


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt_fp8"),
        ({"quant_algo": "NVFP4_AWQ"}, "modelopt_fp4"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "modelopt"),
        ({"quant_method": "modelopt_fp4", "quant_algo": "NVFP4"}, "modelopt_fp4"),
        ({"quant_method": "fp8"}, "fp8"),
        ({}, "unknown"),
    ],
)
def test_methods_have_the_engines_names(method: dict[str, Any], expected: str) -> None:
    assert geometry(quantization_config=method)["quantization"] == expected


def test_layers_that_draft() -> None:
    assert geometry(num_nextn_predict_layers=3)["draft_layers"] == 3
    assert geometry()["draft_layers"] is None

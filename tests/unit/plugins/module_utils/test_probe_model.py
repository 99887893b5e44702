# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Model folders: geometry by configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.model import read_model
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
)


def model_of(folder: Path, config: Any) -> dict[str, Any]:
    """The facts of a real folder with this configuration."""
    (folder / "config.json").write_text(json.dumps(config))
    return read_model(Live(), "model", str(folder))


def test_the_headline_model() -> None:
    model = facts_of("headline")["model"]
    assert model["path"] == "/srv/models/Kimi-K2.5"
    assert model["architecture"] == "KimiK25ForConditionalGeneration"
    assert (model["attention"], model["layers"]) == ("mla", 61)
    assert (model["kv_lora_rank"], model["qk_rope_head_dim"]) == (512, 64)
    assert (model["quantization"], model["dtype"]) == ("compressed-tensors", "bfloat16")
    assert model["context_tokens"] == 262144
    assert model["multimodal"] is True


def test_the_headline_draft() -> None:
    draft = facts_of("headline")["draft"]
    assert (draft["attention"], draft["layers"], draft["kv_heads"]) == ("gqa", 1, 64)
    assert draft["head_dim"] == draft["v_head_dim"] == 128


OWN_FILE = {"producer": {"name": "modelopt"}}
EIGHT_BITS = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}


@pytest.mark.parametrize(
    ("config", "own_file", "expected"),
    [
        ({}, {**OWN_FILE, "quantization": EIGHT_BITS}, ("modelopt_fp8", "fp8")),
        ({}, EIGHT_BITS, ("modelopt_fp8", "fp8")),
        (
            {},
            {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": None}},
            ("modelopt_fp4", None),
        ),
        # Where the configuration speaks for itself the engine does not look any further.
        ({"quantization_config": {"quant_method": "fp8"}}, EIGHT_BITS, ("fp8", None)),
        (
            {"compression_config": {"quant_method": "compressed-tensors"}},
            EIGHT_BITS,
            ("compressed-tensors", None),
        ),
        ({}, {"quantization": "FP8"}, (None, None)),
        ({}, ["FP8"], (None, None)),
    ],
    ids=str,
)
def test_a_checkpoint_may_tell_of_its_quantization_in_a_file_of_its_own(
    tmp_path: Path, config: Any, own_file: Any, expected: tuple[str | None, str | None]
) -> None:
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(own_file))
    model = model_of(tmp_path, {**GQA, **config})
    assert (model["quantization"], model["kv_cache_quantization"]) == expected


GQA = {"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}


@pytest.mark.parametrize(
    ("attention", "config"),
    [
        ("gqa", GQA),
        ("gqa", {"num_attention_heads": 16, "hidden_size": 1024}),
        ("gqa", {**GQA, "sliding_window": 4096, "use_sliding_window": False}),
        ("gqa", {**GQA, "sliding_window": None}),
        ("gqa", {**GQA, "sliding_window": 4096, "layer_types": ["full_attention"] * 4}),
        ("swa", {**GQA, "sliding_window": 4096}),
        (
            "swa",
            {**GQA, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]},
        ),
        ("swa", {**GQA, "attention_chunk_size": 8192}),
        ("swa", {**GQA, "hybrid_layer_pattern": [0, 1, 1]}),
        ("mla", {**GQA, "kv_lora_rank": 512, "qk_rope_head_dim": 64}),
        ("mla", {**GQA, "kv_lora_rank": 512, "index_head_dim": 128}),
        ("hybrid", {**GQA, "layer_types": ["linear_attention", "full_attention"]}),
        ("hybrid", {**GQA, "linear_num_key_heads": 16, "full_attention_interval": 4}),
        ("hybrid", {**GQA, "kv_lora_rank": 512, "linear_attn_config": {"kda_layers": [1]}}),
        ("hybrid", {**GQA, "hybrid_override_pattern": "M-M*"}),
        ("hybrid", {**GQA, "layers_block_type": ["mamba", "attention"]}),
        ("unknown", {}),
        ("unknown", {"model_type": "something_new"}),
    ],
)
def test_kinds_of_attention(tmp_path: Path, attention: str, config: dict[str, Any]) -> None:
    for nested in (config, {"text_config": config}, {"thinker_config": {"text_config": config}}):
        assert model_of(tmp_path, nested)["attention"] == attention


def test_values_that_the_configuration_implies(tmp_path: Path) -> None:
    model = model_of(tmp_path, GQA)
    assert (model["kv_heads"], model["head_dim"], model["v_head_dim"]) == (8, 128, 128)
    model = model_of(tmp_path, {"n_head": 16, "n_embd": 1024, "n_layer": 24})
    assert (model["layers"], model["kv_heads"], model["head_dim"]) == (24, 16, 64)


@pytest.mark.parametrize(
    ("tokens", "scaling"),
    [
        (4096, None),
        (16384, {"type": "linear", "factor": 4.0}),
        (4096, {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}),
        (4096, {"rope_type": "llama3", "factor": 8.0}),
        (4096, "odd"),
    ],
)
def test_the_context_the_engine_derives(tmp_path: Path, tokens: int, scaling: Any) -> None:
    config = {"max_position_embeddings": 4096, "rope_scaling": scaling}
    assert model_of(tmp_path, config)["context_tokens"] == tokens


def test_why_a_model_is_not_there(tmp_path: Path) -> None:
    def reason(path: str) -> Any:
        model = read_model(Live(), "model", path)
        assert (model["present"], model["fingerprint"]) == (False, None)
        return model["reason"]

    assert reason("") == "no model path was given"
    assert reason(f"{tmp_path}/none") == f"there is no folder {tmp_path}/none"
    assert reason(str(tmp_path)) == f"{tmp_path} has no readable config.json"
    (tmp_path / "config.json").write_text("[1]")
    assert reason(str(tmp_path)) == f"{tmp_path}/config.json is not a JSON object"


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": [], "layer_types": None, "quantization_config": "x", "rope_scaling": []},
        {"num_attention_heads": "many", "hidden_size": None, "text_config": "x"},
        {"architectures": "One", "max_position_embeddings": True},
    ],
)
def test_an_odd_configuration_is_unknown_not_an_error(tmp_path: Path, config: Any) -> None:
    assert model_of(tmp_path, config)["layers"] is None

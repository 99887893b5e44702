# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Model folders for the lab, written without torch, numpy or any hub.

Two kinds: tiny ones with random weights that the real engine loads and serves (their text is
gibberish), and copies of the outside of big ones, with sparse files in place of the weights.
"""

from __future__ import annotations

import json
import random
import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base import LAB, cached, key_of, step
from tokenizer import VOCABULARY, write_tokenizer

# Standard deviation of the weights: large enough for a random model to have firm opinions.
SPREAD = 0.2
# lm_head rows that are not zero in the speculative pair. With four tokens to choose from, a
# random draft agrees with a random target about one time in four.
SPOKEN = range(10, 14)


@dataclass(frozen=True)
class Tensor:
    """A weight: its safetensors type (BF16, I64), its shape and its little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass
class Weights:
    """Named tensors, drawn from one seed in the order in which they are asked for."""

    seed: int
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def matrix(self, name: str, rows: int, columns: int, keep: range | None = None) -> None:
        """A random matrix; rows outside `keep` are zero."""
        values = array("f", bytes(4 * rows * columns))
        for row in range(rows):
            if keep is None or row in keep:
                for column in range(columns):
                    values[row * columns + column] = self.random.gauss(0.0, SPREAD)
        self.tensors[name] = Tensor("BF16", (rows, columns), bfloat16(values))

    def ones(self, name: str, length: int) -> None:
        """A vector of ones, as norms begin with."""
        data = bfloat16(array("f", [1.0]) * length)
        self.tensors[name] = Tensor("BF16", (length,), data)

    def zeros(self, name: str, length: int) -> None:
        """A vector of 64-bit zeros."""
        self.tensors[name] = Tensor("I64", (length,), bytes(8 * length))

    def mlp(self, prefix: str, hidden: int, inner: int) -> None:
        """The three matrices of a gated MLP."""
        self.matrix(f"{prefix}.mlp.gate_proj.weight", inner, hidden)
        self.matrix(f"{prefix}.mlp.up_proj.weight", inner, hidden)
        self.matrix(f"{prefix}.mlp.down_proj.weight", hidden, inner)

    def attention(self, prefix: str, inputs: int, hidden: int, heads: int, kv_heads: int) -> None:
        """The four matrices of grouped-query attention, head size 16."""
        self.matrix(f"{prefix}.self_attn.q_proj.weight", heads * 16, inputs)
        self.matrix(f"{prefix}.self_attn.k_proj.weight", kv_heads * 16, inputs)
        self.matrix(f"{prefix}.self_attn.v_proj.weight", kv_heads * 16, inputs)
        self.matrix(f"{prefix}.self_attn.o_proj.weight", hidden, heads * 16)


def bfloat16(values: array[float]) -> bytes:
    """The upper halves of 32-bit floats, rounded to nearest, ties to even."""
    words = array("I", values.tobytes())
    return array("H", ((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words)).tobytes()


def safetensors_header(tensors: dict[str, tuple[str, tuple[int, ...], int]]) -> bytes:
    """The head of a safetensors file: name -> (type, shape, bytes), in the order of the data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def write_safetensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write one file with these tensors."""
    sizes = {name: (t.dtype, t.shape, len(t.data)) for name, t in tensors.items()}
    path.write_bytes(safetensors_header(sizes) + b"".join(t.data for t in tensors.values()))


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_index(path: Path, weight_map: dict[str, str], total_bytes: int) -> None:
    """Write model.safetensors.index.json for tensors spread over several files."""
    index = {"metadata": {"total_size": total_bytes}, "weight_map": weight_map}
    write_json(path / "model.safetensors.index.json", index)


def write_model(path: Path, config: dict[str, Any], weights: Weights, shards: int = 1) -> None:
    """Write a whole model folder; with several shards, whole layers stay together."""
    path.mkdir(parents=True)
    write_json(path / "config.json", config)
    write_json(
        path / "generation_config.json",
        {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")},
    )
    write_tokenizer(path)
    if shards == 1:
        write_safetensors(path / "model.safetensors", weights.tensors)
        return
    names = list(weights.tensors)
    weight_map = {}
    for number in range(shards):
        file = shard_name(number, shards)
        part = names[len(names) * number // shards : len(names) * (number + 1) // shards]
        write_safetensors(path / file, {name: weights.tensors[name] for name in part})
        weight_map.update(dict.fromkeys(part, file))
    write_index(path, weight_map, sum(len(t.data) for t in weights.tensors.values()))


def shard_name(number: int, shards: int) -> str:
    return f"model-{number + 1:05d}-of-{shards:05d}.safetensors"


# Shared by all tiny configurations.
TINY = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "initializer_range": SPREAD,
    "max_position_embeddings": 2048,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "dtype": "bfloat16",
    "use_cache": True,
}


def llama_config(layers: int) -> dict[str, Any]:
    return {
        **TINY,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": layers,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "mlp_bias": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    }


def llama_weights(layers: int, seed: int, spoken: range | None = None) -> Weights:
    weights = Weights(seed)
    weights.matrix("model.embed_tokens.weight", VOCABULARY, 64)
    for layer in range(layers):
        prefix = f"model.layers.{layer}"
        weights.ones(f"{prefix}.input_layernorm.weight", 64)
        weights.attention(prefix, 64, 64, 4, 2)
        weights.ones(f"{prefix}.post_attention_layernorm.weight", 64)
        weights.mlp(prefix, 64, 128)
    weights.ones("model.norm.weight", 64)
    weights.matrix("lm_head.weight", VOCABULARY, 64, spoken)
    return weights


def tiny_gqa(path: Path) -> None:
    """A Llama with two layers and grouped-query attention; 256 B of KV per token at TP 1."""
    write_model(path, llama_config(2), llama_weights(2, seed=1))


def tiny_mla(path: Path) -> None:
    """The shape of DeepSeek-V3 (latent attention, dense, two layers), in two shards."""
    config = {
        **TINY,
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "num_hidden_layers": 2,
        "num_key_value_heads": 4,
        "q_lora_rank": 32,
        "kv_lora_rank": 32,
        "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8,
        "v_head_dim": 16,
        "first_k_dense_replace": 2,
        "moe_intermediate_size": 32,
        "moe_layer_freq": 1,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "n_group": 1,
        "topk_group": 1,
        "num_experts_per_tok": 2,
        "norm_topk_prob": True,
        "routed_scaling_factor": 2.5,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        # SGLang's rotary embedding for the CPU knows DeepSeek's models with YaRN only.
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 512,
        },
    }
    weights = Weights(seed=2)
    weights.matrix("model.embed_tokens.weight", VOCABULARY, 64)
    for layer in range(2):
        prefix = f"model.layers.{layer}"
        weights.ones(f"{prefix}.input_layernorm.weight", 64)
        weights.matrix(f"{prefix}.self_attn.q_a_proj.weight", 32, 64)
        weights.ones(f"{prefix}.self_attn.q_a_layernorm.weight", 32)
        weights.matrix(f"{prefix}.self_attn.q_b_proj.weight", 4 * (16 + 8), 32)
        weights.matrix(f"{prefix}.self_attn.kv_a_proj_with_mqa.weight", 32 + 8, 64)
        weights.ones(f"{prefix}.self_attn.kv_a_layernorm.weight", 32)
        weights.matrix(f"{prefix}.self_attn.kv_b_proj.weight", 4 * (16 + 16), 32)
        weights.matrix(f"{prefix}.self_attn.o_proj.weight", 64, 4 * 16)
        weights.ones(f"{prefix}.post_attention_layernorm.weight", 64)
        weights.mlp(prefix, 64, 128)
    weights.ones("model.norm.weight", 64)
    weights.matrix("lm_head.weight", VOCABULARY, 64)
    write_model(path, config, weights, shards=2)


def tiny_eagle(path: Path) -> None:
    """`target`, a Llama with six layers, and `draft`, an EAGLE-3 head for it."""
    write_model(path / "target", llama_config(6), llama_weights(6, seed=3, spoken=SPOKEN))
    config = {
        **llama_config(1),
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": VOCABULARY,
        "eagle_config": {
            "eagle_aux_hidden_state_layer_ids": [1, 2, 3],
            "use_aux_hidden_state": True,
        },
    }
    weights = Weights(seed=4)
    weights.matrix("fc.weight", 64, 3 * 64)
    weights.ones("midlayer.hidden_norm.weight", 64)
    weights.ones("midlayer.input_layernorm.weight", 64)
    weights.attention("midlayer", 2 * 64, 64, 4, 2)
    weights.ones("midlayer.post_attention_layernorm.weight", 64)
    weights.mlp("midlayer", 64, 128)
    weights.ones("norm.weight", 64)
    weights.matrix("lm_head.weight", VOCABULARY, 64, SPOKEN)
    weights.zeros("d2t", VOCABULARY)
    write_model(path / "draft", config, weights)


# --- outsides of big models ---

KIMI_BYTES = 547 * 10**9
KIMI_SHARDS = 64
KIMI_VOCABULARY = 163840


def kimi(path: Path) -> None:
    """The outside of Kimi-K2.5 in INT4: 547 GB in 64 sparse files that hold only zeros."""
    path.mkdir(parents=True)
    write_json(path / "config.json", json.loads((LAB / "kimi-k2.5.config.json").read_text()))
    write_json(path / "generation_config.json", {"eos_token_id": 163586, "max_length": 262144})
    write_tokenizer(path)
    # One tensor in each shard stands for all of it.
    names = [f"language_model.model.layers.{layer}.weights" for layer in range(61)]
    names += ["language_model.lm_head.weight", "mm_projector.weights", "vision_tower.weights"]
    weight_map = {}
    for number, name in enumerate(names):
        size = KIMI_BYTES * (number + 1) // KIMI_SHARDS - KIMI_BYTES * number // KIMI_SHARDS
        file = shard_name(number, KIMI_SHARDS)
        write_sparse(path / file, name, size)
        weight_map[name] = file
    write_index(path, weight_map, KIMI_BYTES)


def kimi_eagle3(path: Path) -> None:
    """The outside of an EAGLE-3 draft for it, whose KV is 4,096 B per token and rank at TP 8.

    2 (K and V) x 64 heads / 8 ranks x 128 dimensions x 2 bytes x 1 layer.
    """
    path.mkdir(parents=True)
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "num_hidden_layers": 1,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "head_dim": 128,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 262144,
        "vocab_size": KIMI_VOCABULARY,
        "draft_vocab_size": 32000,
        "bos_token_id": 163584,
        "eos_token_id": 163586,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
        "eagle_config": {
            "eagle_aux_hidden_state_layer_ids": [1, 29, 57],
            "use_aux_hidden_state": True,
        },
    }
    write_json(path / "config.json", config)
    write_sparse(path / "model.safetensors", "midlayer.weights", 6 * 10**9)


def write_sparse(path: Path, name: str, size: int) -> None:
    """A safetensors file with one tensor of `size` bytes that takes no room on the disk."""
    header = safetensors_header({name: ("U8", (size,), size)})
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + size)


MODELS: dict[str, Callable[[Path], None]] = {
    "tiny-gqa": tiny_gqa,
    "tiny-mla": tiny_mla,
    "tiny-eagle": tiny_eagle,
    "kimi-k2.5": kimi,
    "kimi-k2.5-eagle3": kimi_eagle3,
}


def models() -> Path:
    """The folder that holds every model of MODELS under its name.

    Copy the big ones with `cp --sparse=always` only: other ways write 547 GB of zeros.
    """

    def fill(path: Path) -> None:
        with step("writing the models"):
            for name, write in MODELS.items():
                write(path / name)

    sources = [LAB / name for name in ("models.py", "tokenizer.py", "kimi-k2.5.config.json")]
    return cached("models", key_of(*sources), fill)

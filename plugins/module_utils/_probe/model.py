# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model folder: its geometry, its weights and whether they are all there.

This module util is private to the llmops.sglang collection.

Only config.json, the safetensors index and the header of each shard are read, never a weight.
"""

from __future__ import annotations

import hashlib
import json
import re
import typing as t

from .source import Source, parse_json

Facts = dict[str, t.Any]

MAX_NAMED = 5
_INDEX = "model.safetensors.index.json"
# Where multimodal models keep the configuration of their language model.
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
_LINEAR_KEYS = (
    "linear_attn_config",
    "linear_num_key_heads",
    "hybrid_override_pattern",
    "layers_block_type",
    "ssm_cfg",
    "mamba_d_state",
    "mamba_num_heads",
    "attn_layer_indices",
    "full_attention_interval",
)
_WINDOW_KEYS = (
    "hybrid_layer_pattern",
    "attention_chunk_size",
    "sliding_window_size",
    "sliding_window_pattern",
)
_CONTEXT_KEYS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)


def read_model(source: Source, part: str, path: str) -> Facts:
    """The C(model) or C(draft) part of the facts."""
    folder = source.folder(part, path)
    text = source.read_text(f"{folder}/config.json")
    config = parse_json(text)
    facts: Facts = {"path": path, "present": isinstance(config, dict), "reason": None}
    if not isinstance(config, dict):
        facts["reason"] = _absence(source, folder, path, text)
        config = {}
    facts.update(_geometry(config))
    index = source.read_text(f"{folder}/{_INDEX}")
    sizes = source.sizes(folder)
    facts.update(_weights(source, folder, parse_json(index), sizes))
    known = facts["present"]
    facts["fingerprint"] = _fingerprint(text or "", index or "", sizes) if known else None
    return facts


def _absence(source: Source, folder: str, path: str, text: str | None) -> str:
    if not path and source.origin == "live":
        return "no model path was given"
    if text is not None:
        return f"{path}/config.json is not a JSON object"
    if source.exists(folder):
        return f"{path} has no readable config.json"
    return f"there is no folder {path}"


# --- geometry ------------------------------------------------------------------------------------


def _geometry(config: Facts) -> Facts:
    """What the engine sizes its pools by. None where the configuration does not say."""
    inner = _language_config(config)

    def number(*names: str) -> int | None:
        for name in names:
            value = inner.get(name, config.get(name))
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    heads = number("num_attention_heads", "n_head")
    hidden = number("hidden_size", "n_embd")
    kv_rank = number("kv_lora_rank")
    kv_heads = number("num_key_value_heads", "num_kv_heads", "multi_query_group_num") or heads
    head_dim = number("head_dim")
    if head_dim is None and kv_rank is None and heads and hidden:
        head_dim = hidden // heads
    architectures = config.get("architectures") or inner.get("architectures") or [None]
    return {
        "architecture": architectures[0] if isinstance(architectures, list) else None,
        "model_type": config.get("model_type"),
        "attention": _attention(inner, heads, kv_rank),
        "layers": number("num_hidden_layers", "n_layer", "num_layers"),
        "hidden_size": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "v_head_dim": number("v_head_dim") or (head_dim if kv_rank is None else None),
        "kv_lora_rank": kv_rank,
        "qk_rope_head_dim": number("qk_rope_head_dim"),
        "index_head_dim": number("index_head_dim"),
        "dtype": _first(inner, config, "dtype", "torch_dtype"),
        "quantization": _quantization(config, inner),
        "context_tokens": _context(inner),
        "vocab_size": number("vocab_size"),
        "multimodal": any(name in config for name in ("vision_config", "audio_config")),
    }


def _language_config(config: Facts) -> Facts:
    """The part that describes the language model: nested in multimodal models, sometimes twice."""
    for name in _NESTED:
        nested = config.get(name)
        if isinstance(nested, dict) and "num_hidden_layers" not in config:
            return _language_config(nested)
    return config


def _attention(inner: Facts, heads: int | None, kv_rank: int | None) -> str:
    """How keys and values are kept. What is not recognised is unknown, never a guess."""
    kinds = {str(kind) for kind in inner.get("layer_types") or ()}
    linear = any("linear" in kind or "mamba" in kind or "recurrent" in kind for kind in kinds)
    if linear or any(inner.get(name) for name in _LINEAR_KEYS):
        return "hybrid"
    if kv_rank is not None:
        return "mla"
    window = bool(inner.get("sliding_window")) and inner.get("use_sliding_window") is not False
    local = any("sliding" in kind or "chunked" in kind for kind in kinds)
    if local or (window and not kinds) or any(inner.get(name) for name in _WINDOW_KEYS):
        return "swa"
    return "gqa" if heads else "unknown"


def _first(inner: Facts, config: Facts, *names: str) -> str | None:
    for name in names:
        for place in (inner, config):
            if isinstance(place.get(name), str):
                return str(place[name]).replace("torch.", "")
    return None


def _quantization(config: Facts, inner: Facts) -> str | None:
    for place in (config, inner):
        for name in ("quantization_config", "compression_config"):
            method = place.get(name)
            if isinstance(method, dict):
                return str(method.get("quant_method") or method.get("quant_algo") or "unknown")
    return None


def _context(inner: Facts) -> int | None:
    """The context the engine derives: the configured one, stretched by a rope factor that is not
    already counted in it."""
    scaling = inner.get("rope_scaling") or {}
    factor: t.Any = 1
    if isinstance(scaling, dict) and "original_max_position_embeddings" not in scaling:
        kind = scaling.get("rope_type", scaling.get("type"))
        factor = 1 if kind == "llama3" else scaling.get("factor", 1)
    for name in _CONTEXT_KEYS:
        value = inner.get(name)
        if isinstance(value, int) and isinstance(factor, (int, float)):
            return int(value * factor)
    return None


# --- weights -------------------------------------------------------------------------------------


def _weights(source: Source, folder: str, index: t.Any, sizes: dict[str, int] | None) -> Facts:
    """What the index wants against what is there."""
    wanted, declared = _indexed(index)
    there = sizes or {}
    if not wanted:
        wanted = _loose(there)
    missing = [name for name in wanted if name not in there] if sizes is not None else []
    truncated = [
        name
        for name in wanted
        if name in there and _is_truncated(source, f"{folder}/{name}", there[name])
    ]
    total = sum(there[name] for name in wanted if name in there)
    whole = sizes is not None and wanted and not missing
    return {
        "weights_bytes": total if whole else declared,
        "weights_files": len(wanted),
        "missing_files": missing[:MAX_NAMED],
        "missing_count": len(missing),
        "truncated_files": truncated[:MAX_NAMED],
    }


def _indexed(index: t.Any) -> tuple[list[str], int | None]:
    """The shards the index names, and the bytes it promises."""
    if not isinstance(index, dict):
        return [], None
    names = index.get("weight_map")
    metadata = index.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    shards = sorted({str(name) for name in names.values()}) if isinstance(names, dict) else []
    return shards, int(size) if isinstance(size, (int, float)) else None


def _loose(there: dict[str, int]) -> list[str]:
    """The weight files of a folder without an index, as the engine picks them."""
    for ending in (".safetensors", ".bin", ".pt", ".gguf"):
        names = [
            name
            for name in sorted(there)
            if name.endswith(ending) and not name.startswith("consolidated")
        ]
        if names:
            return names
    return []


def _is_truncated(source: Source, path: str, size: int) -> bool:
    """Whether a safetensors file is smaller than its own header says: eight bytes with the length
    of the header, the header as JSON, then the tensors up to the largest end offset."""
    if not path.endswith(".safetensors"):
        return False
    start = source.read_head(path, 0, 8)
    if start is None:
        return False
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length + 8 > size:
        return True
    header = source.read_head(path, 8, length) or b""
    ends = re.findall(rb'"data_offsets"\s*:\s*\[\s*\d+\s*,\s*(\d+)', header)
    return 8 + length + max((int(end) for end in ends), default=0) > size


def _fingerprint(config: str, index: str, sizes: dict[str, int] | None) -> str:
    """Names the content of a folder: another model, index or size gives another word."""
    files = json.dumps(sorted((sizes or {}).items()))
    return hashlib.sha256(f"{config}\0{index}\0{files}".encode()).hexdigest()[:16]

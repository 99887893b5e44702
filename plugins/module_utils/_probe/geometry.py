# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry of a model: what its config.json says about the size of its KV cache.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import typing as t

from .._engine.architectures import keeps_latents
from .layers import (
    BOTH,
    FULL,
    STATE,
    WINDOW,
    has_window,
    index_layers,
    is_recurrent,
    layer_kinds,
    state_shape,
)

Facts = dict[str, t.Any]

# Where multimodal models keep the configuration of their language model.
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
# Keys of models whose KV cache is laid out in a way that is not computed here.
_OTHER_LAYOUTS = (
    "compress_ratios",
    "sparse_attention_config",
    "block_configs",
    "local_layer_ids",
    "swa_kv_lora_rank",
    "is_encoder_decoder",
)
_KV_HEADS = (
    "n_head_kv",
    "num_kv_heads",
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
)
# Attention layers in each layer of a model, where there is more than one.
_LAYERS_EACH = {"LongcatFlashForCausalLM": 2}
_WINDOW_TOKENS = ("sliding_window_size", "sliding_window", "window_size", "attention_chunk_size")
_CONTEXT_KEYS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)


def read_geometry(config: Facts) -> Facts:
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
    layers = number("num_hidden_layers", "n_layer", "num_layers")
    head_dim = number("head_dim")
    if head_dim is None and kv_rank is None and heads and hidden:
        head_dim = hidden // heads
    architecture = _architecture(config, inner)
    kinds = layer_kinds(inner, architecture, layers)
    facts = {
        "architecture": architecture,
        "model_type": config.get("model_type"),
        "attention": _attention(inner, architecture, kinds, heads),
        "layers": layers,
        "hidden_size": hidden,
        "heads": heads,
        "kv_heads": _kv_heads(inner, number(*_KV_HEADS) or heads),
        "head_dim": head_dim,
        "v_head_dim": number("v_head_dim") or (head_dim if kv_rank is None else None),
        "q_lora_rank": number("q_lora_rank"),
        "kv_lora_rank": kv_rank,
        "qk_nope_head_dim": number("qk_nope_head_dim"),
        "qk_rope_head_dim": number("qk_rope_head_dim"),
        "index_head_dim": number("index_head_dim"),
        "index_layers": index_layers(inner, layers),
        "draft_layers": number("num_nextn_predict_layers"),
        "dtype": _first(inner, config, "dtype", "torch_dtype"),
        "quantization": _quantization(config, inner),
        "kv_cache_quantization": _kv_cache_quantization(config, inner),
        "context_tokens": _context(inner),
        "vocab_size": number("vocab_size"),
        "multimodal": any(name in config for name in ("vision_config", "audio_config")),
    }
    return {**facts, **_layer_counts(facts, kinds), **_window(inner, facts), **state_shape(inner)}


def _architecture(config: Facts, inner: Facts) -> str | None:
    named = config.get("architectures") or inner.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else None


def _kv_heads(inner: Facts, plain: int | None) -> int | None:
    """Heads of keys and values where a configuration hides them, else C(plain)."""
    if inner.get("multi_query") is True and not inner.get("new_decoder_architecture"):
        return 1
    nested = inner.get("attn_config")
    hidden = nested.get("kv_n_heads") if isinstance(nested, dict) else None
    return hidden if isinstance(hidden, int) else plain


def _layer_counts(facts: Facts, kinds: str | None) -> Facts:
    """How many layers have which kind of cache; None where all keep the full context."""
    layers = facts["layers"]
    each = _LAYERS_EACH.get(facts["architecture"], 1)
    counts: tuple[int | None, int | None, int | None] = (None, None, None)
    if kinds is not None:
        counts = (
            kinds.count(FULL) + kinds.count(BOTH),
            kinds.count(WINDOW) or None,
            (kinds.count(STATE) + kinds.count(BOTH)) or None,
        )
    elif layers and facts["attention"] in ("mla", "gqa"):
        counts = (layers * each, None, None)
    names = ("kv_layers", "swa_layers", "state_layers")
    return {"layer_kinds": kinds, **dict(zip(names, counts))}


def _window(inner: Facts, facts: Facts) -> Facts:
    """The sliding window and the heads of the layers that have one."""
    if facts["attention"] != "swa":
        names = ("sliding_window", "swa_kv_heads", "swa_head_dim", "swa_v_head_dim")
        return dict.fromkeys(names)
    window = next((inner[name] for name in _WINDOW_TOKENS if inner.get(name)), None)
    found: Facts = {"sliding_window": window}
    if inner.get("global_head_dim"):
        # Gemma 4 states its sliding-window heads first, and those of full layers apart.
        base = facts["head_dim"]
        found.update(swa_kv_heads=facts["kv_heads"], swa_head_dim=base, swa_v_head_dim=base)
        found["head_dim"] = found["v_head_dim"] = inner["global_head_dim"]
        found["kv_heads"] = inner.get("num_global_key_value_heads") or facts["kv_heads"]
        return found
    other = inner.get("attention_other_setting")
    groups = other.get("num_attention_groups") if isinstance(other, dict) else None
    head_dim = inner.get("swa_head_dim") or facts["head_dim"]
    found["swa_kv_heads"] = inner.get("swa_num_key_value_heads") or groups or facts["kv_heads"]
    found["swa_head_dim"] = head_dim
    # Without a width of their own, values are as wide as the keys of the same layers.
    found["swa_v_head_dim"] = inner.get("swa_v_head_dim") or head_dim
    return found


def _language_config(config: Facts) -> Facts:
    """The part that describes the language model: nested in multimodal models, sometimes twice."""
    for name in _NESTED:
        nested = config.get(name)
        if isinstance(nested, dict) and "num_hidden_layers" not in config:
            return _language_config(nested)
    return config


def _attention(inner: Facts, architecture: str | None, kinds: str | None, heads: int | None) -> str:
    """How keys and values are kept. What is not recognised is unknown, never a guess."""
    if any(inner.get(name) for name in _OTHER_LAYOUTS) or inner.get("index_kpool", 1) != 1:
        return "unknown"
    if kinds and (STATE in kinds or BOTH in kinds):
        return "unknown" if WINDOW in kinds else "hybrid"
    if is_recurrent(inner):
        return "hybrid" if heads else "unknown"
    if inner.get("kv_lora_rank") is not None:
        return "mla" if keeps_latents(architecture) else "unknown"
    if has_window(inner, kinds):
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
                return _method(method)
    return None


def _method(quantization: Facts) -> str:
    """The engine's name of a method; ModelOpt tells one of its own by the algorithm alone."""
    named, algorithm = quantization.get("quant_method"), str(quantization.get("quant_algo") or "")
    if named in (None, "modelopt") and (algorithm == "FP8" or "FP4" in algorithm):
        return "modelopt_fp8" if algorithm == "FP8" else "modelopt_fp4"
    return str(named or algorithm or "unknown")


def _kv_cache_quantization(config: Facts, inner: Facts) -> str | None:
    """The KV format that a checkpoint brings along: C(fp8), or None."""
    for place in (config, inner):
        method = place.get("quantization_config")
        if not isinstance(method, dict) or not _method(method).startswith("modelopt"):
            continue
        scheme = method.get("kv_cache_scheme")
        eight = isinstance(scheme, dict) and (scheme.get("type"), scheme.get("num_bits")) == (
            "float",
            8,
        )
        if eight or str(method.get("kv_cache_quant_algo")).upper() == "FP8":
            return "fp8"
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

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The layers of a model one by one: which of them keep tokens, a window of them, or a state.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import typing as t

Facts = dict[str, t.Any]

FULL, WINDOW, STATE, BOTH, NONE = "f", "s", "r", "b", "-"
"""A layer keeps the whole context, a sliding window of it, a recurrent state, context and state,
or nothing."""

_NAMED = {
    "full_attention": FULL,
    "attention": FULL,
    "sliding_attention": WINDOW,
    "chunked_attention": WINDOW,
    "linear_attention": STATE,
    "mamba": STATE,
    "recurrent": STATE,
    "conv": STATE,
    "short_conv": STATE,
    "mlp": NONE,
    "moe": NONE,
}
_LETTERS = {"M": STATE, "*": FULL, "-": NONE, "E": NONE}
_RECURRENT_KEYS = (
    "linear_attn_config",
    "linear_num_key_heads",
    "hybrid_override_pattern",
    "layers_block_type",
    "ssm_cfg",
    "mamba_d_state",
    "mamba_num_heads",
    "attn_layer_indices",
    "full_attention_interval",
    "mixer_types",
)
_WINDOW_KEYS = (
    "hybrid_layer_pattern",
    "attention_chunk_size",
    "sliding_window_size",
    "sliding_window_pattern",
)


def is_recurrent(inner: Facts) -> bool:
    """Whether some layers keep a state, even where it is not told which."""
    kinds = [str(kind) for kind in inner.get("layer_types") or ()]
    named = any(word in kind for kind in kinds for word in ("linear", "mamba", "recurrent"))
    return named or any(inner.get(name) for name in _RECURRENT_KEYS)


def has_window(inner: Facts, kinds: str | None) -> bool:
    """Whether some layers keep a sliding window only."""
    if kinds is not None:
        return WINDOW in kinds
    if inner.get("layer_types"):
        return False
    window = bool(inner.get("sliding_window")) and inner.get("use_sliding_window") is not False
    return window or any(inner.get(name) for name in _WINDOW_KEYS)


def layer_kinds(inner: Facts, architecture: str | None, layers: int | None) -> str | None:
    """One letter per layer; None where all keep the whole context, or where it is not told."""
    kinds = _listed(inner, layers) or _periodic(inner, architecture, layers)
    return None if kinds is None or set(kinds) == {FULL} else kinds


def _listed(inner: Facts, layers: int | None) -> str | None:
    """Kinds that the configuration lists layer by layer."""
    for name in ("layer_types", "layers_block_type"):
        listed = inner.get(name)
        if isinstance(listed, list) and listed:
            letters = [_NAMED.get(str(kind)) for kind in listed[:layers]]
            return None if None in letters else "".join(str(letter) for letter in letters)
    pattern = inner.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern and set(pattern) <= set(_LETTERS):
        return "".join(_LETTERS[letter] for letter in pattern)
    flags = inner.get("hybrid_layer_pattern")
    if isinstance(flags, list) and flags:
        return "".join(WINDOW if flag == 1 else FULL for flag in flags[:layers])
    return _numbered(inner.get("linear_attn_config"), layers)


def _numbered(linear: t.Any, layers: int | None) -> str | None:
    """Kinds of a model that numbers its recurrent layers, beginning with 1."""
    numbers = linear.get("kda_layers") if isinstance(linear, dict) else None
    if not isinstance(numbers, list) or not layers:
        return None
    return "".join(STATE if layer in numbers else FULL for layer in range(1, layers + 1))


def _periodic(inner: Facts, architecture: str | None, layers: int | None) -> str | None:
    """Kinds of a model in which each n-th layer keeps the whole context."""
    if not layers:
        return None
    if inner.get("mamba_d_ssm") or architecture == "FalconH1ForCausalLM":
        return BOTH * layers
    other, period = STATE, inner.get("full_attention_interval") or inner.get("layer_group_size")
    if not period:
        other, period = WINDOW, inner.get("sliding_window_pattern")
    if not period and inner.get("attention_chunk_size"):
        period = 4
    if not isinstance(period, int) or period < 1:
        return None
    return "".join(other if layer % period else FULL for layer in range(1, layers + 1))


def index_layers(inner: Facts, layers: int | None) -> int | None:
    """Layers of a sparse model that choose tokens themselves instead of sharing a choice."""
    if not layers or not inner.get("index_head_dim"):
        return None
    types, pattern = inner.get("indexer_types"), inner.get("index_topk_pattern")
    every = inner.get("index_topk_freq") or 1
    first = inner.get("index_skip_topk_offset") or 2
    if isinstance(types, list):
        return layers - types[:layers].count("shared")
    if isinstance(pattern, str):
        return layers - pattern[:layers].count("S")
    return sum(max(layer - first + 1, 0) % every == 0 for layer in range(layers))


def state_shape(inner: Facts) -> Facts:
    """Elements of the state of one recurrent layer, over all ranks, as the engine shapes it.

    C(state_elements) is the recurrent state; C(state_conv_elements) the window of the convolution
    before it, without C(state_groups) groups of C(state_group_elements) each, which are repeated
    where the ranks outnumber them. All None for a model without such layers.
    """
    shape = _delta_rule(inner) or _kda(inner) or _mamba(inner) or _other_states(inner)
    names = ("state_elements", "state_conv_elements", "state_groups", "state_group_elements")
    dtype = inner.get("mamba_ssm_dtype") if shape else None
    return {**dict(zip(names, shape or (None,) * 4)), "state_dtype": dtype}


Shape = tuple[int, int, int, int]


def _delta_rule(inner: Facts) -> Shape | None:
    """Gated delta rule: keys and queries in groups, one group per key head."""
    key_heads, heads = inner.get("linear_num_key_heads"), inner.get("linear_num_value_heads")
    key_dim, dim = inner.get("linear_key_head_dim"), inner.get("linear_value_head_dim")
    if not (key_heads and heads and key_dim and dim):
        return None
    window = int(inner.get("linear_conv_kernel_dim") or 4) - 1
    return heads * dim * key_dim, heads * dim * window, key_heads, 2 * key_dim * window


def _kda(inner: Facts) -> Shape | None:
    """Kimi delta attention: three projections of the same width go through the convolution."""
    linear = inner.get("linear_attn_config")
    if isinstance(linear, dict):
        heads, dim = linear.get("num_heads"), linear.get("head_dim")
        kernel = linear.get("short_conv_kernel_size") or 4
    else:
        heads, dim = inner.get("num_attention_heads"), inner.get("head_dim")
        kernel = inner.get("short_conv_kernel_size")
    if not (heads and dim and kernel):
        return None
    return heads * dim * dim, 3 * heads * dim * (kernel - 1), 0, 0


def _mamba(inner: Facts) -> Shape | None:
    """Mamba 2, under either of the two families of names."""
    heads = inner.get("mamba_num_heads") or inner.get("mamba_n_heads")
    state = inner.get("ssm_state_size") or inner.get("mamba_d_state")
    if not (heads and state):
        return None
    width = inner.get("mamba_d_ssm") or _mamba_width(inner, heads)
    groups = inner.get("n_groups") or inner.get("mamba_n_groups") or 1
    kernel = inner.get("conv_kernel") or inner.get("mamba_d_conv") or 4
    if not width:
        return None
    return width * state, width * (kernel - 1), groups, 2 * state * (kernel - 1)


def _mamba_width(inner: Facts, heads: int) -> int | None:
    head_dim = inner.get("mamba_head_dim") or inner.get("mamba_d_head")
    if isinstance(head_dim, int):
        return heads * head_dim
    expand, hidden = inner.get("mamba_expand"), inner.get("hidden_size")
    return int(expand * hidden) if expand and hidden else None


def _other_states(inner: Facts) -> Shape | None:
    """Lightning attention has no convolution, and a short convolution has no state."""
    heads, dim, hidden = (
        inner.get(name) for name in ("num_attention_heads", "head_dim", "hidden_size")
    )
    if inner.get("layer_group_size") and heads and dim:
        return heads * dim * dim, 0, 0, 0
    if inner.get("conv_L_cache") and hidden:
        return 0, hidden * (inner["conv_L_cache"] - 1), 0, 0
    return None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes that one token, or the state of one request, takes in each pool of one rank.

Private to the collection. Pure arithmetic on a model's geometry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._engine.kv_format import KvFormat

Model = Mapping[str, Any]

# Packed 8-bit row of a sparse (DSA) model: 512 latent bytes, 4 scales of 4 bytes, 64 rope
# elements of 2 bytes; the scales cover 128 elements each.
_DSA_SCALE_BLOCK = 128
_DSA_SCALE_BYTES = 4
_DSA_ROPE_BYTES = 2
# Letters of layer_kinds: layers that keep the whole context, a window of it, a state.
_FULL, _WINDOW, _STATE = "fb", "s", "rb"


@dataclass(frozen=True)
class Layout:
    """How an engine spreads and stores the cache of a model.

    `stages` are the layers of each pipeline stage, where they were given; otherwise `pp` stages
    share them evenly. `window_pool`: sliding-window layers have a pool of their own.
    `packed_rows`: 8-bit rows of a sparse model carry scales. `compact_index`: layers that share
    the choice of another keep no index keys.
    """

    format: KvFormat
    attention_tp: int = 1
    pp: int = 1
    stages: tuple[int, ...] = ()
    window_pool: bool = True
    packed_rows: bool = True
    compact_index: bool = False
    conv_bytes: int = 2
    state_bytes: int = 4


@dataclass(frozen=True)
class TokenBytes:
    """Bytes on one rank: per token in the pool of layers that keep the whole context, per token
    of a sparse model's index keys, per token in the pool of sliding-window layers, and per
    request slot in the pool of recurrent states. `layers` keep the whole context.
    """

    kv: int
    indexer: int
    layers: int
    window: int = 0
    state: int = 0

    @property
    def device(self) -> int:
        """Bytes per token of the device pool that holds the whole context."""
        return self.kv + self.indexer


def token_bytes(model: Model, layout: Layout) -> TokenBytes | None:
    """Bytes on the rank that holds most, or None when the geometry is not computed.

    MLA keeps one latent per token on every rank, whatever the tensor parallelism. MHA and GQA
    split the heads, but each rank keeps at least one. A pipeline stage holds its own layers.
    """
    kinds = _kinds(model, layout)
    row = _row(model, layout)
    window = _window_row(model, layout) if kinds and _count(kinds, _WINDOW) else 0
    state = _state(model, layout) if kinds and _count(kinds, _STATE) else 0
    if not kinds or row is None or window is None or state is None:
        return None
    index = _index_row(model)
    found = [
        TokenBytes(
            kv=row * _count(stage, _FULL),
            indexer=index * _index_layers(model, layout, _count(stage, _FULL)),
            layers=_count(stage, _FULL),
            window=window * _count(stage, _WINDOW),
            state=state * _count(stage, _STATE),
        )
        for stage in _stages(kinds, layout)
    ]
    most = max(found, key=lambda stage: stage.device + stage.window)
    # The engine charges the largest share of states on every stage.
    states = max(stage.state for stage in found)
    return TokenBytes(most.kv, most.indexer, most.layers, most.window, states)


def _kinds(model: Model, layout: Layout) -> str | None:
    """One letter per attention layer, None where a layer's kind is not known."""
    kinds, attention = model.get("layer_kinds"), model.get("attention")
    if attention == "swa" and not layout.window_pool:
        return "f" * int(model.get("layers") or 0)
    if attention in ("mla", "gqa"):
        return "f" * int(model.get("kv_layers") or model.get("layers") or 0)
    return str(kinds) if kinds and attention in ("swa", "hybrid") else None


def _count(kinds: str, letters: str) -> int:
    return sum(kinds.count(letter) for letter in letters)


def _stages(kinds: str, layout: Layout) -> list[str]:
    """The layers of each stage: as given, else shared evenly, the last ones taking the rest."""
    sizes = layout.stages
    if len(sizes) != layout.pp or sum(sizes) != len(kinds):
        base, rest = divmod(len(kinds), layout.pp)
        sizes = tuple(base + (stage >= layout.pp - rest) for stage in range(layout.pp))
    ends = [sum(sizes[: stage + 1]) for stage in range(len(sizes))]
    return [kinds[end - size : end] for size, end in zip(sizes, ends)]


def _row(model: Model, layout: Layout) -> int | None:
    """Bytes of one token in one layer that keeps the whole context."""
    if model.get("kv_lora_rank"):
        return _latent_row(model, layout)
    if model.get("attention") == "mla":
        return None
    heads, width = model.get("kv_heads") or model.get("heads"), _head_dim(model)
    if not heads or not width:
        return None
    return _heads_row(heads, width, model.get("v_head_dim") or width, layout)


def _latent_row(model: Model, layout: Layout) -> int | None:
    latent, rope = model.get("kv_lora_rank"), model.get("qk_rope_head_dim")
    if not latent or rope is None:
        return None
    if model.get("index_head_dim") and layout.format.is_8_bit and layout.packed_rows:
        return int(latent) + _scales(int(latent)) + int(rope) * _DSA_ROPE_BYTES
    return layout.format.size(int(latent) + int(rope))


def _window_row(model: Model, layout: Layout) -> int | None:
    """Bytes of one token in one sliding-window layer."""
    heads = model.get("swa_kv_heads") or model.get("kv_heads") or model.get("heads")
    width = model.get("swa_head_dim") or _head_dim(model)
    if not heads or not width:
        return None
    return _heads_row(heads, width, model.get("swa_v_head_dim") or width, layout)


def _heads_row(heads: int, width: int, v_width: int, layout: Layout) -> int:
    per_rank = max(1, int(heads) // layout.attention_tp)
    return layout.format.size(per_rank * (int(width) + int(v_width)))


def _head_dim(model: Model) -> int:
    """Head width as the config states it, else hidden size over heads; 0 when unknown."""
    if model.get("head_dim"):
        return int(model["head_dim"])
    hidden, heads = model.get("hidden_size"), model.get("heads")
    return int(hidden) // int(heads) if hidden and heads else 0


def _index_row(model: Model) -> int:
    """Bytes of one token's index keys in one layer: 8 bits whatever the KV format."""
    elements = int(model.get("index_head_dim") or 0)
    return elements + _scales(elements)


def _index_layers(model: Model, layout: Layout, layers: int) -> int:
    """Layers with index keys of their own; which stage they are on is not known, so all there."""
    own = model.get("index_layers")
    return min(int(own), layers) if own and layout.compact_index and layout.pp == 1 else layers


def _scales(elements: int) -> int:
    return elements // _DSA_SCALE_BLOCK * _DSA_SCALE_BYTES


def _state(model: Model, layout: Layout) -> int | None:
    """Bytes of one request's state in one recurrent layer.

    Groups of the convolution are repeated where the ranks do not divide them.
    """
    names = ("state_elements", "state_conv_elements", "state_groups", "state_group_elements")
    values = [model.get(name) for name in names]
    if None in values:
        return None
    state, conv, groups, group = (int(value or 0) for value in values)
    ranks = layout.attention_tp
    groups = groups if groups % ranks == 0 else ranks
    conv = (conv + groups * group) // ranks
    return conv * layout.conv_bytes + state // ranks * layout.state_bytes

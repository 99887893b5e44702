# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes that one token takes in each KV pool of one rank.

Private to the collection. Pure arithmetic on a model's geometry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Packed 8-bit row of a sparse (DSA) model: 512 latent bytes, 4 scales of 4 bytes, 64 rope
# elements of 2 bytes; the scales cover 128 elements each.
_DSA_SCALE_BLOCK = 128
_DSA_SCALE_BYTES = 4
_DSA_ROPE_BYTES = 2


@dataclass(frozen=True)
class TokenBytes:
    """Bytes per token on one rank: attention KV of the model's layers, and its indexer keys."""

    kv: int
    indexer: int
    layers: int

    @property
    def device(self) -> int:
        """Bytes per token of the device pool."""
        return self.kv + self.indexer


def token_bytes(
    model: Mapping[str, Any], attention_tp: int, pp_size: int, element_bytes: int
) -> TokenBytes | None:
    """Bytes per token on the rank that holds most, or None when the geometry is not computed.

    MLA keeps one latent per token on every rank, whatever the tensor parallelism. MHA and GQA
    split the heads, but each rank keeps at least one. A pipeline stage holds its share of layers.
    Sliding-window and state-space hybrids have pools of several kinds, whose sizes a config does
    not tell by itself: they are not computed.
    """
    layers = model.get("layers")
    if not layers:
        return None
    stage_layers = -(-int(layers) // pp_size)
    attention = model.get("attention")
    if attention == "mla":
        return _mla(model, stage_layers, element_bytes)
    if attention == "gqa":
        return _gqa(model, stage_layers, attention_tp, element_bytes)
    return None


def _mla(model: Mapping[str, Any], layers: int, element_bytes: int) -> TokenBytes | None:
    latent, rope = model.get("kv_lora_rank"), model.get("qk_rope_head_dim")
    if not latent or not rope:
        return None
    index_dim = int(model.get("index_head_dim") or 0)
    row = (int(latent) + int(rope)) * element_bytes
    if index_dim and element_bytes == 1:
        row = int(latent) + _scales(int(latent)) + int(rope) * _DSA_ROPE_BYTES
    indexer = (index_dim + _scales(index_dim)) * layers
    return TokenBytes(kv=row * layers, indexer=indexer, layers=layers)


def _scales(elements: int) -> int:
    return elements // _DSA_SCALE_BLOCK * _DSA_SCALE_BYTES


def _gqa(
    model: Mapping[str, Any], layers: int, attention_tp: int, element_bytes: int
) -> TokenBytes | None:
    heads = model.get("kv_heads") or model.get("heads")
    head_dim = _head_dim(model)
    if not heads or not head_dim:
        return None
    per_rank = max(1, int(heads) // attention_tp)
    width = head_dim + int(model.get("v_head_dim") or head_dim)
    return TokenBytes(kv=per_rank * width * layers * element_bytes, indexer=0, layers=layers)


def _head_dim(model: Mapping[str, Any]) -> int:
    """Head width as the config states it, else hidden size over heads; 0 when unknown."""
    if model.get("head_dim"):
        return int(model["head_dim"])
    hidden, heads = model.get("hidden_size"), model.get("heads")
    return int(hidden) // int(heads) if hidden and heads else 0

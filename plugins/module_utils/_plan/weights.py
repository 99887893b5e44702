# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes of weights on one rank, from the files of a checkpoint in whatever format they are.

Private to the collection. Pure arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .attention import ELEMENT_BYTES, shared_attention_bytes
from .setting import Parallel

# Checkpoints in four bits keep the projections of latent models in sixteen.


def rank_weights(model: Mapping[str, Any], parallel: Parallel) -> int | None:
    """Bytes of one rank, None when the size of the checkpoint is unknown.

    Tensor parallelism splits all but the projections into the latent space, which each rank of a
    stage holds whole; data-parallel attention splits the attention among fewer ranks.
    """
    total = model.get("weights_bytes")
    if not total:
        return None
    whole = _latent_projections(model)
    split = (int(total) - whole) // parallel.world + whole // parallel.pp
    heads = (shared_attention_bytes(model) or 0) // parallel.pp
    return split + heads // parallel.attention_tp - heads // parallel.tp


def _latent_projections(model: Mapping[str, Any]) -> int:
    """Bytes of the projections into the latent space; 0 where their shape is unknown."""
    names = ("layers", "hidden_size", "q_lora_rank", "kv_lora_rank", "qk_rope_head_dim")
    if any(not model.get(name) for name in names):
        return 0
    layers, hidden, query, latent, rope = (int(model[name]) for name in names)
    element = ELEMENT_BYTES.get(str(model.get("quantization")), 2)
    return layers * hidden * (query + latent + rope) * element

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attention weights that tensor parallelism splits and data-parallel attention does not.

Private to the collection. Pure arithmetic on a model's geometry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Checkpoints in four bits keep the attention of latent models in sixteen.
ELEMENT_BYTES = {"fp8": 1, "modelopt_fp8": 1}
"""Methods that quantize the attention as well; the others leave it in 16 bits."""


def shared_attention_bytes(model: Mapping[str, Any]) -> int | None:
    """Bytes of the projections per head of a latent (MLA) model, None when its shape is unknown.

    The projections into the latent space are not among them: each rank holds those anyway.
    """
    needed = ("layers", "hidden_size", "heads", "kv_lora_rank", "qk_rope_head_dim", "v_head_dim")
    if any(not model.get(name) for name in needed):
        return None
    layers, hidden, heads, latent, rope, value = (int(model[name]) for name in needed)
    key = int(model.get("qk_nope_head_dim") or value)
    query = int(model.get("q_lora_rank") or hidden)
    per_head = query * (key + rope) + latent * (key + value) + value * hidden
    return layers * heads * per_head * ELEMENT_BYTES.get(str(model.get("quantization")), 2)

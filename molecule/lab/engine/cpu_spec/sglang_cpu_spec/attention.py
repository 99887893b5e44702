# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: torch_native attention for the draft steps and for verification."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend


def forward_extend(
    original: Callable[..., Any],
    self: Any,
    q: Any,
    k: Any,
    v: Any,
    layer: Any,
    forward_batch: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Around the backend's own: a verification is an extension by the draft tokens.

    Only its seq_lens do not count them yet.
    """
    if forward_batch.forward_mode.is_target_verify():
        count = forward_batch.spec_info.draft_token_num
        forward_batch = copy.copy(forward_batch)
        forward_batch.extend_prefix_lens = forward_batch.seq_lens
        forward_batch.extend_seq_lens = torch.full_like(forward_batch.seq_lens, count)
        forward_batch.seq_lens = forward_batch.seq_lens + count
    return original(self, q, k, v, layer, forward_batch, *args, **kwargs)


class DraftStep(TorchNativeAttnBackend):
    """Decoding in draft step number `step`, when the sequence is that much longer."""

    step = 0

    def forward_decode(
        self, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any, *args: Any, **kwargs: Any
    ) -> Any:
        forward_batch = copy.copy(forward_batch)
        forward_batch.seq_lens = forward_batch.seq_lens + self.step + 1
        return super().forward_decode(q, k, v, layer, forward_batch, *args, **kwargs)


class DraftSteps:
    """One backend per draft step, as SGLang's own multi-step backends are built."""

    def __init__(self, model_runner: Any, steps: int) -> None:
        self.attn_backends = [named(DraftStep(model_runner)) for _index in range(steps - 1)]
        for step, backend in enumerate(self.attn_backends):
            backend.step = step

    def init_forward_metadata(self, forward_batch: Any) -> None:
        for backend in self.attn_backends:
            backend.init_forward_metadata(forward_batch)


def named(backend: Any) -> Any:
    """Write the names that SGLang's factory would write on the backend."""
    backend.prefill_attention_backend_str = "torch_native"
    backend.decode_attention_backend_str = "torch_native"
    return backend


def create_decode_backend(self: Any) -> Any:
    """In place of DraftBackendFactory's: None when there is only one step."""
    if self.speculative_num_steps <= 1:
        return None
    return named(DraftSteps(self.draft_model_runner, self.speculative_num_steps))


def create_draft_extend_backend(self: Any) -> Any:
    """In place of DraftBackendFactory's."""
    return named(TorchNativeAttnBackend(self.draft_model_runner))

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: SGLang's speculative kernels in torch, for topk 1.

Names of parameters are SGLang's. With topk 1 the draft is a chain of n tokens per request, the
accepted part of it is a prefix, and no KV ever has to be moved.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def assign_draft_locs(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    seq_lens: Tensor,
    out_cache_loc: Tensor,
    topk: int,
    num_cols: int,
    positions: Tensor | None = None,
    mrope: Any = None,
) -> None:
    """Fill out_cache_loc [requests * num_cols] with the slots that follow each sequence."""
    if topk != 1 or positions is not None or mrope is not None:
        raise NotImplementedError("sglang_cpu_spec does topk 1 without M-RoPE only")
    columns = seq_lens.long()[:, None] + torch.arange(num_cols)
    out_cache_loc.copy_(req_to_token[req_pool_indices.long()[:, None], columns].flatten())


def cache_locs(
    *,
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    batch_size: int,
    draft_token_num: int,
    device: Any,
) -> Tensor:
    """The slots from start to end of each request, one after another."""
    spans = zip(req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=False)
    return torch.cat([req_to_token[row, start:end] for row, start, end in spans]).to(torch.int64)


def build(
    parent_list: Any,
    top_scores_index: Any,
    seq_lens: Tensor,
    tree_mask: Any,
    positions: Tensor,
    retrieve_index: Tensor,
    retrieve_next_token: Tensor,
    retrieve_next_sibling: Tensor,
    topk: int,
    spec_steps: int,
    num_verify_tokens: int,
    tree_mask_mode: Any = None,
) -> None:
    """Describe a chain in the vocabulary of trees: each token's child is the next one."""
    if topk != 1:
        raise NotImplementedError("sglang_cpu_spec does topk 1 only")
    requests, length = retrieve_index.shape
    positions.copy_((seq_lens.long()[:, None] + torch.arange(length)).flatten())
    retrieve_index.copy_(torch.arange(requests * length).view(requests, length))
    retrieve_next_token.fill_(-1)
    retrieve_next_token[:, :-1] = torch.arange(1, length)
    retrieve_next_sibling.fill_(-1)


def verify(
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrieve_index: Tensor,
    retrieve_next_token: Tensor,
    retrieve_next_sibling: Tensor,
    target_predict: Tensor,
    topk: int = -1,
) -> tuple[Tensor, Tensor, Tensor]:
    """Accept each chain up to the first token that the target would not have chosen."""
    for row in range(candidates.shape[0]):
        accepted = 0
        while (
            accepted + 1 < candidates.shape[1]
            and candidates[row, accepted + 1] == target_predict[row, accepted]
        ):
            accepted += 1
        indices = retrieve_index[row, : accepted + 1]
        accept_index[row, : accepted + 1] = indices
        predicts[indices.long()] = target_predict[row, : accepted + 1].to(predicts.dtype)
        accept_token_num[row] = accepted
    return predicts, accept_index, accept_token_num


def fill_bonus_tokens(
    accept_tokens: Tensor,
    accept_lens: Tensor,
    bonus_tokens: Tensor,
    accept_stride: int,
    batch_size: int,
) -> None:
    """The last accepted token of each request."""
    last = torch.arange(batch_size) * accept_stride + accept_lens.long() - 1
    bonus_tokens.copy_(accept_tokens.flatten()[last])


def assign_request_tokens(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    batch_size: int,
    *_: Any,
    **__: Any,
) -> None:
    """Write the newly allocated slots into each request's row."""
    at = 0
    for row, start, end in zip(
        req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=False
    ):
        count = end - start
        req_to_token[row, start:end] = out_cache_loc[at : at + count].to(req_to_token.dtype)
        at += count


def no_moves(self: Any) -> None:
    """In place of warming up the kernel that moves KV: an accepted chain is in place already."""
    self._kv_copy_config = None

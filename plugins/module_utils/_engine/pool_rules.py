# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How each SGLang version sizes, checks and allocates its device and host KV pools.

Private to the collection. Data first: adding a release means adding one line to `_CHANGES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .version import Version

GIB = 2**30
MIB = 2**20
GB = 10**9

HOST_RESERVE_BYTES = 10 * GIB
"""RAM that the engine itself leaves free before it allocates a host pool; not tunable."""

PROCESS_BYTES = 4 * GIB
"""RAM of one rank's process with its CUDA context, before any pool; an estimate."""

AUTO_RATIO_MAX = 2.0
"""The engine's own sizing never exceeds its default ratio."""

AUTO_SLACK = 0.05
"""Share of its budget that the engine's own sizing leaves unused."""

AUTO_FRACTION_DEFAULT = 0.8
AUTO_FRACTION_MAX = 0.98
"""Largest share of the RAM that we let the engine's own sizing use."""

VLM_CACHE_BYTES = 100 * MIB
"""Embedding cache of a multimodal model, allocated after the KV pool."""

GPU_CONTEXT_BYTES = GIB
"""What driver context and communicators take from a GPU before weights are loaded; an estimate."""

PREDICTION_ERROR_BYTES = 3 * GIB // 2
"""Uncertainty of a predicted pool per GPU: context, allocator and loading leftovers."""

MEM_FRACTION_CEILING = 0.92
"""Highest fraction offered unmeasured: host transfers need GPU buffers outside the static part."""

GPU_MARGIN_BYTES = 2 * GIB
"""GPU memory to keep free of what a running server left free."""

WINDOW_RATIO_DEFAULT = 0.8
"""Tokens of the sliding-window pool for each token of the pool of full layers."""

STATE_RATIO_DEFAULT = 0.9
"""Bytes of recurrent states for each byte of KV cache."""

SPECULATIVE_REQUESTS_DEFAULT = 48
SPECULATIVE_TOKENS_DEFAULT = 4
"""Running requests and draft tokens that the engine takes when speculation does not say."""

_BACKEND_PAGE_TOKENS = {"flashmla": 64, "cutlass_mla": 128, "trtllm_mla": 64, "dsa": 64, "nsa": 64}

_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

# Reserve of the default memory fraction by GPU size in MiB: (below, chunked prefill tokens,
# largest CUDA graph batch below TP 4, the same from TP 4 on).
_GPU_CLASSES: tuple[tuple[float, int, int, int], ...] = (
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 4096, 48, 160),
    (60 * 1024, 4096, 32, 160),
    (160 * 1024, 8192, 256, 512),
    (float("inf"), 16384, 512, 512),
)
# A vision tower lowers the fraction by its size; 0.91 is what a 27-layer, 1152-wide one gives.
_VISION_FACTOR = 0.91


@dataclass(frozen=True)
class PoolRules:
    """What one version does. `guard` is how a rank checks RAM before it allocates a host pool:

    `machine`: each process may take all of it; `ranks`: each may take its share of what is
    available at that moment; `cgroup`: the same, bounded by the memory cgroup as well. Without
    `one_size` a size in GB is given to each pool of a model with a window or a state anew.
    """

    guard: str = "machine"
    padding_page: bool = False
    draft_pool: bool = False
    indexer_pool: bool = False
    packed_draft: bool = False
    smaller_pool_fails: bool = True
    auto_size: bool = False
    hugepages: bool = False
    registration_limit_bytes: int | None = 512 * GIB
    numa_bind: bool = False
    draft_in_budget: bool = False
    multimodal_reservation: bool = False
    token_suffixes: bool = False
    store_folder: bool = False
    window_host: bool = False
    state_host: bool = False
    state_dtype_in_config: bool = False
    state_shares_draft: bool = False
    state_spare_slot: bool = False
    compact_index: bool = False
    one_size: bool = False


_CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("0.5.5", {"padding_page": True}),
    ("0.5.9", {"state_dtype_in_config": True, "store_folder": True}),
    ("0.5.10", {"token_suffixes": True, "state_host": True}),
    ("0.5.11", {"draft_pool": True, "indexer_pool": True}),
    ("0.5.13", {"hugepages": True, "window_host": True, "state_shares_draft": True}),
    ("0.5.14", {"draft_in_budget": True}),
    ("0.5.15", {"smaller_pool_fails": False}),
    (
        "0.5.18",
        {
            "numa_bind": True,
            "multimodal_reservation": True,
            "packed_draft": True,
            "state_spare_slot": True,
            "compact_index": True,
            "one_size": True,
        },
    ),
    # Since then a large pool is registered in chunks, so the driver's limit no longer matters.
    ("0.5.19", {"guard": "ranks", "registration_limit_bytes": None}),
    ("0.5.21", {"guard": "cgroup", "auto_size": True}),
)


def pool_rules(version: Version) -> PoolRules:
    """Return the rules of `version`; a version in between has those of the one before it."""
    merged: dict[str, Any] = {}
    for since, change in _CHANGES:
        if version >= since:
            merged.update(change)
    return PoolRules(**merged)


def default_page_tokens(attention_backend: str | None, has_indexer: bool) -> int:
    """Tokens per page when none is asked for: some backends and models have their own."""
    backend = attention_backend or ("dsa" if has_indexer else "")
    return _BACKEND_PAGE_TOKENS.get(backend, 1)


def default_mem_fraction(
    gpu_total_bytes: int,
    world_size: int,
    tp_size: int,
    *,
    chunked_prefill_tokens: int | None,
    graph_batch: int | None,
    multimodal: bool,
) -> float:
    """The static memory fraction that the engine chooses when none is given.

    `graph_batch` is the largest CUDA graph batch (0 without graphs, None for the engine's own).
    """
    total_mib = gpu_total_bytes / MIB
    gpu = next(entry for entry in _GPU_CLASSES if total_mib < entry[0])
    chunk = chunked_prefill_tokens or gpu[1]
    batch = (gpu[2] if tp_size < 4 else gpu[3]) if graph_batch is None else graph_batch
    reserved = 512 + 1.5 * max(chunk, 2048) + world_size / 8 * 1024 + 2 * batch
    if total_mib > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    fraction = round((total_mib - reserved) / total_mib, 3)
    return fraction * _VISION_FACTOR if multimodal else fraction


def read_tokens(value: int | str | None, rules: PoolRules) -> int | None:
    """Read a number of tokens; since 0.5.10 "256k" is 256,000 and "256Ki" is 262,144.

    Suffixes are case-sensitive, and only the decimal ones take a fraction. Raises ValueError when
    this version would not accept the text.
    """
    if value is None or isinstance(value, int):
        return value
    found = re.fullmatch(r"(\d+)(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)?", value.strip())
    number, fraction, suffix = found.groups() if found else ("", None, None)
    if not found or (suffix and not rules.token_suffixes) or (fraction and suffix not in _DECIMAL):
        raise ValueError(f"not a number of tokens for this version: {value!r}")
    if suffix in _DECIMAL:
        return int(Decimal(number + (fraction or "")) * _DECIMAL[suffix])
    return int(number) * _BINARY.get(suffix or "", 1)

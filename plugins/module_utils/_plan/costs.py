# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an option costs besides the tokens it gives, one sentence each.

Private to the collection. Seconds and effects that were not measured on the host say so.
"""

from __future__ import annotations

from .deadlines import PIN_BYTES_PER_S
from .finding import gib
from .setting import Setting

MEASURE_FP8 = (
    "answers change a little; on compute capability 12.x an MLA model may decode much slower, "
    "so measure it first"
)


def host_costs(node_bytes: int, ranks: int, setting: Setting) -> list[str]:
    """Of a pool in RAM."""
    start_s = -(-node_bytes // PIN_BYTES_PER_S)
    costs = [
        f"RAM: {gib(node_bytes)} pinned on this node, {gib(node_bytes // ranks)} by each rank; "
        "nothing else can use it while the server runs",
        f"start: up to {start_s:,} s more to pin it, at the {PIN_BYTES_PER_S / 1e9:g} GB/s of a "
        "slow host (estimated, not measured here); a stop takes longer, too",
        "VRAM: copies between the tiers need buffers outside the memory fraction; a fraction "
        "that just fits without a host tier may run out of GPU memory with one",
    ]
    if setting.mirrors_draft:
        costs.append(
            "drafts: compare the accept length before and after prefixes come back from RAM; "
            "on some versions it falls to a third until the cache is flushed"
        )
    return costs


def fraction_costs(extra_bytes: int) -> list[str]:
    """Of a higher memory fraction."""
    return [
        f"VRAM: {gib(extra_bytes)} more of each GPU; peaks of long prompts and graphs must live "
        "with what is left, else the server ends in a CUDA out-of-memory under load",
    ]


def fp8_costs() -> list[str]:
    """Of an 8-bit KV cache."""
    return [f"quality and speed: {MEASURE_FP8}"]


def copies_costs(extra_bytes: int, longest: int, longest_now: int) -> list[str]:
    """Of attention without sharing between ranks."""
    return [
        f"VRAM: {gib(extra_bytes)} of attention weights more on each GPU (estimated from the "
        "model's shape)",
        f"longest request: {longest:,} tokens instead of {longest_now:,}, as each lives on one "
        "rank",
        "speed: ranks wait for each other at every layer of experts; measure with real traffic",
    ]


def store_costs(bytes_per_token: int, others: list[str]) -> list[str]:
    """Of a store on disk behind the host tier."""
    more = f"; this version also speaks to {', '.join(others)}" if others else ""
    return [
        f"disk: {gib(bytes_per_token * 10**6)} for each million tokens, free space not checked; "
        "nothing removes old pages unless the store is told to",
        "use: hits are not predicted; stores were seen to write and never be read, or to be "
        f"slower than computing anew, so watch the hit rate before relying on one{more}",
        "RAM: the server's private memory was seen to grow for hours; watch it",
    ]

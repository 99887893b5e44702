# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to hold more context in parallel, ranked.

Private to the collection. An option is ranked by how surely it starts, then by whether it keeps
the KV cache's precision, then by the unique tokens in reach.
"""

from __future__ import annotations

from typing import Any

from .device_options import copies_options, fp8_options, raised_options
from .guard import CERTAIN, LIKELY, NO
from .host_options import host_options, store_options
from .option import Ground, Option

_ORDER = {CERTAIN: 0, LIKELY: 1, NO: 2}


def build_options(ground: Ground) -> list[dict[str, Any]]:
    """Ranked options; empty when the device tier is unknown.

    Tokens and requests are those of all copies of the model, bytes those of this node.
    """
    now = ground.device.tokens
    if not now:
        return []
    found = [
        *host_options(ground, now),
        *store_options(ground, now),
        *raised_options(ground, now),
        *fp8_options(ground, now),
        *copies_options(ground, now),
    ]
    found.sort(key=_worth)
    return [_told(rank, option, ground, now) for rank, option in enumerate(found, start=1)]


def _worth(option: Option) -> tuple[int, bool, int, int]:
    tokens = option.tokens * option.copies
    return _ORDER[option.certainty], not option.same_precision, -tokens, option.ram_bytes


def _told(rank: int, option: Option, ground: Ground, now: int) -> dict[str, Any]:
    copies = option.copies
    # A request lives in one copy, and must fit its device tier while it runs.
    fits = option.device_tokens >= ground.context_tokens
    requests = option.tokens // ground.context_tokens * copies if fits else 0
    return {
        "rank": rank,
        "title": option.title,
        "device_tokens": option.device_tokens * copies,
        "tokens_in_reach": option.tokens * copies,
        "factor": round(option.tokens * copies / (now * ground.copies), 2),
        "requests": requests,
        "ram_bytes": option.ram_bytes,
        "ram_bytes_per_rank": option.ram_bytes // ground.setting.parallel.ranks,
        "certainty": option.certainty,
        "variables": option.variables,
        "arithmetic": option.arithmetic,
        "costs": option.costs,
        "note": option.note,
    }

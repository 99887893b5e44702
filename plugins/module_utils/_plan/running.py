# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the running server holds, in the words of a capacity: the other side of a comparison.

Private to the collection. Pure: facts in, one dict out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._engine.pool_rules import pool_rules
from .._engine.version import Version
from .setting import part


def running_tiers(facts: Mapping[str, Any], capacity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The measured tiers of a server that is ready, None when none is; unknown numbers are None.

    Bytes are those of this host; `tokens` and `requests` count all data-parallel copies. The
    context of a request and the ranks on the host are those of `capacity`.
    """
    server = part(facts, "server")
    startup, info = part(server, "startup"), part(server, "info")
    if startup.get("state") != "ready":
        return None
    version = info.get("version") or part(facts, "engine").get("version")
    tokens, slots = startup.get("max_total_num_tokens"), startup.get("host_tokens")
    reach = _reach(tokens, slots, _spare(version, info))
    copies, context = int(info.get("dp_size") or 1), capacity["requests"]["context_tokens"]
    allowed = [size for size in (tokens, startup.get("context_tokens")) if size]
    pinned, ranks = _pinned_per_rank(startup), capacity["ranks_per_node"]
    return {
        "engine_version": version,
        "device": {
            "tokens": tokens,
            "swa_tokens": startup.get("swa_tokens"),
            "state_slots": startup.get("state_slots"),
            "bytes_per_rank": startup.get("device_bytes_per_rank"),
        },
        "host": {
            "tokens": slots,
            "bytes_per_rank": pinned,
            "bytes_node": None if pinned is None else pinned * ranks,
        },
        "tokens": {"device": _times(tokens, copies), "in_reach": _times(reach, copies)},
        "requests": {
            "context_tokens": context,
            "device": _times(_requests(tokens, tokens, context), copies),
            "in_reach": _times(_requests(tokens, reach, context), copies),
        },
        "longest_request_tokens": min(allowed) if tokens else None,
    }


def _reach(tokens: int | None, slots: int | None, spare: int) -> int | None:
    """Unique tokens of one copy: the host tier contains what the device tier holds."""
    if tokens is None or slots is None:
        return None
    return max(tokens, slots - spare)


def _requests(tokens: int | None, held: int | None, context: int) -> int | None:
    """Requests held at once; each must fit the device tier as a whole, whatever is in reach."""
    if tokens is None or held is None:
        return None
    return held // context if tokens >= context else 0


def _spare(version: str | None, info: Mapping[str, Any]) -> int:
    """Slots of a host pool that hold no token of their own; none where the version is unknown."""
    try:
        padded = pool_rules(Version.parse(version or "")).padding_page
    except ValueError:
        return 0
    return int(info.get("page_size") or 1) if padded else 0


def _pinned_per_rank(startup: Mapping[str, Any]) -> int | None:
    target = startup.get("host_bytes_per_rank")
    return None if target is None else target + (startup.get("draft_host_bytes_per_rank") or 0)


def _times(number: int | None, copies: int) -> int | None:
    return None if number is None else number * copies

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a start, a stop and a drain may take, from the bytes to read and to pin.

Private to the collection. Nothing measured while serving enters, so that a unit does not change by
itself from one run to the next: the bounds are for a slow but healthy host.
"""

from __future__ import annotations

from typing import Any

_READ_BYTES_PER_S = 500_000_000
PIN_BYTES_PER_S = 1_500_000_000
# A process that dies with registered memory is held up while the kernel unpins page by page.
_UNPIN_BYTES_PER_S = 9_000_000_000
# Imports, rank start, communicators, CUDA graphs and a cold kernel cache, seconds.
_START_FLOOR_S = 180
_START_FLOOR_GPU_S = 900
# After the last request the engine waits up to 15 s for its schedulers and 60 s for its children.
_AFTER_DRAIN_S = 75
# GPU contexts and page tables of processes that ended.
_RELEASE_FLOOR_S = 120


def deadlines(
    facts: dict[str, Any], wishes: dict[str, Any], capacity: dict[str, Any]
) -> dict[str, int]:
    """Return bounds in seconds, never expectations: `start_s`, `stop_s`, `drain_s`, and `release_s`
    from the end of a process until all that it held is free."""
    weights_bytes = sum(
        int((facts.get(part) or {}).get("weights_bytes") or 0) for part in ("model", "draft")
    )
    has_gpu = bool((facts.get("gpu") or {}).get("devices"))
    floor_s = _START_FLOOR_GPU_S if has_gpu else _START_FLOOR_S
    reading_s = weights_bytes // _READ_BYTES_PER_S
    pinning_s = most_pinned_bytes(facts, capacity) // PIN_BYTES_PER_S
    drain_s = int(wishes["sglang_drain_timeout_s"])
    return {
        "start_s": int(wishes["sglang_start_timeout_s"] or floor_s + reading_s + pinning_s),
        "stop_s": drain_s + _AFTER_DRAIN_S + unpin_s(facts, capacity),
        "drain_s": drain_s,
        "release_s": _RELEASE_FLOOR_S + unpin_s(facts, capacity),
    }


def most_pinned_bytes(facts: dict[str, Any], capacity: dict[str, Any]) -> int:
    """Return how much RAM the instance can pin on this node at most.

    That is all of the host's RAM where there is a host pool at all: the pool itself follows the
    measured device tier, and the unit must not.
    """
    pool = int((capacity.get("host") or {}).get("bytes_node") or 0)
    total = (facts.get("memory") or {}).get("total_bytes")
    return int(total) if pool and total else pool


def unpin_s(facts: dict[str, Any], capacity: dict[str, Any]) -> int:
    """Return how long the kernel may take to release the pinned memory, rounded up."""
    return -(-most_pinned_bytes(facts, capacity) // _UNPIN_BYTES_PER_S)

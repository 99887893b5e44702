# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one rank of a server said of itself while it started.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import datetime
import typing as t

_Number = t.TypeVar("_Number", int, float)

# Host pools of the draft; all others belong to the target.
_DRAFT_POOLS = ("draft", "draft_swa")
# The host pools with one slot per token of full length.
_TOKEN_POOLS = ("kv", "full", "draft", "draft_swa")


class Pool(t.NamedTuple):
    """A pool of KV cache or state: its slots and bytes, None when they were not printed."""

    name: str
    tokens: int | None
    size_bytes: int | None


def total(values: t.Iterable[_Number | None]) -> _Number | None:
    """The sum of the known values; None when none is known."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def _most(values: t.Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


class Rank:
    """What one rank printed. Pools stand in the order of their lines."""

    def __init__(self) -> None:
        self.init_s: float | None = None
        self.load_begun: datetime.datetime | None = None
        # Seconds and bytes by model class: the target's first, then the draft's.
        self.loads: dict[str, tuple[float | None, int | None]] = {}
        # Seconds of the load that went on while graphs were captured.
        self.late_load_s: float | None = None
        # One group of device pools per model: the target's, then one for each draft.
        self.device_groups: list[list[Pool]] = [[]]
        self.swa_tokens: int | None = None
        self.state_slots: int | None = None
        self.state_bytes: int | None = None
        self.host: list[Pool] = []
        # Slots of the host pool by a line of its own; before 0.5.17 the pool's line has none.
        self.host_slots: int | None = None
        self.graphs_s: float | None = None
        self.avail_bytes: int | None = None
        self.capacity: int | None = None

    def facts(self, label: str) -> dict[str, t.Any]:
        """The rank in detail; None where nothing was printed."""
        target, draft = self.device_groups[0], [p for g in self.device_groups[1:] for p in g]
        host = [pool for pool in self.host if pool.name not in _DRAFT_POOLS]
        draft_host = [pool for pool in self.host if pool.name in _DRAFT_POOLS]
        sizes = [size for _seconds, size in self.loads.values()]
        return {
            "rank": label,
            "max_total_num_tokens": self.capacity,
            "init_s": _rounded(self.init_s),
            "weights_bytes": _most(sizes),
            "draft_weights_bytes": total(sizes[1:]),
            "load_s": _rounded(
                total([*(seconds for seconds, _size in self.loads.values()), self.late_load_s])
            ),
            "device_tokens": _most(pool.tokens for pool in target),
            "device_bytes": total(pool.size_bytes for pool in target),
            "swa_tokens": self._swa_tokens(target),
            "state_slots": self.state_slots,
            "state_bytes": self.state_bytes,
            "draft_tokens": _most(pool.tokens for pool in draft),
            "draft_device_bytes": total(pool.size_bytes for pool in draft),
            "host_tokens": self._host_tokens(host),
            "host_bytes": total(pool.size_bytes for pool in host),
            "draft_host_tokens": self._host_tokens(draft_host),
            "draft_host_bytes": total(pool.size_bytes for pool in draft_host),
            "swa_host_tokens": _most(pool.tokens for pool in host if pool.name == "swa"),
            "indexer_bytes": total(pool.size_bytes for pool in host if pool.name == "indexer"),
            "host_pools": [
                {"pool": pool.name, "tokens": pool.tokens, "bytes": pool.size_bytes}
                for pool in self.host
            ],
            "graphs_s": _rounded(self.graphs_s),
            "avail_bytes": self.avail_bytes,
        }

    def has_host_pool(self, draft: bool) -> bool:
        """Whether there is a host pool of the draft, or of the target."""
        return any((pool.name in _DRAFT_POOLS) == draft for pool in self.host)

    def _swa_tokens(self, target: list[Pool]) -> int | None:
        if self.swa_tokens is not None:
            return self.swa_tokens
        return _most(pool.tokens for pool in target if pool.name == "SWA")

    def _host_tokens(self, pools: list[Pool]) -> int | None:
        told = _most(pool.tokens for pool in pools if pool.name in _TOKEN_POOLS)
        return told if told is not None or not pools else self.host_slots

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Token slots and bytes of the host pools, by the engine's own arithmetic.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._engine.pool_rules import AUTO_RATIO_MAX, AUTO_SLACK, GB
from .setting import Parallel, Pool


@dataclass(frozen=True)
class Shape:
    """What host pools look like on this engine: page rounding, pools of a rank, ranks."""

    page: int
    padding: bool
    pools: tuple[Pool, ...]
    parallel: Parallel

    @property
    def rank_bytes_per_token(self) -> int:
        """Bytes of one token in all pools of a rank."""
        return sum(pool.bytes_per_token for pool in self.pools)

    @property
    def node_bytes_per_token(self) -> int:
        """Bytes of one token slot in all pools of all ranks on the node."""
        return self.rank_bytes_per_token * self.parallel.ranks

    @property
    def spare_tokens(self) -> int:
        """Padding page of a pool: allocated, but holding no token of its own."""
        return self.page if self.padding else 0

    def slots(self, tokens: int) -> int:
        """Slots of a pool that is asked to hold `tokens`."""
        return (tokens // self.page) * self.page + self.spare_tokens

    def by_ratio(self, device_tokens: int, ratio: float) -> int:
        """Slots for --hicache-ratio; the product is a float and cut, as in the engine."""
        return self.slots(int(device_tokens * ratio))

    def by_size(self, size_gb: int) -> int:
        """Slots for --hicache-size: decimal GB of the target pool alone, per rank."""
        return self.slots(int(size_gb * 1e9 // self.pools[0].bytes_per_token))

    def bytes_by_pool(self, slots: int) -> tuple[int, ...]:
        """Bytes of each pool of one rank."""
        return tuple(slots * pool.bytes_per_token for pool in self.pools)

    def largest_ratio(self, device_tokens: int, max_slots: int) -> float | None:
        """Largest ratio of two decimals whose pool has at most `max_slots` slots."""
        usable = max_slots // self.page * self.page - self.spare_tokens
        hundredths = max((usable + self.page) * 100 // device_tokens, 0)
        while hundredths > 0 and self.by_ratio(device_tokens, hundredths / 100) > max_slots:
            hundredths -= 1
        return hundredths / 100 or None

    def largest_size_gb(self, max_slots: int) -> int | None:
        """Largest whole size in GB per rank whose pool has at most `max_slots` slots."""
        size = (max_slots + self.page) * self.pools[0].bytes_per_token // GB
        while size > 0 and self.by_size(size) > max_slots:
            size -= 1
        return size or None

    def engine_auto(
        self, device_tokens: int, free_bytes: int, fraction: float
    ) -> tuple[float, int] | None:
        """Ratio and slots that the engine gives itself, None when it would refuse to start.

        `free_bytes` is what it sees on the host after its own reserve. It measures the device
        pools with one page more than their tokens.
        """
        budget = int(free_bytes // self.parallel.share * fraction)
        device_bytes = (device_tokens + self.page) * self.rank_bytes_per_token
        ratio = min(AUTO_RATIO_MAX, budget * (1 - AUTO_SLACK) / device_bytes)
        slots = self.by_ratio(device_tokens, ratio) if ratio > 0 else 0
        if ratio <= 0 or slots * self.rank_bytes_per_token > budget:
            return None
        return ratio, slots

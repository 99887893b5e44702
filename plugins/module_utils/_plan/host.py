# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host tiers that could be chosen: by ratio, by size, or by the engine's own sizing.

Private to the collection.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._engine.pool_rules import AUTO_FRACTION_MAX, AUTO_RATIO_MAX, AUTO_SLACK, GIB, PoolRules
from .guard import CERTAIN, NO, Limit, certainty, hard_limits, order_limit, together_limit
from .pools import Shape
from .ram import Ram
from .setting import Setting

# Two tiers of which one holds at least this share of the other are taken for equal.
ABOUT_THE_SAME = 0.99

RATIO_FLOOR = 1.0
"""A host tier below the device tier holds less than the device alone."""


@dataclass(frozen=True)
class Tier:
    """One possible host tier. `slots` are those of a pool on each rank, 0 without HiCache.

    `most_slots` is what they come to should a predicted device tier turn out at its largest.
    """

    mode: str
    slots: int = 0
    most_slots: int = 0
    certainty: str | None = None
    ratio: float | None = None
    size_gb: int | None = None
    fraction: float | None = None


OFF = Tier("off")


@dataclass(frozen=True)
class HostCase:
    """A device tier, the shape of its host pools, and every limit that they must keep.

    A ratio multiplies what the device tier turns out to hold, so a certain one must keep the
    limits for `most_device_tokens` as well.
    """

    shape: Shape
    ram: Ram
    rules: PoolRules
    device_tokens: int
    most_device_tokens: int
    hard: list[Limit]
    order: Limit | None
    together: Limit

    @property
    def limits(self) -> list[Limit]:
        """All limits that pools of a given size keep when they start for certain."""
        return [*self.hard, self.order] if self.order else self.hard

    @property
    def bound(self) -> Limit:
        """The limit that a given size reaches first."""
        return min(self.limits, key=lambda limit: limit.max_slots)

    def limits_of(self, tier: Tier) -> list[Limit]:
        """The limits that apply to a tier, tightest first.

        The engine's own sizing reads the RAM once for all ranks, so their order does not matter.
        """
        limits = self.hard if tier.mode == "engine_auto" else self.limits
        return sorted(limits, key=lambda limit: limit.max_slots)

    def bound_of(self, tier: Tier) -> str:
        """What keeps a tier from being larger, in words."""
        if tier.mode != "engine_auto" or tier.ratio is None:
            return self.bound.text
        if tier.ratio >= AUTO_RATIO_MAX:
            return "SGLang's own sizing, which never exceeds twice the device tier"
        return f"the share of {tier.fraction:g} of the RAM, less 5 %, for SGLang's own sizing"

    def node_bytes(self, tier: Tier) -> int:
        """RAM of all pools of all ranks on the node."""
        return tier.slots * self.shape.node_bytes_per_token

    def most_node_bytes(self, tier: Tier) -> int:
        """The same, should a predicted device tier turn out at its largest."""
        return tier.most_slots * self.shape.node_bytes_per_token

    def unique_tokens(self, tier: Tier) -> int:
        """Tokens that can be found again, of one copy of the model.

        The host tier contains what the device tier holds, so the larger one counts.
        """
        return max(self.device_tokens, tier.slots - self.shape.spare_tokens)

    def judge(self, slots: int) -> str:
        """How surely explicit pools of `slots` start."""
        if self.rules.smaller_pool_fails and slots <= self.most_device_tokens:
            return NO
        return certainty(slots, self.hard, self.order, self.together)

    def with_ratio(self, ratio: float) -> Tier:
        """The tier of --hicache-ratio."""
        slots = self.shape.by_ratio(self.device_tokens, ratio)
        most = self.shape.by_ratio(self.most_device_tokens, ratio)
        return Tier("ratio", slots, most, self.judge(most), ratio=ratio)

    def with_size(self, size_gb: int) -> Tier:
        """The tier of --hicache-size."""
        slots = self.shape.by_size(size_gb)
        return Tier("size", slots, slots, self.judge(slots), size_gb=size_gb)

    def largest_ratio(self) -> Tier | None:
        """The largest certain ratio, None when not even the floor is."""
        ratio = self.shape.largest_ratio(self.most_device_tokens, self.bound.max_slots)
        tier = self.with_ratio(ratio) if ratio and ratio >= RATIO_FLOOR else None
        return tier if tier and tier.certainty == CERTAIN else None

    def largest_size(self) -> Tier | None:
        """The largest certain whole size, None when it is smaller than the device tier."""
        kinds = {pool.name for pool in self.shape.pools}
        if not self.rules.one_size and kinds & {"window", "state"}:
            return None
        size = self.shape.largest_size_gb(self.bound.max_slots)
        tier = self.with_size(size) if size else None
        if tier is None or tier.certainty != CERTAIN:
            return None
        return tier if tier.slots - self.shape.spare_tokens >= self.device_tokens else None

    def with_fraction(self, fraction: float) -> Tier:
        """The tier that the engine gives itself; all ranks read the RAM before any allocates."""
        sized = self.shape.engine_auto(self.device_tokens, self.ram.engine_free_bytes, fraction)
        if sized is None:
            return Tier("engine_auto", certainty=NO, fraction=fraction)
        ratio, slots = sized
        fits = all(slots <= limit.max_slots for limit in self.hard)
        certain = CERTAIN if fits else NO
        return Tier("engine_auto", slots, slots, certain, ratio=ratio, fraction=fraction)

    def engine_auto(self, fraction: float | None) -> Tier | None:
        """The engine's own sizing with this or the best fraction, None where it has none.

        A fraction lower than the highest one is needed where more must be kept free than the
        engine's own reserve, or where a budget is set.
        """
        if not self.rules.auto_size:
            return None
        if fraction is not None:
            return self.with_fraction(fraction)
        for thousandths in range(self._highest_thousandths(), 0, -1):
            tier = self.with_fraction(thousandths / 1000)
            if tier.certainty == CERTAIN:
                return tier
        return None

    def _highest_thousandths(self) -> int:
        """Where to start looking for the best fraction: just above what the hard limits allow."""
        budget = self.ram.engine_free_bytes // self.shape.parallel.share * (1 - AUTO_SLACK)
        allowed = min(limit.max_slots for limit in self.hard) * self.shape.rank_bytes_per_token
        highest = round(AUTO_FRACTION_MAX * 1000)
        return highest if budget <= allowed else min(highest, int(1000 * allowed / budget) + 2)

    def best(self, fraction: float | None) -> Tier:
        """The certain tier with most tokens, OFF when none holds at least the device tier.

        Of two that hold about the same, a ratio comes before a size, which comes before the
        engine's own sizing: the one that says most plainly what will be there.
        """
        tiers = [self.largest_ratio(), self.largest_size(), self.engine_auto(fraction)]
        good = [
            tier
            for tier in tiers
            if tier and tier.certainty == CERTAIN and self.unique_tokens(tier) <= tier.slots
        ]
        most = max((tier.slots for tier in good), default=0)
        return next((tier for tier in good if tier.slots >= most * ABOUT_THE_SAME), OFF)


def host_case(
    setting: Setting,
    ram: Ram | None,
    device_tokens: int | None,
    wishes: Mapping[str, Any],
    error_percent: float | None = None,
) -> HostCase | None:
    """The case to decide on, None when geometry, RAM or device tokens are unknown.

    `error_percent` is by how much a predicted device tier may turn out larger.
    """
    pools = setting.pools
    if pools is None or ram is None or not device_tokens:
        return None
    shape = Shape(setting.page, setting.rules.padding_page, pools, setting.parallel)
    most = device_tokens + math.ceil(device_tokens * (error_percent or 0) / 100)
    budget = wishes.get("sglang_hicache_budget_gib")
    hard = hard_limits(
        shape,
        ram,
        setting.rules,
        budget_bytes=None if budget is None else int(budget * GIB),
        ratio_max=wishes.get("sglang_hicache_ratio_max"),
        device_tokens=most,
    )
    return HostCase(
        shape=shape,
        ram=ram,
        rules=setting.rules,
        device_tokens=device_tokens,
        most_device_tokens=most,
        hard=hard,
        order=order_limit(shape, ram, setting.rules),
        together=together_limit(shape, ram),
    )

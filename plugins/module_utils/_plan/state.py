# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device pool of recurrent states, which the engine sizes before the KV pool.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._engine.pool_rules import PoolRules

# State slots that one request may occupy while the prefix tree keeps states, and without it.
_SLOTS_PER_REQUEST = 5
_SLOTS_PER_REQUEST_NO_TREE = 1


@dataclass(frozen=True)
class StateWish:
    """What decides the number of state slots of one rank.

    `slots` and `requests` are per data-parallel group, None where not given; `draft_tokens` is 0
    without speculative decoding; `tree` is whether a prefix tree keeps states.
    """

    ratio: float = 0.9
    slots: int | None = None
    requests: int | None = None
    draft_tokens: int = 0
    tree: bool = True

    @property
    def slots_per_request(self) -> int:
        """State slots that the engine counts for each request."""
        return _SLOTS_PER_REQUEST if self.tree else _SLOTS_PER_REQUEST_NO_TREE


@dataclass(frozen=True)
class StatePool:
    """State slots on a rank, and all bytes that states take there."""

    slots: int
    size_bytes: int


def state_pool(rest_bytes: int, per_slot: int, wish: StateWish, rules: PoolRules) -> StatePool:
    """The pool of a rank with `rest_bytes` for all pools and `per_slot` bytes for one state.

    Speculative decoding keeps one more state per draft token for each running request. Slots
    are 0 or less where nothing fits.
    """
    spare = 1 if rules.state_spare_slot else 0
    asked = wish.slots if wish.slots is not None or wish.tree else wish.requests
    budget = int(rest_bytes * wish.ratio / (1 + wish.ratio))
    if not rules.state_shares_draft:
        # The drafts' states are taken from the rest first, then the budget from what is left.
        drafts = (wish.requests or 0) * wish.draft_tokens * per_slot
        budget = int((rest_bytes - drafts) * wish.ratio / (1 + wish.ratio))
        slots = asked if asked is not None else budget // per_slot
        return StatePool(slots, drafts + slots * per_slot)
    if asked is None and not wish.draft_tokens:
        asked = budget // per_slot - spare
    if asked is None:
        fixed = per_slot * spare * (1 + wish.draft_tokens)
        each = per_slot * (1 + wish.draft_tokens / wish.slots_per_request)
        asked = int((budget - fixed) // each)
    running = min(wish.requests or asked, asked // wish.slots_per_request)
    drafts = (running + spare) * wish.draft_tokens * per_slot
    return StatePool(asked, drafts + (asked + spare) * per_slot)

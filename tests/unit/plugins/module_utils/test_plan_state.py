# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool of recurrent states, worked out by hand for each way to size it."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._engine.pool_rules import pool_rules
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import Version
from ansible_collections.llmops.sglang.plugins.module_utils._plan.state import (
    StatePool,
    StateWish,
    state_pool,
)

OLD, MIDDLE, NEW = (pool_rules(Version.parse(text)) for text in ("0.5.9", "0.5.14", "0.5.23"))
REST, SLOT = 1_900_000, 1_000


def test_states_take_nine_nineteenths_of_the_rest() -> None:
    # 1,900,000 x 0.9 / 1.9 = 900,000 bytes: 900 slots of 1,000.
    assert state_pool(REST, SLOT, StateWish(), OLD) == StatePool(900, 900_000)
    assert state_pool(REST, SLOT, StateWish(), MIDDLE) == StatePool(900, 900_000)


def test_one_slot_is_spare_since_0_5_18() -> None:
    # 900 fit, one of them as padding.
    assert state_pool(REST, SLOT, StateWish(), NEW) == StatePool(899, 900_000)


def test_the_ratio_may_be_given() -> None:
    # 1,900,000 x 0.25 / 1.25 = 380,000 bytes.
    assert state_pool(REST, SLOT, StateWish(ratio=0.25), OLD).slots == 380


def test_the_slots_may_be_given() -> None:
    assert state_pool(REST, SLOT, StateWish(slots=64), OLD) == StatePool(64, 64_000)
    assert state_pool(REST, SLOT, StateWish(slots=64), NEW) == StatePool(64, 65_000)


def test_without_a_prefix_tree_one_state_per_request_is_enough() -> None:
    wish = StateWish(requests=32, tree=False)
    assert state_pool(REST, SLOT, wish, OLD) == StatePool(32, 32_000)


def test_drafts_come_first_up_to_0_5_12() -> None:
    # 48 requests x 4 drafts x 1,000 bytes = 192,000; 9/19 of the other 1,708,000 are 809,052.
    wish = StateWish(requests=48, draft_tokens=4)
    assert state_pool(REST, SLOT, wish, OLD) == StatePool(809, 192_000 + 809_000)


def test_drafts_share_the_budget_since_0_5_13() -> None:
    # One slot costs 1,000 x (1 + 4 / 5) = 1,800 bytes with its share of drafts: 900,000 / 1,800
    # = 500 slots; 48 requests x 4 drafts x 1,000 bytes beside them.
    wish = StateWish(requests=48, draft_tokens=4)
    assert state_pool(REST, SLOT, wish, MIDDLE) == StatePool(500, 192_000 + 500_000)


def test_drafts_and_a_spare_slot_since_0_5_18() -> None:
    # (900,000 - 5,000) / 1,800 = 497 slots; 49 x 4 drafts and 498 states.
    wish = StateWish(requests=48, draft_tokens=4)
    assert state_pool(REST, SLOT, wish, NEW) == StatePool(497, 196_000 + 498_000)


def test_no_more_requests_draft_than_have_slots() -> None:
    # 20 slots are enough for 4 requests of 5 slots: 4 x 4 drafts beside 20 states.
    wish = StateWish(slots=20, requests=48, draft_tokens=4)
    assert state_pool(REST, SLOT, wish, MIDDLE) == StatePool(20, 16_000 + 20_000)


def test_too_little_room_for_one_state() -> None:
    assert state_pool(1_000, SLOT, StateWish(), NEW).slots <= 0

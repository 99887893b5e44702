# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a plan calls certain must start, in every order in which ranks may arrive.

The engine's check is simulated apart from the plan, see `guard_simulator`.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.guard import (
    order_limit,
    together_limit,
)
from ansible_collections.llmops.sglang.plugins.module_utils._plan.pools import Shape
from ansible_collections.llmops.sglang.plugins.module_utils._plan.ram import read_ram
from ansible_collections.llmops.sglang.plugins.module_utils._plan.setting import (
    Pool,
    read_setting,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.guard_simulator import (
    VERSIONS,
    booked,
    outcomes,
    share_of,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    GROUPED_MODEL,
    LATENT_MODEL,
    SMALL_DRAFT,
    drafting,
    host,
    wishes,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def pool_bytes(capacity: dict[str, Any]) -> tuple[int, ...]:
    """Bytes of each pool of one rank."""
    each = capacity["bytes_per_token"]
    host_tier = capacity["host"]
    pools = [host_tier["tokens"] * each["target"]]
    if host_tier["draft_tokens"]:
        pools.append(host_tier["draft_tokens"] * each["draft"])
    return tuple(pools)


def ends(capacity: dict[str, Any], version: str) -> set[str]:
    """What the simulated engine may do with the host tier of a plan."""
    free = capacity["ram"]["available_after_stop_bytes"]
    ranks, tier = capacity["ranks_per_node"], capacity["host"]
    if tier["mode"] == "engine_auto":
        return {booked(free, tier["fraction"], pool_bytes(capacity), ranks, ranks)}
    return outcomes(free, pool_bytes(capacity), ranks, share=share_of(version, ranks))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_the_chosen_tier_starts_in_every_order(version: str, ranks: int) -> None:
    facts = host(version, draft=SMALL_DRAFT, gpus=ranks)

    capacity = plan_capacity(facts, drafting(tp_size=ranks))

    assert capacity["host"]["certainty"] == "certain"
    assert ends(capacity, version) == {"started"}


@pytest.mark.parametrize("version", VERSIONS)
def test_certain_likely_and_no_mean_what_the_simulation_does(version: str) -> None:
    facts = host(version, draft=SMALL_DRAFT)
    for hundredths in range(105, 700, 35):
        asked = drafting(hicache_mode="ratio", hicache_ratio=hundredths / 100)
        capacity = plan_capacity(facts, asked)
        found = ends(capacity, version)
        certainty = capacity["host"]["certainty"]
        if certainty == "certain":
            assert found == {"started"}, hundredths
        elif certainty == "likely":
            assert "refused" in found, hundredths
            assert "started" in found, hundredths
        else:
            assert found != {"started"}, hundredths


def test_the_largest_certain_ratio_is_the_largest() -> None:
    for version, larger in (("0.5.18", 4.38), ("0.5.20", 2.41)):
        asked = drafting(hicache_mode="ratio", hicache_ratio=larger)
        capacity = plan_capacity(host(version, draft=SMALL_DRAFT), asked)
        assert ends(capacity, version) != {"started"}


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("sizes", [(1_000,), (1_000, 60), (1_000, 9_000), (500, 700, 900)], ids=str)
def test_the_limits_of_the_check_are_exact(sizes: tuple[int, ...], ranks: int) -> None:
    facts = host("0.5.20", available_gib=11)
    setting = read_setting(facts, wishes(tp_size=ranks))
    ram = read_ram(facts, wishes(tp_size=ranks), setting)
    assert ram is not None
    pools = tuple(Pool(str(number), size) for number, size in enumerate(sizes))
    shape = Shape(1, True, pools, setting.parallel)

    def can(slots: int) -> set[str]:
        return outcomes(ram.after_stop_bytes, shape.bytes_by_pool(slots), ranks, share=ranks)

    order = order_limit(shape, ram, setting.rules)
    together = together_limit(shape, ram)
    assert order is not None
    assert can(order.max_slots) == {"started"}
    assert "refused" in can(order.max_slots + 1)
    assert "started" in can(together.max_slots)
    assert "started" not in can(together.max_slots + 1)


hosts = st.fixed_dictionaries(
    {
        "version": st.sampled_from(VERSIONS),
        "tokens": st.integers(2_000, 3_000_000),
        "available_gib": st.floats(11, 3_000),
        "model": st.sampled_from([LATENT_MODEL, GROUPED_MODEL]),
    }
)
asked = st.fixed_dictionaries(
    {
        "tp_size": st.sampled_from([1, 2, 4, 8]),
        "page_size": st.sampled_from([1, 16, 64]),
        "hicache_reserve_gib": st.integers(0, 64),
        "hicache_headroom_gib": st.integers(0, 32),
        "hicache_budget_gib": st.none() | st.integers(1, 2_000),
        "hicache_ratio_max": st.floats(1, 12),
    }
)


@settings(max_examples=120, deadline=None)
@given(facts=hosts, changes=asked, drafts=st.booleans())
def test_the_choice_keeps_every_limit_and_always_starts(
    facts: dict[str, Any], changes: dict[str, Any], drafts: bool
) -> None:
    wish = drafting(**changes) if drafts else wishes(**changes)

    capacity = plan_capacity(host(**facts, draft=SMALL_DRAFT if drafts else None), wish)

    tier = capacity["host"]
    if tier["mode"] == "off":
        assert tier["bytes_node"] == 0
        assert {entry["id"] for entry in capacity["findings"]} & {"RAM-001"}
        return
    assert tier["certainty"] == "certain"
    for limit in capacity["limits"]:
        assert limit["needed_bytes"] <= limit["limit_bytes"], limit
    kept = max(changes["hicache_reserve_gib"], 10) + changes["hicache_headroom_gib"]
    assert tier["bytes_node"] <= capacity["ram"]["available_after_stop_bytes"] - kept * GIB
    assert tier["bytes_node"] <= (changes["hicache_budget_gib"] or 10**6) * GIB
    assert tier["tokens"] >= capacity["device"]["tokens"]
    assert capacity["tokens"]["in_reach"] >= capacity["tokens"]["device"]
    assert ends(capacity, facts["version"]) == {"started"}


@settings(max_examples=80, deadline=None)
@given(
    version=st.sampled_from(VERSIONS),
    available_gib=st.floats(60, 2_000),
    fraction=st.floats(0.78, 0.92),
    off_by=st.floats(-1, 1),
)
def test_a_certain_ratio_starts_though_the_prediction_was_off(
    version: str, available_gib: float, fraction: float, off_by: float
) -> None:
    facts = host(version, tokens=None, available_gib=available_gib)
    capacity = plan_capacity(facts, wishes(mem_fraction_static=fraction))
    tier, device = capacity["host"], capacity["device"]
    if tier["mode"] != "ratio":
        return

    true_tokens = int(device["tokens"] * (1 + off_by * device["error_percent"] / 100))
    spare = 0 if version == "0.5.4.post3" else 1
    slots = int(true_tokens * tier["ratio"]) + spare
    pools = (slots * capacity["bytes_per_token"]["target"],)

    free = capacity["ram"]["available_after_stop_bytes"]
    assert outcomes(free, pools, 8, share=share_of(version, 8)) == {"started"}


@settings(max_examples=80, deadline=None)
@given(facts=hosts, changes=asked, more_gib=st.floats(0, 500))
def test_more_ram_does_not_mean_less_in_reach(
    facts: dict[str, Any], changes: dict[str, Any], more_gib: float
) -> None:
    richer = {**facts, "available_gib": facts["available_gib"] + more_gib}

    before = plan_capacity(host(**facts), wishes(**changes))
    after = plan_capacity(host(**richer), wishes(**changes))

    # But for rounding down: ratios have two decimals, fractions three, pools whole pages.
    least = before["tokens"]["in_reach"]
    least -= math.ceil(0.01 * facts["tokens"] + 0.0025 * least) + 2 * changes["page_size"]
    assert after["tokens"]["in_reach"] >= least


@settings(max_examples=80, deadline=None)
@given(facts=hosts, changes=asked)
def test_options_are_ranked_and_certain_ones_keep_the_ram(
    facts: dict[str, Any], changes: dict[str, Any]
) -> None:
    capacity = plan_capacity(host(**facts), wishes(**changes))

    options = capacity["options"]
    assert [entry["rank"] for entry in options] == list(range(1, len(options) + 1))
    order = [("certain", "likely", "no").index(entry["certainty"]) for entry in options]
    assert order == sorted(order)
    for entry in options:
        if entry["certainty"] == "certain":
            assert entry["ram_bytes"] <= capacity["ram"]["usable_bytes"]

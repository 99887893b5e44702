# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running tiers against planned ones: what check mode and --diff show."""

from __future__ import annotations

from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.running import running_tiers
from ansible_collections.llmops.sglang.plugins.module_utils._render.comparison import (
    comparison_diff,
    comparison_report,
    tier_lines,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    SMALL_DRAFT,
    drafting,
    host,
    wishes,
)

DEVICE_BYTES = 159_300 * 70_272
#: A host tier of ratio 4.37 on eight ranks: 696,142 slots of 70,272 + 4,096 bytes.
SLOTS = 696_142
STARTED = {
    "context_tokens": 262_144,
    "device_bytes_per_rank": DEVICE_BYTES,
    "host_tokens": 0,
    "host_bytes_per_rank": 0,
}
POOLED = {
    **STARTED,
    "host_tokens": SLOTS,
    "host_bytes_per_rank": SLOTS * 70_272,
    "draft_host_bytes_per_rank": SLOTS * 4_096,
}


def plan_of(facts: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """As much of a plan as a comparison reads."""
    capacity = plan_capacity(facts, asked)
    running = running_tiers(facts, capacity)
    return {"unit": "sglang-kimi.service", "capacity": capacity, "running": running}


def test_old_against_new_on_one_screen() -> None:
    plan = plan_of(host("0.5.18", draft=SMALL_DRAFT, startup=STARTED), drafting())
    assert (
        comparison_report(plan)
        == """\
Tiers                                       running              planned
  SGLang                                     0.5.18               0.5.18
  device tier                        159,300 tokens       159,300 tokens
  device tier, per rank                    10.4 GiB             10.4 GiB
  host tier, per rank                          none             48.2 GiB
  host tier, on this host                      none            385.7 GiB
  tokens in reach                    159,300 tokens       696,141 tokens
  requests of 32,768 at once                      4                   21
  longest single request             159,300 tokens       159,300 tokens
"""
    )


def test_the_same_tiers_are_no_difference() -> None:
    """Bytes of a log are rounded, and a slot may tip over; neither is a change."""
    running = {**POOLED, "host_tokens": SLOTS - 1, "device_bytes_per_rank": DEVICE_BYTES + 9_999}
    asked = drafting(hicache_mode="ratio", hicache_ratio=4.37)
    plan = plan_of(host("0.5.18", draft=SMALL_DRAFT, startup=running), asked)
    assert plan["capacity"]["host"]["tokens"] == SLOTS
    assert comparison_diff(plan) is None and comparison_report(plan) == ""


def test_a_diff_shows_the_lines_that_change() -> None:
    plan = plan_of(host("0.5.18", draft=SMALL_DRAFT, startup=POOLED), drafting(hicache_mode="off"))
    diff = comparison_diff(plan)
    assert diff is not None
    assert diff["before_header"] == "sglang-kimi.service, running"
    assert diff["after_header"] == "sglang-kimi.service, planned"
    before, after = (diff[side].splitlines() for side in ("before", "after"))
    assert [line for line in before if line not in after] == [
        "host tier, per rank: 48.2 GiB",
        "host tier, on this host: 385.7 GiB",
        "tokens in reach: 696,141 tokens",
        "requests of 32,768 at once: 21",
    ]
    assert "host tier, on this host: none" in after
    # Ansible compares line by line: both sides have the same lines in the same order.
    assert [line.split(":")[0] for line in before] == [line.split(":")[0] for line in after]


def test_nothing_runs_yet() -> None:
    plan = plan_of(host("0.5.21", tokens=None), wishes(mem_fraction_static=0.9))
    diff = comparison_diff(plan)
    assert (
        diff is not None and diff["before"] == "" and diff["after"].startswith("SGLang: 0.5.21\n")
    )
    report = comparison_report(plan)
    assert report.endswith("  the planned device tier is predicted, +/- 7 %\n")
    assert report.splitlines()[1].split() == ["SGLang", "none", "0.5.21"]


def test_another_version_is_a_difference() -> None:
    facts = host("0.5.18", draft=SMALL_DRAFT, startup=POOLED)
    facts["server"]["info"] = {"version": "0.5.10", "page_size": 1}
    diff = comparison_diff(plan_of(facts, drafting()))
    assert diff is not None and "SGLang: 0.5.10\n" in diff["before"]


def test_what_a_journal_no_longer_tells_is_unknown_and_not_none() -> None:
    facts = host("0.5.18", startup={"host_tokens": None, "host_bytes_per_rank": None})
    plan = plan_of(facts, wishes())
    before = tier_lines(plan["running"])
    assert "host tier, on this host: unknown\n" in before
    assert "tokens in reach: unknown\n" in before
    assert "device tier, per rank: unknown\n" in before


def test_copies_that_share_nothing_are_counted_together() -> None:
    facts = host("0.5.18", startup=POOLED)
    facts["server"]["info"] = {"dp_size": 2}
    running = running_tiers(facts, plan_capacity(facts, wishes()))
    assert running is not None
    assert running["tokens"] == {"device": 318_600, "in_reach": 2 * (SLOTS - 1)}
    assert running["requests"] == {"context_tokens": 32_768, "device": 8, "in_reach": 42}
    assert running["longest_request_tokens"] == 159_300

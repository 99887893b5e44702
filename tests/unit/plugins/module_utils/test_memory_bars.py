# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What memory is used for: every byte once, and nothing made up."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._render.memory import (
    Bar,
    gpu_bars,
    planned_gpu_bar,
    ram_bars,
    tier_bars,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    MIB,
    SMALL_DRAFT,
    drafting,
    host,
    wishes,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.report_hosts import (
    host_of,
    planned,
)

TOTAL = 96 * GIB
STARTED = {
    "weights_bytes_per_rank": 64 * GIB,
    "device_bytes_per_rank": 10 * GIB,
    "draft_tokens": 159_300,
    "host_tokens": 0,
    "host_bytes_per_rank": 0,
}


def gpu(**changes: Any) -> dict[str, Any]:
    """Facts of a host whose one GPU has 96 GiB, of which 8 are free."""
    device = {"index": 0, "memory_total_bytes": TOTAL, "memory_free_bytes": 8 * GIB, **changes}
    facts = host("0.5.18", gpus=0, startup=STARTED)
    facts["server"]["unit"] = "sglang-kimi.service"
    facts["gpu"]["devices"] = [device]
    return facts


def one_gpu(**changes: Any) -> Bar:
    return gpu_bars(gpu(**changes), {"bytes_per_token": {"draft": 4_096}})[0]


def memory(total_gib: int = 449, **changes: Any) -> dict[str, Any]:
    return {
        "total_bytes": total_gib * GIB,
        "cached_bytes": 340 * GIB,
        "shmem_bytes": GIB,
        **changes,
    }


@pytest.mark.parametrize("name", ["headline", "h200-nvlink", "gb10", "mig"])
def test_bars_of_recorded_hosts_add_up(name: str) -> None:
    entry = planned(name)
    facts, plan = entry["facts"], entry["plan"]
    bars = [
        *gpu_bars(facts, plan["capacity"]),
        *ram_bars(facts, plan),
        *tier_bars(plan),
        *filter(None, [planned_gpu_bar(facts, plan["capacity"])]),
    ]
    assert len(bars) > 2
    for stack in bars:
        assert all(size >= 0 for size in stack.segments.values()), stack
        assert stack.total_bytes is None or sum(stack.segments.values()) == stack.total_bytes, stack
        assert (stack.total_bytes is None) == (stack.note is not None), stack


def test_a_gpu_of_a_ready_server() -> None:
    draft = 159_300 * 4_096
    assert one_gpu().segments == {
        "weights": 64 * GIB,
        "kv": 10 * GIB,
        "draft": draft,
        "graphs": 14 * GIB - draft,
        "free": 8 * GIB,
    }


def test_what_is_used_may_be_all_that_is_told() -> None:
    stack = one_gpu(memory_free_bytes=None, memory_used_bytes=88 * GIB)
    assert stack.segments["free"] == 8 * GIB


@pytest.mark.parametrize(
    "changes",
    [
        {"processes": [{"pid": 7, "unit": "other.service"}]},
        {"memory_free_bytes": 90 * GIB},
    ],
)
def test_a_gpu_that_cannot_hold_the_server_is_only_used_and_free(changes: dict[str, Any]) -> None:
    assert set(one_gpu(**changes).segments) == {"used", "free"}


def test_why_a_gpu_is_unknown() -> None:
    why = {"memory_total_bytes": "Unknown Error"}
    assert one_gpu(memory_total_bytes=None, unknown=why).note == "unknown (Unknown Error)"
    assert one_gpu(memory_kind="unified").note == "shares the host's RAM"


def test_a_planned_gpu() -> None:
    facts = host("0.5.21", tokens=None, draft=SMALL_DRAFT)
    capacity = host_of(facts, drafting(mem_fraction_static=0.9))["plan"]["capacity"]
    stack = planned_gpu_bar(facts, capacity)
    assert stack is not None and stack.predicted and stack.total_bytes == 97_887 * MIB
    assert stack.segments["weights"] == 547 * 10**9 // 8
    assert stack.segments["kv"] == capacity["device"]["bytes_per_rank"]
    assert stack.segments["draft"] == capacity["device"]["tokens"] * 4_096
    assert planned_gpu_bar(*measured_pool()) is None


def measured_pool() -> tuple[dict[str, Any], dict[str, Any]]:
    facts = host("0.5.21")
    return facts, host_of(facts, wishes())["plan"]["capacity"]


def test_ram_now_and_as_planned() -> None:
    facts = host("0.5.18", draft=SMALL_DRAFT, startup=STARTED, memory=memory())
    now, then = ram_bars(facts, host_of(facts, drafting())["plan"])
    assert now.segments == {"programs": 53 * GIB, "pinned": 0, "cache": 339 * GIB, "free": 57 * GIB}
    assert then.segments["pinned"] == 696_142 * (70_272 + 4_096) * 8
    assert then.segments["reserve"] == 10 * GIB and then.segments["programs"] == 53 * GIB
    assert then.predicted and not now.predicted


def test_pools_that_are_pinned_now_are_not_counted_as_programs() -> None:
    startup = {**STARTED, "host_tokens": 600_000, "host_bytes_per_rank": 40 * GIB}
    facts = host("0.5.18", available_gib=60, startup=startup, memory=memory())
    now = ram_bars(facts, host_of(facts, wishes())["plan"])[0]
    assert now.segments["pinned"] == 320 * GIB and now.segments["programs"] == 69 * GIB
    assert now.segments["cache"] == 60 * GIB and now.segments["free"] == 0


def test_a_tier_that_does_not_fit_is_said_and_not_drawn() -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=5.0)
    facts = host("0.5.18", memory=memory())
    stack = ram_bars(facts, host_of(facts, asked)["plan"])[1]
    assert stack.total_bytes is None and stack.note == "does not fit beside what is kept free"


def test_ram_that_is_unknown() -> None:
    assert ram_bars({"memory": {"reason": "OSError: x"}}, None)[0].note == "unknown (OSError: x)"


def test_tiers_in_tokens() -> None:
    facts = host("0.5.18", startup=STARTED, memory=memory())
    now, then = tier_bars(host_of(facts, wishes())["plan"])
    assert now.segments == {"kv": 159_300, "pinned": 0}
    assert then.segments["kv"] == 159_300 and then.segments["pinned"] > 0 and not then.predicted

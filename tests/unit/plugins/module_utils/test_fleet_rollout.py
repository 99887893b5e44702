# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schedule before a rollout and the summary after it, as data and for people."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._fleet.member import Member
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.rollout import (
    plan_rollout,
    sum_up,
)
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.schedule import Wish
from ansible_collections.llmops.sglang.plugins.module_utils._render.rollout_report import (
    rollout_report,
    schedule_report,
)

CHANGE = {"kind": "argument", "name": "--hicache-ratio", "running": None, "wanted": "4.37"}


def host(name: str, **other: Any) -> Member:
    values = {"need": "restart", "verdict": "proceed", "serves": True, "tokens_before": 159_300}
    values.update(tokens_after=696_141, changes=(CHANGE,), boot_id="boot-1", instance="kimi")
    return Member(name, name, **{**values, **other})


def done(name: str) -> Member:
    return host(name, need="none", verdict="nothing", proven=True, changes=(), tokens_after=159_300)


FLEET = [host("gpu-01"), host("gpu-02"), done("gpu-03"), host("gpu-04")]
PROVEN = {"outcome": "proven", "boot_id": "boot-1", "began_s": 100.0, "ended_s": 580.0}


def rollout(members: list[Member] | None = None) -> dict[str, Any]:
    return plan_rollout(members or FLEET, Wish(1, 1, min_available=2))


def test_the_schedule_shows_each_host_with_batch_change_and_verdict() -> None:
    text = schedule_report(rollout())
    lines = text.splitlines()
    assert lines[0] == "Rollout: 3 of 4 hosts in 3 batches, 2 workers stay in reach"
    assert lines[2].split() == [
        "canary",
        "gpu-01",
        "restart",
        "159,300",
        "->",
        "696,141",
        "may",
        "go",
        "on",
    ]
    assert lines[3].strip() == "--hicache-ratio (none) -> 4.37"
    assert lines[8].split() == ["-", "gpu-03", "nothing", "159,300", "as", "wanted"]
    assert max(map(len, lines)) <= 80


def test_a_blocked_host_stops_everything_before_it_begins() -> None:
    blocked = host("gpu-02", verdict="blocked", refusals=("371 GiB available",))
    planned = rollout([FLEET[0], blocked])
    assert planned["problems"] == [
        "gpu-02 is not fit for it: the gate says blocked: 371 GiB available"
    ]
    text = schedule_report(planned)
    assert "BLOCKED" in text and "Nothing is changed:" in text
    ended = sum_up(planned, {}, {}, check_mode=False)
    assert ended["stops"] and ended["failed"] == ["gpu-02"] and not ended["finished"]
    assert ended["hosts"]["gpu-01"]["outcome"] == "untouched"
    assert "Nothing was changed" in ended["next"]


def test_a_host_that_was_not_reached_is_told_with_its_reason() -> None:
    planned = rollout([FLEET[0], Member("gpu-02", "gpu-02", failure="weights: 3 files missing")])
    assert planned["problems"] == ["gpu-02 is not fit for it: weights: 3 files missing"]
    assert "FAILED" in schedule_report(planned)


def test_a_floor_out_of_reach_is_the_only_error_then() -> None:
    planned = plan_rollout(FLEET, Wish(1, min_available=4))
    assert len(planned["problems"]) == 1 and planned["batches"] == []
    assert planned["sizes"] == [4]
    assert sum_up(planned, {}, {}, check_mode=False)["stops"]


def test_a_finished_rollout_says_so() -> None:
    results = {name: PROVEN for name in ("gpu-01", "gpu-02", "gpu-04")}
    ended = sum_up(rollout(), results, dict.fromkeys(results, "boot-1"), check_mode=False)
    assert ended["finished"] and not ended["stops"] and ended["failed"] == []
    lines = rollout_report(ended).splitlines()
    assert lines[1].split() == ["gpu-01", "canary", "159,300", "696,141", "proven", "8", "min"]
    assert lines[4].split() == ["gpu-03", "-", "159,300", "159,300", "nothing", "to", "do", "-"]


def test_one_that_was_rolled_back_stops_it_and_the_rest_stays() -> None:
    message = "gpu-02 did not start\nThe unit proven on 27 Nov is back"
    bad = {"outcome": "rolled_back", "message": message, "began_s": 1.0, "ended_s": 31.0}
    ended = sum_up(rollout(), {"gpu-01": PROVEN, "gpu-02": bad}, {}, check_mode=False)
    assert ended["stops"] and ended["failed"] == ["gpu-02"]
    told = {name: entry["outcome"] for name, entry in ended["hosts"].items()}
    assert told == {
        "gpu-01": "proven",
        "gpu-02": "rolled_back",
        "gpu-03": "nothing_to_do",
        "gpu-04": "untouched",
    }
    # It serves what it served before.
    assert ended["hosts"]["gpu-02"]["tokens_now"] == 159_300
    text = rollout_report(ended)
    assert "gpu-02:\n  gpu-02 did not start\n  The unit proven on 27 Nov is back" in text
    assert "Stopped at gpu-02; 1 hosts were not touched." in text


def test_a_host_that_serves_nothing_has_unknown_tokens() -> None:
    ended = sum_up(rollout(), {"gpu-01": {"outcome": "failed", "began_s": 1.0}}, {}, False)
    assert ended["hosts"]["gpu-01"]["tokens_now"] is None


def test_a_reboot_after_its_turn_stops_it() -> None:
    ended = sum_up(rollout(), {"gpu-01": PROVEN}, {"gpu-01": "boot-2"}, check_mode=False)
    assert ended["hosts"]["gpu-01"]["outcome"] == "rebooted" and ended["stops"]


def test_a_host_that_went_away_stops_it() -> None:
    ended = sum_up(rollout(), {"gpu-01": PROVEN}, {"gpu-01": ""}, check_mode=False)
    assert ended["hosts"]["gpu-01"]["outcome"] == "lost" and ended["stops"]
    # Dropped by Ansible in the middle: it began and never ended.
    ended = sum_up(rollout(), {"gpu-01": {"began_s": 1.0}}, {}, check_mode=False)
    assert ended["hosts"]["gpu-01"]["outcome"] == "lost" and ended["stops"]


def test_a_host_as_wanted_that_no_router_takes_stops_it() -> None:
    lost = {"outcome": "not_routed", "message": "router http://r:1 gave up on it"}
    ended = sum_up(rollout(), {"gpu-03": lost}, {}, check_mode=False)
    assert ended["failed"] == ["gpu-03"]


def test_check_mode_has_the_schedule_of_the_real_run_and_promises_nothing() -> None:
    planned = rollout()
    ended = sum_up(copy.deepcopy(planned), {}, {}, check_mode=True)
    assert {key: ended[key] for key in ("batches", "order", "sizes")} == {
        key: planned[key] for key in ("batches", "order", "sizes")
    }
    assert not ended["finished"] and not ended["stops"]
    assert "goes by this schedule" in rollout_report(ended)

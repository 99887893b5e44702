# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a restart is allowed: freeze file, maintenance window, restart budget."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate.allowed import (
    check_budget,
    check_window,
    in_window,
)
from ansible_collections.llmops.sglang.plugins.module_utils._record.notes import stamp
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import subject

NOW = datetime.now(timezone.utc)


def test_a_freeze_file_forbids_restarts_with_its_first_line(tmp_path: Path) -> None:
    assert check_window(subject(tmp_path)).status == "passed"
    folder = tmp_path / "etc/sglang/kimi"
    folder.mkdir(parents=True)
    (folder / "freeze").write_text("benchmark until Friday\nask the day shift\n")
    result = check_window(subject(tmp_path))
    assert (result.status, result.measured) == ("blocked", "frozen: benchmark until Friday")
    (folder / "freeze").write_text("")
    assert check_window(subject(tmp_path)).measured == "frozen: no reason given"


# 2026-11-30 is a Monday.
@pytest.mark.parametrize(
    ("window", "day", "time", "allowed"),
    [
        ("02:00-05:00", 30, "02:00", True),
        ("02:00-05:00", 30, "05:00", False),
        ("22:00-05:00", 30, "23:59", True),
        ("22:00-05:00", 30, "04:59", True),
        ("22:00-05:00", 30, "12:00", False),
        ("Mon 22:00-05:00", 30, "23:00", True),
        # The night that began on Sunday is not Monday's.
        ("Mon 22:00-05:00", 30, "04:00", False),
        ("Sun 22:00-05:00", 30, "04:00", True),
        ("Sat,Sun 00:00-24:00", 30, "12:00", False),
        ("Sat,Sun 00:00-24:00", 29, "12:00", True),
        ("Fri-Mon 08:00-09:00", 30, "08:30", True),
        ("Tue-Thu 08:00-09:00", 30, "08:30", False),
        ("Tue 01:00-02:00; Mon 08:00-09:00", 30, "08:30", True),
    ],
)
def test_the_window(window: str, day: int, time: str, allowed: bool) -> None:
    now = datetime.strptime(f"2026-11-{day} {time}", "%Y-%m-%d %H:%M")
    assert in_window(window, now) is allowed


@pytest.mark.parametrize("window", ["night", "25:00-26:00", "Mo 02:00-03:00", "02:70-03:00", ";"])
def test_a_window_that_is_none_names_the_variable(window: str) -> None:
    with pytest.raises(ValueError, match="sglang_restart_window"):
        in_window(window, NOW)


def test_outside_the_window_the_refusal_tells_both_times(tmp_path: Path) -> None:
    local = datetime.now().astimezone()
    begin, end = (f"{local + timedelta(hours=hours):%H:%M}" for hours in (2, 3))
    result = check_window(subject(tmp_path, window=f"{begin}-{end}"))
    assert result.status == "blocked"
    assert f"{local:%a}" in result.measured
    assert result.needed == f"a time within {begin}-{end}"
    assert result.variable == "sglang_restart_window"


def write_diary(root: Path, hours_ago: list[float], restarted: bool = True) -> None:
    path = root / "var/log/llmops-sglang/kimi.jsonl"
    path.parent.mkdir(parents=True)
    notes = [
        {"at": stamp(NOW - timedelta(hours=hours)), "restarted": restarted} for hours in hours_ago
    ]
    path.write_text("".join(json.dumps(note) + "\n" for note in notes))


@pytest.mark.parametrize(
    ("hours_ago", "restarted", "status"),
    [
        ([], True, "passed"),
        ([3, 2], True, "passed"),
        ([5, 3, 2], True, "blocked"),
        ([25, 3, 2], True, "passed"),
        ([5, 3, 2], False, "passed"),
    ],
)
def test_the_budget(tmp_path: Path, hours_ago: list[float], restarted: bool, status: str) -> None:
    write_diary(tmp_path, hours_ago, restarted)
    assert check_budget(subject(tmp_path, restarts_max=3)).status == status


def test_a_spent_budget_tells_when_there_is_room_again(tmp_path: Path) -> None:
    write_diary(tmp_path, [20, 5, 3, 2])
    result = check_budget(subject(tmp_path, restarts_max=3))
    assert result.measured.startswith("4 in 24 hours, the last one at")
    # The oldest of the three latest ones leaves the 24 hours in 19 hours.
    assert f"{NOW + timedelta(hours=19):%Y-%m-%d %H:%M} UTC" in str(result.remedy)
    assert result.variable == "sglang_restart_max"


def test_a_server_that_is_down_may_always_be_started(tmp_path: Path) -> None:
    write_diary(tmp_path, [5, 3, 2])
    assert check_budget(subject(tmp_path, need="start", restarts_max=3)).status == "passed"


def test_no_budget_means_no_limit(tmp_path: Path) -> None:
    write_diary(tmp_path, [5, 3, 2])
    assert check_budget(subject(tmp_path)).status == "passed"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions that run their module in parts: the wait for another play, for a start, for a
download, for the end of a soak."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("ansible.plugins.action")
from ansible_collections.llmops.sglang.plugins.action import claim, prove, soak, weights


class Display:
    """Keeps what would have been shown."""

    lines: list[str] = []

    def display(self, line: str) -> None:
        self.lines.append(line)


class Task:
    """The few things that an action asks of its task."""

    def __init__(self, **args: Any) -> None:
        self.args = args
        self.async_val = 0


Run = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run an action whose module gives one answer after the other; returns what it was asked."""
    Display.lines = []
    for plugin in (claim, prove, soak, weights):
        monkeypatch.setattr(plugin, "Display", Display)
        monkeypatch.setattr(plugin.ActionBase, "run", lambda *_a, **_k: {})

    def play(plugin: Any, answers: list[dict[str, Any]], **args: Any) -> Any:
        asked: list[dict[str, Any]] = []

        class Action(plugin.ActionModule):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                self._task = Task(**args)

            def _execute_module(self, module_args: dict[str, Any], **_more: Any) -> Any:
                asked.append(dict(module_args))
                return dict(answers[min(len(asked), len(answers)) - 1])

        return Action().run(task_vars={"inventory_hostname": "gpu-01"}), asked

    return play


# --- claim ---------------------------------------------------------------------------------------


def held_by(pid: int, started: str, host: str | None = None) -> dict[str, Any]:
    mine = claim.this_play()
    owner = {**mine, "host": host or mine["host"], "pid": pid, "started": started}
    return {"failed": True, "msg": "held", "held_by": {"owner": owner}}


def test_a_free_instance_is_claimed_in_the_name_of_the_play(run: Run) -> None:
    result, asked = run(claim, [{"changed": False}], instance="kimi")
    assert result == {"changed": False}
    assert asked[0]["owner"]["pid"] == os.getppid()
    assert asked[0]["wait_s"] == 0
    assert Display.lines == []


def test_a_play_of_this_controller_that_is_gone_does_not_block(run: Run) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    holder = held_by(gone.pid, "an-earlier-boot")
    result, asked = run(claim, [holder, {"changed": False}], instance="kimi", wait_s=0)
    assert "failed" not in result
    assert asked[1]["dead"] == holder["held_by"]["owner"]


def test_a_process_with_the_number_of_a_dead_play_is_not_that_play(run: Run) -> None:
    mine = claim.this_play()
    holder = held_by(mine["pid"], "another-start")
    _result, asked = run(claim, [holder, {"changed": False}], instance="kimi", wait_s=0)
    assert "dead" in asked[1]


@pytest.mark.parametrize("host", [None, "another-controller"])
def test_a_play_that_runs_is_waited_for_and_then_respected(run: Run, host: str | None) -> None:
    mine = claim.this_play()
    holder = held_by(mine["pid"], mine["started"], host)
    result, asked = run(claim, [holder], instance="kimi", wait_s=0)
    assert (result["failed"], len(asked)) == (True, 1)
    result, asked = run(claim, [holder, {"changed": False}], instance="kimi", wait_s=60)
    assert "failed" not in result
    assert "dead" not in asked[1]
    assert len(Display.lines) == 1
    assert "waiting for the play of" in Display.lines[0]


def test_another_failure_is_not_a_reason_to_wait(run: Run) -> None:
    result, asked = run(claim, [{"failed": True, "msg": "become root"}], instance="kimi")
    assert (result["msg"], len(asked)) == ("become root", 1)


# --- prove ---------------------------------------------------------------------------------------

LOADED = {"at_s": 70.0, "text": "weights loaded"}
UP = {"at_s": 281.0, "text": "fired up"}


def test_the_progress_of_a_start_is_shown_line_by_line(run: Run) -> None:
    answers = [
        {"waiting": True, "reached": "38 of 64 shards are loaded", "timeline": []},
        {"waiting": True, "reached": "38 of 64 shards are loaded", "timeline": []},
        {"waiting": True, "reached": "it came as far as weights loaded", "timeline": [LOADED]},
        {"changed": False, "proofs": [], "timeline": [LOADED, UP]},
    ]
    result, asked = run(prove, answers, unit="sglang-kimi.service", plan={})
    assert "waiting" not in result
    assert [args.get("timeline") for args in asked] == [None, [], [], [LOADED]]
    assert Display.lines == [
        "gpu-01           38 of 64 shards are loaded",
        "gpu-01     1:10  weights loaded",
        "gpu-01     4:41  fired up",
    ]


def test_a_server_that_is_up_shows_no_start(run: Run) -> None:
    _result, asked = run(prove, [{"changed": False, "timeline": []}], unit="u", plan={})
    assert (len(asked), Display.lines) == (1, [])


def test_who_asks_for_one_part_gets_one_part(run: Run) -> None:
    part = {"waiting": True, "reached": "no weights are loaded yet", "timeline": []}
    result, asked = run(prove, [part], unit="u", plan={}, wait_s=5)
    assert (len(asked), asked[0]["wait_s"], Display.lines) == (1, 5, [])
    assert result["reached"] == "no weights are loaded yet"


# --- weights -------------------------------------------------------------------------------------


def downloading(gigabytes: int) -> dict[str, Any]:
    progress = {"arrived_bytes": gigabytes * 10**9, "total_bytes": 547 * 10**9, "sizes": {"w": 1}}
    return {"waiting": True, "text": f"/m: {gigabytes} of 547 GB", "progress": progress}


def test_a_download_shows_how_far_and_how_fast_it_is(run: Run) -> None:
    done = {**downloading(547), "waiting": False, "changed": True}
    result, asked = run(weights, [downloading(100), downloading(120), done], path="/m")
    assert Display.lines == [
        "gpu-01   /m: 100 of 547 GB",
        "gpu-01   /m: 120 of 547 GB, 1000 MB/s, about 7 min to go",
    ]
    assert [part.get("progress", {}).get("arrived_bytes") for part in asked] == [
        None,
        100 * 10**9,
        120 * 10**9,
    ]
    assert result["changed"] and "sizes" not in result["progress"]


def test_one_part_of_a_download_is_asked_for_once_and_not_shown(run: Run) -> None:
    result, asked = run(weights, [downloading(100)], path="/m", wait_s=5)
    assert result["waiting"] and len(asked) == 1 and asked[0]["wait_s"] == 5
    assert Display.lines == []


# --- soak ----------------------------------------------------------------------------------------


def test_a_soak_says_now_and_then_how_far_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 400, 25))
    monkeypatch.setattr(soak.time, "monotonic", lambda: next(now))
    going = {"waiting": True, "progress": {"asked": 7, "seconds": 61.0}}
    result, asked = run(soak, [going, going, going, {"waiting": False}])
    assert result == {"waiting": False}
    assert asked[-1]["progress"] == going["progress"]
    assert Display.lines == ["gpu-01   soaking: 7 requests in 61 s"]

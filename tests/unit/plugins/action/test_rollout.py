# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions of a rollout: all hosts' notes in, schedule or summary out; a soak in parts."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("ansible.plugins.action")
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible_collections.llmops.sglang.plugins.action import rollout, soak
from ansible_collections.llmops.sglang.plugins.plugin_utils import _connection

FOUND = {
    "address": "10.0.0.1",
    "instance": "kimi",
    "port": "30000",
    "model": "kimi-k2.5",
    "engine_version": "0.5.23",
    "need": "restart",
    "verdict": "proceed",
    "serves": True,
    "boot_id": "boot-1",
    "tokens_before": 100,
    "tokens_after": 200,
    "changes": [{"kind": "argument", "name": "--page-size", "running": "1", "wanted": "16"}],
}
NAMES = ["gpu-01", "gpu-02", "gpu-03"]


class Task:
    """The few things that an action asks of its task."""

    def __init__(self, check_mode: bool = False, **args: Any) -> None:
        self.args = args
        self.check_mode = check_mode
        self.async_val = 0


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []

    class Display:
        def display(self, line: str) -> None:
            lines.append(line)

    for module in (soak, _connection):
        monkeypatch.setattr(module, "Display", Display)
    monkeypatch.setattr(rollout.ActionBase, "run", lambda *_a, **_k: {})
    return lines


def act(hostvars: dict[str, Any], check_mode: bool = False, **args: Any) -> dict[str, Any]:
    class Action(rollout.ActionModule):
        def __init__(self) -> None:
            self._task = Task(check_mode, hosts=list(hostvars), **args)

    result: dict[str, Any] = Action().run(task_vars={"hostvars": hostvars})
    return result


def fleet(**notes: dict[str, Any]) -> dict[str, Any]:
    """Hosts as the role left them; `notes` go to gpu-01, with their full names."""
    found = {
        name: {"__sglang_rollout_found": {**FOUND, "address": name}, "other": {}} for name in NAMES
    }
    found["gpu-01"].update(notes)
    return found


def scheduled(**args: Any) -> dict[str, Any]:
    made: dict[str, Any] = act(fleet(), state="scheduled", **args)["rollout"]
    return made


def boot(text: str) -> str:
    return base64.b64encode(f"{text}\n".encode()).decode()


def test_notes_of_all_hosts_become_batches() -> None:
    result = act(fleet(), state="scheduled", serial="100%", min_available=1)
    assert result["changed"] is False
    assert result["rollout"]["batches"] == [["gpu-01"], ["gpu-02", "gpu-03"]]
    assert "--page-size 1 -> 16" in result["text"]


def test_a_host_without_a_note_stops_it() -> None:
    made = act({**fleet(), "gpu-04": {}}, state="scheduled")["rollout"]
    assert made["problems"] == ["gpu-04 is not fit for it: it could not be reached"]


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(AnsibleActionFail, match="mixed"):
        act(fleet(), state="scheduled", mixed=["gpus"])


def test_without_a_schedule_there_is_nothing_to_sum_up() -> None:
    with pytest.raises(AnsibleActionFail, match="there is no schedule"):
        act(fleet(), state="summed_up")


def test_a_boot_that_changed_since_is_seen_by_either_look() -> None:
    result = {"outcome": "proven", "boot_id": "boot-1", "began_s": 1.0, "ended_s": 2.0}
    notes = {"__sglang_rollout_schedule": scheduled(), "__sglang_rollout_result": result}
    same, other = boot("boot-1"), boot("boot-2")
    assert not act(fleet(**notes), state="summed_up")["rollout"]["stops"]
    looked = [{"item": "gpu-01", "content": same}]
    assert not act(fleet(**notes), state="summed_up", looked=looked)["rollout"]["stops"]
    looked = [{"item": "gpu-01", "content": other}]
    assert act(fleet(**notes), state="summed_up", looked=looked)["rollout"]["stops"]
    last = {"__sglang_rollout_boot": {"content": other}}
    assert act(fleet(**notes, **last), state="summed_up")["rollout"]["failed"] == ["gpu-01"]
    gone = {"__sglang_rollout_boot": {"unreachable": True, "msg": "no route to host"}}
    told = act(fleet(**notes, **gone), state="summed_up")["rollout"]["hosts"]["gpu-01"]
    assert told["outcome"] == "lost"
    # A look that was not taken says nothing.
    skipped = {"__sglang_rollout_boot": {"skipped": True}}
    assert not act(fleet(**notes, **skipped), state="summed_up")["rollout"]["stops"]


def test_check_mode_is_told() -> None:
    notes = {"__sglang_rollout_schedule": scheduled()}
    assert act(fleet(**notes), True, state="summed_up")["rollout"]["check_mode"]


# --- soak and lost connections -------------------------------------------------------------------

Answer = Any
Soak = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Soak:
    """Run the soak's action whose module gives one answer, or error, after the other."""
    clock = {"now": 0.0}
    monkeypatch.setattr(_connection.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(
        _connection.time, "sleep", lambda s: clock.__setitem__("now", clock["now"] + s)
    )

    def play(answers: list[Answer], **args: Any) -> Any:
        asked: list[dict[str, Any]] = []

        class Action(soak.ActionModule):
            _connection = None

            def __init__(self) -> None:
                self._task = Task(**args)

            def _execute_module(self, module_args: dict[str, Any], **_more: Any) -> Any:
                asked.append(dict(module_args))
                answer = answers[min(len(asked), len(answers)) - 1]
                if isinstance(answer, Exception):
                    raise answer
                return dict(answer)

        return Action().run(task_vars={"inventory_hostname": "gpu-01"}), asked

    return play


PART = {"waiting": True, "progress": {"asked": 3, "seconds": 20.0}}
LOST = AnsibleConnectionFailure("connection timed out")
CUT_OFF = {"failed": True, "module_stdout": "", "msg": "MODULE FAILURE", "rc": 137}


def test_a_soak_goes_on_part_by_part(run: Soak) -> None:
    result, asked = run([PART, {"text": "soaked"}])
    assert result == {"text": "soaked"}
    assert "progress" not in asked[0] and asked[1]["progress"] == PART["progress"]


def test_who_asks_for_one_part_gets_one(run: Soak) -> None:
    result, asked = run([PART], wait_s=5)
    assert result["waiting"] and len(asked) == 1 and asked[0]["wait_s"] == 5


@pytest.mark.parametrize("loss", [LOST, CUT_OFF])
def test_a_host_that_comes_back_is_judged(run: Soak, quiet: list[str], loss: Answer) -> None:
    rebooted = {"failed": True, "msg": "the host was rebooted"}
    result, asked = run([PART, loss, LOST, LOST, rebooted])
    assert result == rebooted
    assert asked[4]["progress"] == PART["progress"]
    assert quiet == ["gpu-01   the connection was lost; waiting for the host"]


def test_a_host_that_stays_away_is_a_failure_and_not_unreachable(run: Soak) -> None:
    result, asked = run([LOST], reconnect_s=60)
    assert (
        result["failed"] and "did not come back within 60 s: connection timed out" in result["msg"]
    )
    assert len(asked) == 13


def test_a_module_that_always_dies_by_itself_is_not_waited_for(run: Soak) -> None:
    result, asked = run([CUT_OFF])
    assert result["msg"] == "MODULE FAILURE" and len(asked) == 3

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module restart_gate from its arguments to its result."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate import gate
from ansible_collections.llmops.sglang.plugins.module_utils._gate.checks import Check, Subject
from ansible_collections.llmops.sglang.plugins.module_utils._gate.need import Need
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitError
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    UNIT,
    a_plan,
    some_facts,
    unit_state,
)

pytest.importorskip("ansible.module_utils.testing")
from ansible_collections.llmops.sglang.plugins.modules import restart_gate
from ansible_collections.llmops.sglang.tests.unit.plugins.modules.gate_modules import run_module


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Subject]:
    """A unit that runs, needs a restart, and whose memory check refuses."""
    subjects: list[Subject] = []

    def refuse(subject: Subject) -> Check:
        subjects.append(subject)
        return Check("memory", "blocked", "5 GiB", "9 GiB")

    monkeypatch.setattr(restart_gate, "read_unit", lambda _unit: unit_state())
    difference = {"kind": "argument", "name": "--a", "running": None, "wanted": "1"}
    monkeypatch.setattr(
        restart_gate, "find_need", lambda *_values, **_more: Need("restart", [difference])
    )
    monkeypatch.setattr(gate, "CHECKS", {"memory": refuse})
    return subjects


def ask(capsys: pytest.CaptureFixture[str], **more: Any) -> dict[str, Any]:
    arguments = {"unit": UNIT, "plan": a_plan(), "facts": some_facts(), **more}
    return run_module(restart_gate.main, capsys, **arguments)


def test_a_refusal_is_a_result_not_a_failure(
    capsys: pytest.CaptureFixture[str], seen: list[Subject]
) -> None:
    result = ask(capsys)
    assert result["changed"] is False
    assert (result["need"], result["verdict"]) == ("restart", "blocked")
    assert result["differences"][0]["name"] == "--a"
    assert set(result["checks"][0]) == {
        "id",
        "status",
        "measured",
        "needed",
        "remedy",
        "variable",
    }
    assert result["text"].startswith(f"{UNIT}   restart BLOCKED")
    assert seen[0].facts == some_facts()


def test_check_mode_answers_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, check_mode=True) == ask(capsys)


def test_overrides_and_pending_checks(capsys: pytest.CaptureFixture[str]) -> None:
    result = ask(capsys, overrides=["memory"])
    assert (result["verdict"], result["checks"][0]["status"]) == ("proceed", "overridden")
    result = ask(capsys, pending=["memory"])
    assert (result["verdict"], result["checks"][0]["status"]) == ("proceed", "unknown")


def test_a_mistyped_override_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    result = ask(capsys, overrides=["memmory"])
    assert result["failed"] is True
    assert "no such check: memmory" in result["msg"]
    assert "load_barrier" in result["msg"]


def test_a_plan_without_arguments_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert "llmops.sglang.plan" in ask(capsys, plan={"instance": "kimi"})["msg"]


def test_a_host_without_systemd_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_unit: str) -> None:
        raise UnitError("systemctl: No such file or directory")

    monkeypatch.setattr(restart_gate, "read_unit", broken)
    assert ask(capsys)["msg"] == (
        f"the state of {UNIT} is unknown: systemctl: No such file or directory"
    )


def test_a_server_that_had_to_be_killed_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(capsys)["killed_at_stop"] is False
    killed = unit_state(active_state="failed", result="timeout", main_pid=None)
    monkeypatch.setattr(restart_gate, "read_unit", lambda _unit: killed)
    assert ask(capsys)["killed_at_stop"] is True


def test_only_some_checks_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def check(name: str) -> Any:
        def passes(_subject: Subject) -> Check:
            made.append(name)
            return Check(name, "passed", "free", "free")

        return passes

    names = ("memory", "ports", "arguments")
    monkeypatch.setattr(gate, "CHECKS", {name: check(name) for name in names})
    monkeypatch.setattr(restart_gate, "CHECKS", gate.CHECKS)
    result = ask(capsys, only=["ports", "memory"])
    assert made == ["memory", "ports"]
    assert result["only"] == ["ports", "memory"]
    assert [one["id"] for one in result["checks"]] == ["memory", "ports"]
    assert [one["id"] for one in ask(capsys)["checks"]] == list(names)
    refused = ask(capsys, only=["room"])
    assert refused["failed"] is True and "no such check: room" in refused["msg"]


def test_it_says_whether_anything_is_left_to_do(
    capsys: pytest.CaptureFixture[str], seen: list[Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"files": {"/etc/a": "digest"}, "services": ["b.service"]}
    result = ask(capsys, converged=wanted)
    # A restart is needed: what would be checked now may be made by the roles first.
    assert (result["converged"], result["left"], result["checks"], seen) == (False, [], [], [])
    assert "converged" not in ask(capsys)

    left = ["/etc/a is not there"]
    monkeypatch.setattr(restart_gate, "find_need", lambda *_values, **_more: Need("none"))
    monkeypatch.setattr(restart_gate, "what_is_left", lambda *_values: left)
    result = ask(capsys, converged=wanted)
    assert (result["converged"], result["left"], result["verdict"]) == (False, left, "nothing")
    left = []
    result = ask(capsys, converged=wanted)
    assert (result["converged"], result["checks"][0]["id"]) == (True, "memory")

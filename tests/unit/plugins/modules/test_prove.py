# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module prove from its arguments to its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._prove.wait import (
    Started,
    StartFailed,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    UNIT,
    Stub,
    a_plan,
    chat,
    serving,
)

pytest.importorskip("ansible.module_utils.testing")
from ansible_collections.llmops.sglang.plugins.modules import prove
from ansible_collections.llmops.sglang.tests.unit.plugins.modules.gate_modules import run_module

STARTUP = {
    "max_total_num_tokens": 1000,
    "host_tokens": 4016,
    "ready_s": 19.0,
    "ranks": [
        {"rank": "TP0", "host_tokens": 4016, "host_bytes": 1},
        {"rank": "TP1", "host_tokens": 4016, "host_bytes": 1},
    ],
}


class Waited:
    """Stands in for the wait: up at once, down, or failed."""

    outcome: Exception | None = None
    deadline_s: float = 0

    def __init__(self, unit: str, _client: Any, timeline: list[dict[str, Any]] | None) -> None:
        assert unit == UNIT
        self.timeline = list(timeline or [])

    def until_ready(self, deadline_s: float, part_s: float | None) -> Started | None:
        Waited.deadline_s = deadline_s
        if part_s is not None:
            self.timeline.append({"at_s": 3.0, "text": "weights loaded"})
            return None
        if Waited.outcome is not None:
            raise Waited.outcome
        return Started("c0ffee", True, STARTUP, [{"at_s": 8.0, "text": "weights loaded"}])

    def look(self) -> Any:
        return Waited.outcome

    def reached(self) -> str:
        return "it came as far as weights loaded"


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.setattr(prove, "Wait", Waited)
    monkeypatch.setattr(Waited, "outcome", None)
    answers = {
        "/v1/chat/completions": chat("A ship.", cached=64),
        "/v1/models": {"data": [{"max_model_len": 4096}]},
    }
    with serving(answers) as stub:
        yield stub


def ask(capsys: pytest.CaptureFixture[str], server: Stub, **more: Any) -> dict[str, Any]:
    arguments = {"unit": UNIT, "plan": a_plan(url=server.url), "read_back_s": 0, **more}
    return run_module(prove.main, capsys, **arguments)


def test_a_proven_server(capsys: pytest.CaptureFixture[str], server: Stub) -> None:
    result = ask(capsys, server)
    assert result["changed"] is False
    assert {proof["status"] for proof in result["proofs"]} == {"proven"}
    assert result["completion"] == {"text": "A ship.", "tokens": 5}
    assert (result["ready_s"], result["timeline"][0]["at_s"]) == (19.0, 8.0)
    assert result["record"]["invocation_id"] == "c0ffee"
    assert result["record"]["at"].endswith("Z")
    assert Waited.deadline_s == a_plan()["deadlines"]["start_s"]


def test_a_part_of_a_wait_tells_how_far_the_start_has_come(
    capsys: pytest.CaptureFixture[str], server: Stub
) -> None:
    earlier = [{"at_s": 1.0, "text": "something"}]
    result = ask(capsys, server, wait_s=20, timeline=earlier)
    assert (result["waiting"], result["reached"]) == (True, "it came as far as weights loaded")
    assert [entry["at_s"] for entry in result["timeline"]] == [1.0, 3.0]
    assert server.asked == []


def test_a_failed_proof_fails_the_module_with_a_page(
    capsys: pytest.CaptureFixture[str], server: Stub
) -> None:
    plan = a_plan(url=server.url)
    plan["capacity"]["device"]["tokens"] = 2000
    result = ask(capsys, server, plan=plan)
    assert result["failed"] is True
    assert "record" not in result
    assert "planned   2,000" in result["msg"]
    assert "measured  1,000" in result["msg"]


def test_a_failed_start_fails_with_its_cause(
    capsys: pytest.CaptureFixture[str], server: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = StartFailed("port_taken", "in use", "set sglang_port", {})
    monkeypatch.setattr(Waited, "outcome", failure)
    result = ask(capsys, server, deadline_s=7)
    assert (result["failed"], result["cause"]) == (True, "port_taken")
    assert "sglang_port" in result["msg"]
    assert Waited.deadline_s == 7


def test_check_mode_without_a_server_is_skipped(
    capsys: pytest.CaptureFixture[str], server: Stub
) -> None:
    assert ask(capsys, server, check_mode=True)["skipped"] is True


def test_check_mode_with_a_server_only_reads(
    capsys: pytest.CaptureFixture[str], server: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Waited, "outcome", Started("c0ffee", True, STARTUP))
    result = ask(capsys, server, check_mode=True)
    statuses = {proof["id"]: proof["status"] for proof in result["proofs"]}
    assert (statuses["host_tokens"], statuses["completion"]) == ("proven", "not_proven")
    assert all(method == "GET" for method, *_rest in server.asked)


def test_a_broken_secrets_file_is_an_error(
    capsys: pytest.CaptureFixture[str], server: Stub, tmp_path: Any
) -> None:
    path = tmp_path / "secrets.yaml"
    path.write_text("{")
    assert "not JSON" in ask(capsys, server, secrets_file=str(path))["msg"]


def test_a_plan_without_an_address_is_an_error(
    capsys: pytest.CaptureFixture[str], server: Stub
) -> None:
    assert "llmops.sglang.plan" in ask(capsys, server, plan={"instance": "x"})["msg"]

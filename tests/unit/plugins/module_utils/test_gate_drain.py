# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for the last request, against a stub server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import Version
from ansible_collections.llmops.sglang.plugins.module_utils._gate import drain as drains
from ansible_collections.llmops.sglang.plugins.module_utils._gate.drain import Drain, DrainError
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import Client, Keys
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    Stub,
    in_turn,
    serving,
)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drains, "_PAUSE_S", 0.01)
    monkeypatch.setattr(drains, "_ABORT_S", 0.1)


@pytest.fixture
def server() -> Iterator[Stub]:
    with serving({}) as stub:
        yield stub


def loads(running: int, waiting: int = 0) -> dict[str, Any]:
    return {"loads": [{"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": waiting}]}


def drain_of(server: Stub, version: str | None = None) -> Drain:
    return Drain(Client(server.url, Keys("k", "a")), Version.parse(version) if version else None)


def test_it_waits_for_running_and_waiting_requests(server: Stub) -> None:
    server.answers["/v1/loads"] = in_turn(loads(2, 3), loads(1), loads(0, 1), loads(0))
    drain = drain_of(server)
    drain.wait(30, abort=False)
    told = drain.as_dict()
    assert (told["drained"], told["first_in_flight"], told["in_flight"]) == (True, 5, 0)
    assert told["endpoint"] == "/v1/loads"
    assert len(server.asked) == 4
    assert server.asked[0][3] == "Bearer k"


def test_at_the_bound_it_refuses_with_the_numbers(server: Stub) -> None:
    server.answers["/v1/loads"] = loads(7)
    drain = drain_of(server)
    with pytest.raises(DrainError, match=r"7 requests .* after 0\.05 s.*sglang_drain_timeout_s"):
        drain.wait(0.05, abort=False)
    assert (drain.in_flight, drain.aborted) == (7, 0)
    assert all(path == "/v1/loads" for _method, path, _body, _key in server.asked)


def test_at_the_bound_it_aborts_when_told_so(server: Stub) -> None:
    def abort(body: Any) -> Any:
        server.answers["/v1/loads"] = loads(0)
        return body

    server.answers.update({"/v1/loads": loads(7), "/abort_request": abort})
    drain = drain_of(server)
    drain.wait(0.02, abort=True)
    assert (drain.aborted, drain.in_flight) == (7, 0)
    assert ("POST", "/abort_request", {"abort_all": True}, "Bearer a") in server.asked


def test_an_abort_that_leaves_requests_is_an_error(server: Stub) -> None:
    server.answers.update({"/v1/loads": loads(7), "/abort_request": {}})
    with pytest.raises(DrainError, match="7 requests are left"):
        drain_of(server).wait(0.02, abort=True)


def test_an_abort_that_is_refused_is_an_error(server: Stub) -> None:
    server.answers.update({"/v1/loads": loads(7), "/abort_request": (500, {"no": "way"})})
    with pytest.raises(DrainError, match="did not abort 7 requests: HTTP 500"):
        drain_of(server).wait(0.02, abort=True)


def test_an_older_server_is_asked_by_its_own_endpoint(server: Stub) -> None:
    server.answers["/get_load"] = [{"dp_rank": 0, "num_reqs": 0, "num_waiting_reqs": 0}]
    drain = drain_of(server, "0.5.7")
    drain.wait(5, abort=False)
    assert [path for _method, path, _body, _key in server.asked] == ["/get_load"]


def test_without_a_version_it_falls_back_and_stays_there(server: Stub) -> None:
    server.answers["/metrics"] = in_turn(
        'sglang:num_running_reqs{tp_rank="0"} 2.0\nsglang:num_queue_reqs{tp_rank="0"} 1.0\n',
        'sglang:num_running_reqs{tp_rank="0"} 0.0\nsglang:num_queue_reqs{tp_rank="0"} 0.0\n',
    )
    drain = drain_of(server)
    drain.wait(5, abort=False)
    assert drain.first_in_flight == 3
    assert [path for _method, path, _body, _key in server.asked] == [
        "/v1/loads",
        "/get_load",
        "/metrics",
        "/metrics",
    ]


def test_no_server_is_drained_with_a_reason() -> None:
    with serving({}) as stub:
        url = stub.url
    drain = Drain(Client(url, Keys()))
    drain.wait(5, abort=False)
    assert (drain.as_dict()["drained"], drain.reason) == (True, "no server answers")


def test_a_server_that_goes_away_meanwhile_is_drained(server: Stub) -> None:
    server.answers["/v1/loads"] = loads(1)
    drain = drain_of(server)
    assert drain.look()
    drain._client = Client("http://127.0.0.1:1", Keys())
    drain.wait(5, abort=False)
    assert (drain.first_in_flight, drain.in_flight) == (1, 0)


def test_a_wrong_key_is_an_error_without_the_key(server: Stub) -> None:
    server.answers["/v1/loads"] = (401, {"error": "Unauthorized"})
    with pytest.raises(DrainError, match="sglang_api_key") as error:
        drain_of(server).wait(5, abort=False)
    assert "Bearer" not in str(error.value)


def test_a_server_that_tells_nothing_is_an_error_not_zero(server: Stub) -> None:
    server.answers["/metrics"] = "python_info 1\n"
    drain = drain_of(server)
    with pytest.raises(DrainError, match="does not tell its requests in flight"):
        drain.wait(5, abort=False)
    assert drain.as_dict()["drained"] is False


def test_a_hiccup_of_a_known_endpoint_is_no_end(server: Stub) -> None:
    server.answers["/v1/loads"] = in_turn(loads(2), (503, {}), loads(0))
    drain = drain_of(server)
    drain.wait(5, abort=False)
    assert drain.in_flight == 0

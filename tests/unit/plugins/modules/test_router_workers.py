# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module router_workers from its arguments to its result, on routers that behave oddly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._route import ask_worker, settle
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import Stub
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.route_world import (
    LOADS,
    RouterDouble,
    loads,
    routing,
    workers,
)

pytest.importorskip("ansible.module_utils.testing")
from ansible_collections.llmops.sglang.plugins.modules import router_workers
from ansible_collections.llmops.sglang.tests.unit.plugins.modules.gate_modules import run_module

NOBODY = "http://127.0.0.1:9"


class Fleet:
    """Two routers, two workers, and the module between them."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], routers: list[RouterDouble], stubs: list[Stub]
    ) -> None:
        self._capsys = capsys
        self.routers = routers
        self.stubs = stubs
        self.urls = [stub.url for stub in stubs]

    def run(self, *listed: Any, **options: Any) -> dict[str, Any]:
        """The module's result for these workers, each a mapping or an address."""
        named = [one if isinstance(one, dict) else {"url": one} for one in listed]
        options = {"routers": [one.url for one in self.routers], "timeout_s": 5, **options}
        return run_module(router_workers.main, self._capsys, workers=named, **options)

    def has(self, url: str, **changes: Any) -> None:
        """Both routers have a worker."""
        for router in self.routers:
            router.has(url, **changes)


@pytest.fixture
def fleet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    for waiting in (ask_worker, settle):
        monkeypatch.setattr(waiting, "_PAUSE_S", 0.02)
    with routing() as one, routing(lag=1) as two, workers(2) as stubs:
        yield Fleet(capsys, [one, two], stubs)


def test_every_router_has_the_worker_before_the_module_returns(fleet: Fleet) -> None:
    result = fleet.run(*fleet.urls)
    assert result["changed"] and "failed" not in result
    assert all(router.urls() == sorted(fleet.urls) for router in fleet.routers)
    assert [one["added"] for one in result["routers"]] == [fleet.urls, fleet.urls]
    assert "2 added, 2 of 2 workers healthy" in result["text"]
    again = fleet.run(*fleet.urls)
    assert not again["changed"]
    assert "nothing to change" in again["text"]


def test_others_are_left_alone_unless_only_these_are_wanted(fleet: Fleet) -> None:
    mine, other = fleet.urls
    fleet.has(other)
    fleet.run(mine)
    assert fleet.routers[0].urls() == sorted(fleet.urls)
    result = fleet.run(mine, state="only")
    assert [one["removed"] for one in result["routers"]] == [[other], [other]]
    assert [one.urls() for one in fleet.routers] == [[mine], [mine]]
    assert [one["url"] for one in result["leaving"]] == [other]
    emptied = fleet.run(state="only")
    assert fleet.routers[0].urls() == []
    assert emptied["changed"]


def test_an_accepted_order_that_shows_nowhere_is_no_success(fleet: Fleet) -> None:
    fleet.routers[1].drops_orders = True
    result = fleet.run(fleet.urls[0], timeout_s=0)
    assert result["failed"] and result["changed"]
    assert fleet.routers[1].url in result["msg"]
    assert "timeout_s" in result["msg"] and "not on its list" in result["msg"]


def test_a_worker_that_a_router_holds_for_dead_is_no_success(fleet: Fleet) -> None:
    fleet.routers[0].healthy = False
    result = fleet.run(fleet.urls[0], timeout_s=0)
    assert result["failed"]
    assert "not healthy" in result["msg"]


def test_the_routers_own_words_end_the_wait(fleet: Fleet) -> None:
    fleet.routers[0].fails = "Step failed: detect_connection_mode - no route to host"
    result = fleet.run(fleet.urls[0], timeout_s=600)
    assert result["failed"]
    assert "no route to host" in result["msg"]


def test_no_router_is_told_of_a_worker_that_does_not_answer(fleet: Fleet) -> None:
    result = fleet.run(fleet.urls[0], NOBODY, timeout_s=0)
    assert result["failed"] and not result["changed"]
    assert f"{NOBODY}: /health: connection refused" in result["msg"]
    assert fleet.urls[0] not in result["msg"]
    assert all(router.orders() == [] for router in fleet.routers)


def test_a_router_that_is_away_stops_it_before_anything_is_changed(fleet: Fleet) -> None:
    routers = [fleet.routers[0].url, NOBODY]
    result = fleet.run(fleet.urls[0], routers=routers)
    assert result["failed"] and not result["changed"]
    assert f"router {NOBODY} does not list its workers: nobody listens" in result["msg"]
    assert fleet.routers[0].orders() == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((403, {"error": "role"}), "not one of an admin"),
        ((404, "nothing here"), "no sglang-router 0.3"),
        ((200, "<html>"), "an answer that it should not give"),
        ((200, {"workers": None}), "an answer that it should not give"),
        ((500, "worker manager gone"), "worker manager gone"),
    ],
)
def test_each_odd_answer_has_its_own_words(
    fleet: Fleet, answer: tuple[int, Any], expected: str
) -> None:
    fleet.routers[1].refuses = answer
    result = fleet.run(fleet.urls[0])
    assert result["failed"]
    assert expected in result["msg"] and fleet.routers[1].url in result["msg"]


def test_the_key_comes_from_a_file_and_goes_nowhere_else(fleet: Fleet, tmp_path: Path) -> None:
    for router in fleet.routers:
        router.key = "sesame-router"
    admin = tmp_path / "admin-key"
    admin.write_text("sesame-router\n")
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text(json.dumps({"api-key": "sesame-worker"}))
    result = fleet.run(fleet.urls[0])
    assert result["failed"] and "HTTP 401" in result["msg"]
    result = fleet.run(
        fleet.urls[0], api_key_file=str(admin), worker_api_key_file=str(secrets), _ansible_diff=True
    )
    assert result["changed"]
    assert fleet.routers[0].orders()[0][1]["api_key"] == "sesame-worker"
    assert fleet.stubs[0].asked[0][3] == "Bearer sesame-worker"
    assert "sesame" not in json.dumps(result)
    assert not fleet.run(fleet.urls[0], api_key_file=str(admin), worker_api_key_file=str(secrets))[
        "changed"
    ]
    again = fleet.run(
        fleet.urls[0],
        api_key_file=str(admin),
        worker_api_key_file=str(secrets),
        hand_over_keys=True,
    )
    assert again["changed"]
    assert fleet.routers[1].orders()[-1] == ("PUT", {"api_key": "sesame-worker"})
    assert "key handed over again" in again["diff"]["after"]
    assert "sesame" not in json.dumps(again)


def test_what_an_error_says_has_no_key_in_it(fleet: Fleet) -> None:
    fleet.routers[0].fails = "cannot reach it with sesame-worker"
    result = fleet.run({"url": fleet.urls[0], "api_key": "sesame-worker"})
    assert result["failed"]
    assert "cannot reach it" in result["msg"]
    assert "sesame" not in json.dumps(result)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "No such file"),
        ("", "holds no key"),
        ("{broken sesame", "no key that can be read"),
        ('{"admin-api-key": "sesame"}', "holds no key"),
        ("two words sesame", "more than one word"),
    ],
)
def test_a_key_file_without_a_key_is_an_error_without_its_content(
    fleet: Fleet, tmp_path: Path, content: str | None, expected: str
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
    result = fleet.run(fleet.urls[0], api_key_file=str(path))
    assert result["failed"]
    assert expected in result["msg"] and str(path) in result["msg"]
    assert "sesame" not in result["msg"]


def test_a_worker_that_refuses_its_key_is_not_added(fleet: Fleet) -> None:
    fleet.stubs[0].answers["/v1/models"] = (401, {"error": "Unauthorized"})
    result = fleet.run(fleet.urls[0], timeout_s=0)
    assert result["failed"]
    assert "it wants another key than none (api_key_file of the worker)" in result["msg"]
    assert fleet.routers[0].orders() == []


def test_what_may_change_in_its_place_is_changed_there(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0], metadata={"zone": "a", "rack": "3"})
    worker = {
        "url": fleet.urls[0] + "/",
        "priority": 70,
        "cost": 2.5,
        "labels": {"zone": "b", "rack": 3},
    }
    result = fleet.run(worker)
    assert fleet.routers[0].orders() == [
        ("PUT", {"priority": 70, "cost": 2.5, "labels": {"zone": "b"}})
    ]
    assert result["routers"][0]["updated"] == [fleet.urls[0]]
    assert "priority 50  cost 1  label rack 3  label zone a" in result["diff"]["before"]
    assert "priority 70  cost 2.5  label rack 3  label zone b" in result["diff"]["after"]
    assert not fleet.run(worker)["changed"]


def test_what_is_fixed_in_an_entry_needs_a_new_one(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0])
    fleet.stubs[0].answers[LOADS] = loads(3)
    worker = {"url": fleet.urls[0], "worker_type": "prefill", "bootstrap_port": 8998}
    result = fleet.run(worker)
    assert [method for method, _body in fleet.routers[0].orders()] == ["DELETE", "POST"]
    assert fleet.routers[1].urls() == [fleet.urls[0]]
    # Its requests go on, so nobody has to wait for them.
    assert result["leaving"] == []
    assert (result["routers"][0]["added"], result["routers"][0]["removed"]) == (
        [fleet.urls[0]],
        [],
    )
    assert not fleet.run(worker)["changed"]


def test_a_second_entry_by_another_spelling_is_removed(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0])
    fleet.has(fleet.urls[0] + "/")
    result = fleet.run(fleet.urls[0])
    assert result["changed"]
    assert fleet.routers[0].urls() == [fleet.urls[0]]
    assert result["leaving"] == []


def test_all_ranks_of_a_worker_count_as_one(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0] + "@0")
    fleet.has(fleet.urls[0] + "@1")
    assert not fleet.run(fleet.urls[0])["changed"]
    for router in fleet.routers:
        router.fails = "No workers found with prefix"
    result = fleet.run(fleet.urls[0], state="absent")
    assert result["failed"]
    assert "--dp-aware does not let go" in result["msg"]


def test_a_worker_is_out_when_its_last_request_has_ended(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0])
    counts = iter([2, 2, 0, 1, 0, 0])
    fleet.stubs[0].answers[LOADS] = lambda _body: loads(next(counts))
    result = fleet.run(fleet.urls[0], state="absent")
    assert result["changed"]
    assert all(router.urls() == [] for router in fleet.routers)
    (left,) = result["leaving"]
    assert (left["first_in_flight"], left["in_flight"]) == (2, 0)
    # One look that finds nothing may come before a request that was under way.
    assert list(counts) == []


def test_one_that_is_out_already_is_still_waited_for(fleet: Fleet) -> None:
    fleet.stubs[0].answers[LOADS] = loads(1)
    result = fleet.run(fleet.urls[0], state="absent", drain_timeout_s=1)
    assert result["failed"] and not result["changed"]
    assert "1 in flight" in result["msg"] and "It stays out" in result["msg"]


def test_at_the_bound_a_busy_worker_is_put_back(fleet: Fleet) -> None:
    worker = {"url": fleet.urls[0], "labels": {"zone": "a"}, "api_key": "sesame"}
    fleet.has(fleet.urls[0], priority=70, model_id="kimi")
    fleet.stubs[0].answers[LOADS] = loads(4)
    result = fleet.run(worker, state="absent", drain_timeout_s=1)
    assert result["failed"]
    assert "4 in flight" in result["msg"] and "It was put back." in result["msg"]
    assert "drain_at_bound" in result["msg"]
    for router in fleet.routers:
        (back,) = router.workers.values()
        assert (back["priority"], back["model_id"], back["is_healthy"]) == (70, "kimi", True)
        assert back["metadata"]["zone"] == "a"
        assert router.orders()[-1][1]["api_key"] == "sesame"


def test_at_the_bound_one_may_go_on(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0])
    fleet.stubs[0].answers[LOADS] = loads(4)
    result = fleet.run(fleet.urls[0], state="absent", drain_timeout_s=1, drain_at_bound="go_on")
    assert result["changed"] and "failed" not in result
    assert result["leaving"][0]["in_flight"] == 4
    assert fleet.routers[0].urls() == []


def test_nobody_waits_for_a_worker_that_is_gone(fleet: Fleet) -> None:
    fleet.has(NOBODY)
    result = fleet.run(NOBODY, state="absent")
    assert result["leaving"][0]["reason"] == "no server answers"
    assert fleet.routers[1].urls() == []


def test_a_worker_that_does_not_count_is_not_taken_for_idle(fleet: Fleet) -> None:
    fleet.has(fleet.urls[0])
    del fleet.stubs[0].answers[LOADS]
    result = fleet.run(fleet.urls[0], state="absent")
    assert result["failed"]
    assert "drain_timeout_s: 0" in result["msg"] and "put back" in result["msg"]
    assert fleet.routers[0].urls() == [fleet.urls[0]]
    assert "failed" not in fleet.run(fleet.urls[0], state="absent", drain_timeout_s=0)
    assert fleet.routers[0].urls() == []


def test_the_last_healthy_ones_stay(fleet: Fleet) -> None:
    mine, other = fleet.urls
    fleet.has(mine)
    fleet.has(other)
    fleet.routers[1].workers[list(fleet.routers[1].workers)[1]]["is_healthy"] = False
    result = fleet.run(mine, state="absent", min_healthy=1)
    assert result["failed"] and not result["changed"]
    assert f"router {fleet.routers[1].url} would be left with 0 healthy workers" in result["msg"]
    assert fleet.routers[0].orders() == []
    for router in fleet.routers:
        for worker in router.workers.values():
            worker["is_healthy"] = True
    assert "failed" not in fleet.run(mine, state="absent", min_healthy=1)


def test_a_decode_worker_does_not_stand_in_for_the_last_prefill_worker(fleet: Fleet) -> None:
    mine, other = fleet.urls
    fleet.has(mine, worker_type="prefill")
    fleet.has(other, worker_type="decode")
    result = fleet.run(mine, state="absent", min_healthy=1)
    assert "0 healthy prefill workers" in result["msg"]


@pytest.mark.parametrize("state", ["present", "absent", "only"])
def test_check_mode_shows_what_a_run_then_does(fleet: Fleet, state: str) -> None:
    fleet.has(fleet.urls[0], priority=10)
    workers_ = [{"url": fleet.urls[0], "priority": 20}]
    if state != "absent":
        workers_.append({"url": fleet.urls[1]})
    shown = fleet.run(*workers_, state=state, check_mode=True)
    assert shown["changed"]
    assert all(router.orders() == [] for router in fleet.routers)
    assert all(stub.asked == [] for stub in fleet.stubs)
    done = fleet.run(*workers_, state=state)
    assert done["diff"] == shown["diff"]
    for name in ("added", "updated", "removed"):
        assert [one[name] for one in done["routers"]] == [one[name] for one in shown["routers"]]
    assert not fleet.run(*workers_, state=state, check_mode=True)["changed"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"routers": []}, "name at least one router"),
        ({"routers": ["http://a:1", "http://a:1/"]}, "routers names http://a:1 more than once"),
        ({"routers": ["http://u:sesame@a:1"]}, "give the key in a file"),
        ({"routers": ["a:1"]}, "is no address"),
        ({"routers": ["http://a:99999"]}, "is no address"),
        ({"routers": ["http://a:1/workers"]}, "more than host and port"),
        ({"workers": [{"url": "http://b"}, {"url": "http://B"}]}, "workers names http://b"),
        ({"workers": [{"url": "http://b", "bootstrap_port": 1}]}, "only a prefill worker"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], options: dict[str, Any], expected: str
) -> None:
    given = {"routers": ["http://a:1"], "workers": [], **options}
    result = run_module(router_workers.main, capsys, **given)
    assert result["failed"]
    assert expected in result["msg"]
    assert "sesame" not in result["msg"]

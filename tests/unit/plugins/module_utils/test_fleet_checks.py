# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only shows when all hosts are seen together is one clear sentence each."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.checks import problems
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.member import Member, member_of

ROUTERS = ["http://router-01:30000", "http://router-02:30000"]


def host(name: str, **other: Any) -> Member:
    found = {
        "address": name,
        "instance": "kimi",
        "port": "30000",
        "model": "kimi-k2.5",
        "engine_version": "0.5.23",
        "worker_url": f"http://{name}:30000",
        "routers": ROUTERS,
        "verdict": "proceed",
    }
    return member_of(name, {**found, **other})


def test_a_sound_fleet_has_no_problem() -> None:
    assert problems([host(f"gpu-{number}") for number in range(5)]) == []


CASES: list[tuple[str, list[Member], list[str]]] = [
    (
        "two instances of one host on one port",
        [host("a", address="gpu-01"), host("b", address="gpu-01", instance="other")],
        ["a and b are both on gpu-01 and both take port 30000", "sglang_port"],
    ),
    (
        "a port that attention data parallelism derives",
        [
            host("a", address="gpu-01", attention_dp=True),
            host("b", address="gpu-01", instance="other", port=30234),
        ],
        ["both take port 30234"],
    ),
    (
        "two instances of one name on one host",
        [host("a", address="gpu-01"), host("b", address="gpu-01", port=31000)],
        ["a and b are both on gpu-01 and both named kimi", "sglang_instance"],
    ),
    (
        "one address for two workers",
        [host("a"), host("b", worker_url="http://a:30000")],
        ["are one worker to their routers, http://a:30000", "sglang_rollout_worker"],
    ),
    (
        "two models behind one router",
        [host("a"), host("b", model="llama")],
        ["different models (kimi-k2.5: a; llama: b)", "sglang_served_model_name"],
    ),
    (
        "two versions behind one router",
        [host("a"), host("b", engine_version="0.5.18")],
        ["different versions", "sglang_rollout_mixed: [versions]"],
    ),
    (
        "a worker that one of two routers does not have",
        [host("a"), host("b", routers=ROUTERS[:1])],
        ["b is not behind http://router-02:30000", "sglang_rollout_routers"],
    ),
]


@pytest.mark.parametrize(
    ("members", "words"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_each_problem_names_hosts_and_the_variable_to_change(
    members: list[Member], words: list[str]
) -> None:
    found = "\n".join(problems(members))
    assert [word for word in words if word not in found] == []


def test_what_may_differ_is_said() -> None:
    members = [host("a"), host("b", engine_version="0.5.18", model="llama")]
    assert problems(members, ["models", "versions"]) == []


def test_fleets_behind_routers_of_their_own_may_differ() -> None:
    members = [host("a", routers=ROUTERS[:1]), host("b", routers=ROUTERS[1:], model="llama")]
    assert problems(members) == []


def test_a_label_of_the_build_makes_no_other_version() -> None:
    assert problems([host("a"), host("b", engine_version="0.5.23+cu130")]) == []


def test_hosts_without_a_router_may_be_as_they_like() -> None:
    members = [host("a", routers=[]), host("b", routers=[], model="llama", engine_version="0.5.1")]
    assert problems(members) == []


def test_a_host_that_was_not_planned_is_no_problem_of_the_inventory() -> None:
    assert problems([host("a"), host("b", failure="no such model", model="llama")]) == []

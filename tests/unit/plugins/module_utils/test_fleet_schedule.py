# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of a rollout: canary first, sizes as asked, and never below the floor."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.member import Member, member_of
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.schedule import (
    NoSchedule,
    Schedule,
    Wish,
    compose,
)
from hypothesis import given
from hypothesis import strategies as st


def host(number: int, **other: Any) -> Member:
    values = {"need": "restart", "verdict": "proceed", "serves": True, "tokens_before": 1000}
    return Member(
        f"gpu-{number:02}", f"gpu-{number:02}", **{**values, "tokens_after": 2000, **other}
    )


def hosts(count: int, **other: Any) -> list[Member]:
    return [host(number, **other) for number in range(1, count + 1)]


def sizes(schedule: Schedule) -> list[int]:
    return [len(batch) for batch in schedule.batches]


@pytest.mark.parametrize(
    ("serial", "canary", "expected"),
    [
        (3, 1, [1, 3, 3, 3]),
        ("20%", 1, [1, 2, 2, 2, 2, 1]),
        ([1, "50%"], 1, [1, 1, 5, 3]),
        ([2, 5], 0, [2, 5, 3]),
        ("100%", 2, [2, 8]),
        # A small share of few hosts is still one host.
        ("1%", 0, [1] * 10),
        ("4", 0, [4, 4, 2]),
    ],
)
def test_batches_have_the_sizes_that_were_asked_for(
    serial: Any, canary: int, expected: list[int]
) -> None:
    assert sizes(compose(hosts(10), Wish(serial, canary))) == expected


@pytest.mark.parametrize("serial", [0, "0%", "", "many", "120%", [], [2, 0], -1, 1.5])
def test_a_size_that_is_none_is_refused_by_name(serial: Any) -> None:
    with pytest.raises(NoSchedule, match="sglang_rollout_serial"):
        compose(hosts(3), Wish(serial))


def test_hosts_as_wanted_are_no_work_and_come_first_to_be_put_back() -> None:
    done = {"need": "none", "proven": True, "verdict": "nothing"}
    members = [host(1, **done), host(2), host(3, **done), host(4)]
    schedule = compose(members, Wish(1))
    assert schedule.batches == (("gpu-02",), ("gpu-04",))
    assert schedule.order == ["gpu-01", "gpu-03", "gpu-02", "gpu-04"]
    assert schedule.sizes == [2, 1, 1]
    assert [schedule.batch_of(name) for name in ("gpu-01", "gpu-02", "gpu-04")] == [None, 1, 2]


def test_what_runs_as_wanted_and_was_never_proven_is_work() -> None:
    assert host(1, need="none", proven=False).work == "prove"


def test_the_floor_makes_batches_smaller() -> None:
    assert sizes(compose(hosts(5), Wish("100%", 0, min_available=3))) == [2, 2, 1]
    assert sizes(compose(hosts(5), Wish("100%", 0, min_available="70%"))) == [1] * 5


def test_tokens_grow_with_every_batch_so_later_ones_may_be_larger() -> None:
    # 4,000 at first; each host that is done adds 1,000.
    assert sizes(compose(hosts(4), Wish("100%", 0, min_tokens=3000))) == [1, 2, 1]


def test_a_floor_out_of_reach_names_what_serves_and_the_variable() -> None:
    with pytest.raises(NoSchedule, match=r"3 workers serve and 3 have to .*min_available"):
        compose(hosts(3), Wish(1, min_available=3))
    with pytest.raises(NoSchedule, match=r"2,000 tokens would be .*min_available_tokens"):
        compose(hosts(3), Wish(1, min_tokens=2500))


def test_workers_beyond_the_limit_count_as_serving() -> None:
    assert sizes(compose(hosts(1), Wish(1, min_available=2, outside=2))) == [1]


def test_a_host_that_is_down_comes_first_and_costs_nothing() -> None:
    members = [host(1), host(2), host(3, serves=False, need="start", tokens_before=None)]
    schedule = compose(members, Wish(1, min_available=2))
    assert schedule.batches == (("gpu-03",), ("gpu-01",), ("gpu-02",))


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 9)), max_size=25),
    st.integers(1, 9),
    st.integers(0, 3),
    st.integers(0, 25),
)
def test_no_batch_breaks_the_floor_and_every_host_has_its_turn(
    found: list[tuple[bool, bool, int]], serial: int, canary: int, floor: int
) -> None:
    members = [
        host(
            n, serves=serves, need="restart" if work else "none", proven=True, tokens_before=tokens
        )
        for n, (serves, work, tokens) in enumerate(found)
    ]
    try:
        schedule = compose(members, Wish(serial, canary, min_available=floor))
    except NoSchedule:
        assert floor > 0
        return
    assert sorted(schedule.order) == sorted(member.name for member in members)
    assert sum(schedule.sizes) == len(members)
    serving = {member.name for member in members if member.serves}
    for batch in schedule.batches:
        left = serving - set(batch)
        assert len(left) >= floor or left == serving
        serving |= set(batch)


def test_a_host_without_a_note_was_not_reached() -> None:
    assert member_of("gpu-01", None).blocked == "it could not be reached"


def test_a_refused_host_says_what_the_gate_measured() -> None:
    found = {"verdict": "blocked", "refusals": ["371 GiB available"], "need": "restart"}
    assert member_of("gpu-01", found).blocked == "the gate says blocked: 371 GiB available"

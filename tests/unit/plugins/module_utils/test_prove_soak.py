# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A soak: what a server has to stand before others depend on it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitError, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._prove import soak as soak_module
from ansible_collections.llmops.sglang.plugins.module_utils._prove.generate import Reply
from ansible_collections.llmops.sglang.plugins.module_utils._prove.soak import (
    Host,
    Progress,
    Soak,
    SoakFailed,
    Wish,
)

MIB = 2**20


class World:
    """A host whose clock moves only when somebody waits or asks."""

    def __init__(self) -> None:
        self.now = 0.0
        self.boot: str | None = "boot-1"
        self.invocation = "inv-1"
        self.pid: int | None = 4711
        self.growth_bytes_per_s = 0.0
        self.fails_at: int | None = None
        self.asked: list[str] = []
        self.away = False

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def unit(self) -> UnitState:
        if self.away:
            raise UnitError("systemd is away")
        active = "active" if self.pid else "failed"
        return UnitState(
            "loaded", active, "running", "exit-code", self.pid, self.invocation, 0, "exited", 1, 1.0,
            None, (),
        )  # fmt: skip

    def memory(self, _state: UnitState) -> int:
        return int(2**30 + self.now * self.growth_bytes_per_s)

    def ask(self, _client: Any, prompt: str, _tokens: int, _timeout_s: float) -> Reply:
        self.asked.append(prompt)
        self.now += 0.5
        if self.fails_at is not None and len(self.asked) >= self.fails_at:
            return Reply(reason="HTTP 500: scheduler hit an exception")
        return Reply(text="x")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    found = World()
    monkeypatch.setattr(soak_module, "ask", found.ask)
    return found


def soak(world: World, progress: Progress | None = None, **wish: Any) -> Soak:
    values = {"requests": 160, "seconds": 0.0, "slope_bytes_per_minute": 64.0 * MIB}
    values.update(boot_id="boot-1", invocation_id="inv-1")
    host = Host(world.unit, lambda: world.boot, world.memory, lambda: world.now, world.sleep)
    return Soak(None, host, Wish(**{**values, **wish}), progress or Progress())  # type: ignore[arg-type]


def test_so_many_requests_and_no_more_where_no_time_is_asked_for(world: World) -> None:
    one = soak(world)
    assert one.run(1000)
    assert len(world.asked) == 160
    assert len(set(world.asked)) >= 80
    assert "160 requests in 80 s, no error, slowest 0.5 s" in one.text()
    assert "memory +0.0 MiB/min" in one.text()


def test_it_goes_on_asking_until_the_time_is_over(world: World) -> None:
    one = soak(world, requests=2, seconds=60.0)
    assert one.run(1000)
    assert one.progress.seconds >= 60
    assert 30 < len(world.asked) < 60


def test_a_part_ends_in_time_and_the_next_goes_on_from_there(world: World) -> None:
    first = soak(world)
    assert not first.run(20)
    values = {"asked": first.progress.asked, "seconds": first.progress.seconds}
    values.update(slowest_s=0.5, samples=[list(s) for s in first.progress.samples])
    second = soak(world, Progress.of(values))
    assert second.run(1000)
    assert len(world.asked) == 160


def test_the_first_request_that_fails_ends_it(world: World) -> None:
    world.fails_at = 120
    with pytest.raises(SoakFailed, match="a request failed after 119 requests .*HTTP 500"):
        soak(world).run(1000)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"boot": "boot-2"}, "rebooted"),
        ({"invocation": "inv-2"}, "started anew"),
        ({"pid": None}, "the server ended"),
    ],
)
def test_another_boot_or_another_process_ends_it(
    world: World, change: dict[str, Any], words: str
) -> None:
    assert not soak(world).run(5)
    vars(world).update(change)
    with pytest.raises(SoakFailed, match=words):
        soak(world).run(5)


def test_what_became_of_the_server_is_told_before_that_a_request_failed(world: World) -> None:
    world.fails_at = 1
    real_ask = world.ask

    def ask(*words: Any) -> Reply:
        world.boot = "boot-2"
        return real_ask(*words)

    soak_module.ask = ask
    with pytest.raises(SoakFailed, match="rebooted"):
        soak(world).run(5)


def test_nothing_asked_for_is_still_a_look(world: World) -> None:
    one = soak(world, requests=0)
    assert one.run(5)
    assert one.text() == "same boot, same process"
    world.boot = "boot-2"
    with pytest.raises(SoakFailed, match="rebooted"):
        soak(world, requests=0).run(5)


def test_memory_that_keeps_growing_is_a_leak(world: World) -> None:
    world.growth_bytes_per_s = 2 * MIB
    with pytest.raises(SoakFailed, match="grew by 120 MiB per minute, and 64 are allowed"):
        soak(world, seconds=120.0).run(1000)
    assert soak(world, seconds=120.0, slope_bytes_per_minute=0.0).run(1000)


def test_growth_while_caches_fill_is_none() -> None:
    samples = [(float(at), min(at, 30) * 100 * MIB) for at in range(0, 121, 2)]
    assert Progress(samples=samples).slope() == pytest.approx(0)


def test_too_short_a_time_says_nothing_about_memory() -> None:
    progress = Progress(samples=[(float(at), at * MIB) for at in range(0, 50, 2)])
    assert progress.slope() is None


def test_a_systemd_that_is_away_for_a_moment_ends_nothing(world: World) -> None:
    world.away = True
    assert soak(world, requests=1).run(5)

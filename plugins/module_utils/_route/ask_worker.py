# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the workers themselves are asked: are they ready for requests, and are they idle.

Private to the collection.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .._gate.drain import Drain, DrainError
from .._keys import Keys
from .._prove.client import Client
from .worker import RouteError, Wanted

_AT_ONCE = 16
_PAUSE_S = 0.5
_ANSWER_S = 10.0


def wait_until_ready(workers: Iterable[Wanted], deadline: float) -> None:
    """Wait until each worker takes requests. Raises RouteError at the deadline.

    A router accepts an order for a worker that is not there, goes on trying for half an hour, and
    cannot be told to stop. So the worker is asked first.
    """
    waiting = list(workers)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while waiting:
            answers = list(zip(waiting, pool.map(_problem, waiting)))
            problems = [(worker, problem) for worker, problem in answers if problem]
            if problems and time.monotonic() >= deadline:
                words = "; ".join(f"{worker.url}: {problem}" for worker, problem in problems)
                raise RouteError(f"not ready for requests, so not added to any router: {words}")
            waiting = [worker for worker, _problem in problems]
            if waiting:
                time.sleep(_PAUSE_S)


def _problem(worker: Wanted) -> str | None:
    """What keeps a worker from taking requests. /health needs no key, so a second path is asked."""
    client = Client(worker.url, Keys(worker.key))
    health = client.get("/health", _ANSWER_S)
    if not health.ok:
        return f"/health: {health.reason or f'HTTP {health.status}'}"
    if client.get("/v1/models", _ANSWER_S).status in (401, 403):
        given = "the one given" if worker.key else "none"
        return f"it wants another key than {given} (api_key_file of the worker)"
    return None


@dataclass
class Leaving:
    """A worker that gets no more requests, and what is left of those it had."""

    url: str
    key: str | None
    was_up: bool
    in_flight: int | None = None
    first_in_flight: int | None = None
    waited_s: float = 0.0
    reason: str | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing is left for it to do."""
        return self.in_flight == 0

    def shown(self) -> dict[str, Any]:
        """The same for a result."""
        names = ("url", "in_flight", "first_in_flight", "waited_s", "reason")
        return {name: getattr(self, name) for name in names}


def wait_until_idle(leaving: Sequence[Leaving], timeout_s: float) -> None:
    """Wait until no worker has a request in flight, or until the bound; then some have.

    A router counts only some of its requests itself, so the workers are asked. Raises RouteError
    for one that does not tell.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda one: _wait_for_one(one, timeout_s), leaving))


def _wait_for_one(one: Leaving, timeout_s: float) -> None:
    drain = Drain(Client(one.url, Keys(one.key)))
    begun = time.monotonic()
    was_idle = False
    while True:
        try:
            answered = drain.look()
        except DrainError as error:
            raise RouteError(
                f"worker {one.url}: {error}. To not wait for its requests: drain_timeout_s: 0"
            ) from None
        one.waited_s = round(time.monotonic() - begun, 1)
        one.in_flight = drain.in_flight if answered else None
        one.first_in_flight = drain.first_in_flight
        one.reason = drain.reason
        if not answered and not one.was_up:
            one.in_flight, one.reason = 0, "no server answers, and no router sent it requests"
        # Twice, for a router may have chosen it a moment before it was told to let go.
        if one.idle and (was_idle or one.reason):
            return
        if one.waited_s >= timeout_s:
            return
        was_idle = one.idle
        time.sleep(_PAUSE_S)

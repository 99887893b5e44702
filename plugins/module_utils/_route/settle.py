# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the lists of all routers to where they are wanted, and waits until they are.

Private to the collection.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from .ask_worker import Leaving, wait_until_idle, wait_until_ready
from .difference import Difference, check_remaining, difference
from .router import Router
from .worker import Entry, RouteError, Wanted, is_up, of_worker

_PAUSE_S = 0.25
_RANKS = (
    " (a router started with --dp-aware does not let go of a worker while it runs: restart it "
    "without the worker)"
)


@dataclass(frozen=True)
class Wish:
    """What is wanted, and how long each part of it may take."""

    workers: Sequence[Wanted]
    state: str = "present"
    timeout_s: float = 60.0
    drain_timeout_s: float = 300.0
    refuse_at_bound: bool = True
    min_healthy: int = 0
    hand_over_keys: bool = False
    #: The key of workers that are on a router's list and not among those wanted.
    other_key: str | None = field(default=None, repr=False)


@dataclass
class Listed:
    """One router, its list before and now, and its orders."""

    router: Router
    before: Sequence[Entry]
    now: Sequence[Entry]
    orders: Difference


class Settling:
    """One run over all routers. What was found and done is there after an error as well."""

    def __init__(self, routers: Sequence[Router], wish: Wish) -> None:
        self._routers = routers
        self._wish = wish
        self._wanted = {worker.url: worker for worker in wish.workers}
        self.lists: list[Listed] = []
        self.leaving: list[Leaving] = []
        self.changed = False

    def look(self) -> None:
        """Find out what has to change. Nothing is changed; a router that is away ends it."""
        wish = self._wish
        for router in self._routers:
            entries = router.entries()
            orders = difference(entries, wish.workers, wish.state, wish.hand_over_keys)
            check_remaining(router.url, entries, orders, wish.min_healthy)
            self.lists.append(Listed(router, entries, entries, orders))

    @property
    def needed(self) -> bool:
        """Whether any router has to change."""
        return any(one.orders for one in self.lists)

    def run(self) -> None:
        """Do it. Who comes is seen healthy before who goes is let go."""
        if self._wish.state != "absent":
            self._bring_in()
        if self._wish.state != "present":
            self._let_go()

    def _bring_in(self) -> None:
        deadline = time.monotonic() + self._wish.timeout_s
        coming = {worker.url: worker for one in self.lists for worker in one.orders.add}
        wait_until_ready(coming.values(), deadline)
        for one in self.lists:
            replaced = [e for e in one.orders.remove if e.base not in one.orders.leaving]
            self._remove(one, replaced, deadline)
            for entry, told in one.orders.update:
                one.router.update(entry, told)
                self.changed = True
            idents = self._add(one, one.orders.add)
            self._wait_until_routed(one, self._wish.workers, idents, deadline)

    def _let_go(self) -> None:
        deadline = time.monotonic() + self._wish.timeout_s
        for one in self.lists:
            leaves = [entry for entry in one.before if entry.base in one.orders.leaving]
            self._remove(one, leaves, deadline)
        self.leaving = self._all_leaving()
        if self._wish.drain_timeout_s <= 0:
            return
        try:
            wait_until_idle(self.leaving, self._wish.drain_timeout_s)
        except RouteError as error:
            raise RouteError(f"{error}. {self._put_back()}") from None
        busy = [one for one in self.leaving if not one.idle]
        if busy and self._wish.refuse_at_bound:
            words = ", ".join(
                f"{one.url} ({'an unknown number' if one.in_flight is None else one.in_flight} "
                "in flight)"
                for one in busy
            )
            raise RouteError(
                f"not idle after {self._wish.drain_timeout_s:g} s (drain_timeout_s): {words}. "
                f"{self._put_back()} To go on in spite of them: drain_at_bound: go_on"
            )

    def _all_leaving(self) -> list[Leaving]:
        """Who is to get idle: those let go now, and those let go by a run that was cut short."""
        urls = list(self._wanted) if self._wish.state == "absent" else []
        urls += [url for one in self.lists for url in one.orders.leaving]
        return [
            Leaving(
                url,
                self._wanted[url].key if url in self._wanted else self._wish.other_key,
                was_up=any(is_up(one.before, url) for one in self.lists),
            )
            for url in dict.fromkeys(urls)
        ]

    def _put_back(self) -> str:
        """Give the routers back what was taken from them; says how that went."""
        deadline = time.monotonic() + self._wish.timeout_s
        taken = 0
        for one in self.lists:
            workers = [self._as_before(one, url) for url in one.orders.leaving]
            taken += len(workers)
            try:
                self._wait_until_routed(one, workers, self._add(one, workers), deadline)
            except RouteError as error:
                return f"It could not be put back: {error}."
        return "It was put back." if taken else "It stays out of the routers."

    def _as_before(self, one: Listed, url: str) -> Wanted:
        """What the router said, with the key and the labels, which it does not tell."""
        entry = of_worker(one.before, url)[0]
        known = self._wanted.get(url, Wanted(url, key=self._wish.other_key))
        return replace(
            known,
            model_id=entry.model_id,
            worker_type=entry.worker_type,
            bootstrap_port=entry.bootstrap_port,
            priority=entry.priority,
            cost=entry.cost,
        )

    def _add(self, one: Listed, workers: Iterable[Wanted]) -> dict[str, str]:
        """Order the router to add them; returns the ids to ask after, by address."""
        idents = {}
        for worker in workers:
            idents[worker.url] = one.router.add(worker)
            self.changed = True
        return idents

    def _wait_until_routed(
        self, one: Listed, workers: Sequence[Wanted], idents: dict[str, str], deadline: float
    ) -> None:
        """Wait until the router has each as wanted and holds it for healthy."""
        while True:
            one.now = one.router.entries()
            late = [worker for worker in workers if not _is_routed(one.now, worker)]
            if not late:
                return
            for worker in late:
                failure = one.router.failure(idents.get(worker.url, ""))
                if failure:
                    raise RouteError(f"router {one.router.url} gave up on {worker.url}: {failure}")
            if time.monotonic() >= deadline:
                raise RouteError(_late_text(one, late, self._wish.timeout_s))
            time.sleep(_PAUSE_S)

    def _remove(self, one: Listed, entries: Iterable[Entry], deadline: float) -> None:
        """Order the router to let go of entries, and wait until they are off its list."""
        idents = set()
        for entry in entries:
            one.router.remove(entry)
            idents.add(entry.ident)
            self.changed = True
        while idents:
            one.now = one.router.entries()
            left = [entry for entry in one.now if entry.ident in idents]
            if not left:
                return
            for entry in left:
                failure = one.router.failure(entry.ident)
                if failure:
                    raise RouteError(
                        f"router {one.router.url} does not let go of {entry.url}: {failure}"
                        + (_RANKS if entry.is_rank else "")
                    )
            if time.monotonic() >= deadline:
                raise RouteError(
                    f"router {one.router.url} still has {', '.join(e.url for e in left)} on its "
                    f"list {self._wish.timeout_s:g} s after it was told to let go (timeout_s)"
                )
            time.sleep(_PAUSE_S)


def _is_routed(entries: Sequence[Entry], worker: Wanted) -> bool:
    return is_up(entries, worker.url) and not difference(entries, [worker], "present", False)


def _late_text(one: Listed, late: Sequence[Wanted], timeout_s: float) -> str:
    known = {entry.base for entry in one.now if not entry.healthy}
    words = ", ".join(
        f"{worker.url} ({'not healthy' if worker.url in known else 'not on its list as wanted'})"
        for worker in late
    )
    return (
        f"router {one.router.url} does not send requests to {words} after {timeout_s:g} s "
        "(timeout_s). Can the router's host reach it? What it was told to add it goes on trying "
        "for its own --worker-startup-timeout-secs"
    )

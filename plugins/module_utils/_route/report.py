# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run found and did, as values, as a diff and in words.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .difference import pictures
from .settle import Listed, Settling
from .worker import Wanted


def as_result(settling: Settling, workers: Sequence[Wanted]) -> dict[str, Any]:
    """Return what the module returns. Without a list of every router there are no lists."""
    lists = settling.lists
    result: dict[str, Any] = {"leaving": [one.shown() for one in settling.leaving]}
    if not lists:
        return result
    both = [(one, pictures(one.before, workers, one.orders)) for one in lists]
    return {
        **result,
        "routers": [_router(one) for one in lists],
        "diff": {
            "before": "".join(_page(one, before) for one, (before, _after) in both),
            "after": "".join(_page(one, after) for one, (_before, after) in both),
        },
        "text": "\n".join([_words(one) for one in lists] + _idle_words(settling)),
    }


def _router(one: Listed) -> dict[str, Any]:
    added = [worker.url for worker in one.orders.add]
    removed = dict.fromkeys(entry.base for entry in one.orders.remove)
    return {
        "url": one.router.url,
        "added": added,
        "updated": list(dict.fromkeys(entry.base for entry, _told in one.orders.update)),
        "removed": [url for url in removed if url in one.orders.leaving],
        "workers": [entry.shown() for entry in one.now],
    }


def _page(one: Listed, lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in [f"router {one.router.url}", *lines])


def _words(one: Listed) -> str:
    """One line: what was ordered, and how many of its workers are healthy."""
    told = _router(one)
    orders = [f"{len(told[name])} {name}" for name in ("added", "updated", "removed") if told[name]]
    count = f"{sum(entry.healthy for entry in one.now)} of {len(one.now)} workers healthy"
    return f"router {one.router.url}: {', '.join(orders) or 'nothing to change'}, {count}"


def _idle_words(settling: Settling) -> list[str]:
    lines = []
    for one in settling.leaving:
        left = {None: "unknown", 0: "none"}.get(one.in_flight, one.in_flight)
        why = one.reason or f"{left} in flight after {one.waited_s:.0f} s"
        lines.append(f"worker {one.url}: {why}")
    return lines

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to change in one router's list. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .worker import (
    Entry,
    RouteError,
    Wanted,
    needs_new_entry,
    needs_update,
    of_worker,
    surplus,
)


@dataclass
class Difference:
    """Orders for one router, and the workers that get no more requests by them."""

    add: list[Wanted] = field(default_factory=list)
    update: list[tuple[Entry, dict[str, Any]]] = field(default_factory=list)
    remove: list[Entry] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.add or self.update or self.remove)


def difference(
    entries: Sequence[Entry], wanted: Sequence[Wanted], state: str, hand_over_keys: bool
) -> Difference:
    """What brings a router's list to where it is wanted."""
    orders = Difference()
    named = {worker.url for worker in wanted}
    if state != "absent":
        for worker in wanted:
            _present(orders, entries, worker, hand_over_keys)
    if state != "present":
        leaves = [entry for entry in entries if (entry.base in named) == (state == "absent")]
        orders.remove += leaves
        orders.leaving = list(dict.fromkeys(entry.base for entry in leaves))
    return orders


def _present(
    orders: Difference, entries: Sequence[Entry], worker: Wanted, hand_over_keys: bool
) -> None:
    more = surplus(entries, worker.url)
    own = [entry for entry in of_worker(entries, worker.url) if entry not in more]
    if not own or any(needs_new_entry(worker, entry) for entry in own):
        orders.remove += own + more
        orders.add.append(worker)
        return
    orders.remove += more
    for entry in own:
        told = needs_update(worker, entry)
        if hand_over_keys and worker.key:
            told["api_key"] = worker.key
        if told:
            orders.update.append((entry, told))


def check_remaining(
    router: str, entries: Sequence[Entry], orders: Difference, min_healthy: int
) -> None:
    """Raise RouteError when too few workers would be left for requests.

    Counted by type: a decode worker cannot stand in for the last prefill worker.
    """
    leaving = set(orders.leaving)
    for kind in sorted({entry.worker_type for entry in entries if entry.base in leaving}):
        left = {
            entry.base
            for entry in entries
            if entry.worker_type == kind and entry.healthy and entry.base not in leaving
        }
        if len(left) < min_healthy:
            named = "" if kind == "regular" else f"{kind} "
            raise RouteError(
                f"router {router} would be left with {len(left)} healthy {named}workers, and "
                f"min_healthy is {min_healthy}; nothing was changed. Out would go "
                + ", ".join(sorted(leaving))
            )


def pictures(
    entries: Sequence[Entry], wanted: Iterable[Wanted], orders: Difference
) -> tuple[list[str], list[str]]:
    """A router's list before and after, one line for each entry, for a diff."""
    labels = {name for worker in wanted for name in worker.labels}
    removed = [entry.ident for entry in orders.remove]
    changed = {entry.ident: told for entry, told in orders.update}
    before = {entry.ident: _row(entry, entry.metadata, labels) for entry in entries}
    after = [
        {**row, **_changes(changed.get(ident, {}))}
        for ident, row in before.items()
        if ident not in removed
    ]
    after += [{**_row(worker, worker.labels, labels), **worker.rating()} for worker in orders.add]
    return sorted(map(_line, before.values())), sorted(map(_line, after))


def _row(item: Entry | Wanted, told: Any, labels: Iterable[str]) -> dict[str, Any]:
    return {
        "url": item.url,
        "type": item.worker_type,
        "model": item.model_id,
        "bootstrap port": item.bootstrap_port,
        "priority": item.priority,
        "cost": item.cost,
        **{f"label {name}": told.get(name) for name in sorted(labels)},
    }


def _changes(told: dict[str, Any]) -> dict[str, Any]:
    """What an update shows. That a key is handed over again is shown, never the key."""
    rows = {f"label {name}": value for name, value in told.get("labels", {}).items()}
    rows.update((name, told[name]) for name in ("priority", "cost") if name in told)
    return {**rows, "key": "handed over again"} if "api_key" in told else rows


def _line(row: dict[str, Any]) -> str:
    """The address first, then each thing that is known."""
    known = {name: value for name, value in row.items() if value is not None}
    return "  ".join(
        [str(known.pop("url")), *(f"{name} {_short(value)}" for name, value in known.items())]
    )


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

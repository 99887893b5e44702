# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout for people: the schedule before it, the summary after it. 80 columns, no colour.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .page import wrap
from .words import duration, number

_ARROW = " -> "


def schedule_report(rollout: Mapping[str, Any]) -> str:
    """What would be done to which host, and when; then what stands in the way."""
    lines = [*wrap(_head(rollout), "  ", "")]
    hosts = rollout["hosts"]
    rows = [("batch", "host", "does", "tokens in reach", "verdict")]
    notes: dict[int, list[str]] = {}
    for name, label in _positions(rollout):
        host = hosts[name]
        rows.append((label, name, host["work"], _tokens(host), _verdict(host)))
        notes[len(rows) - 1] = [*_changes(host), *([host["blocked"]] if host["blocked"] else [])]
    for position, line in enumerate(_table(rows)):
        lines.append(line)
        for note in notes.get(position, []):
            lines += wrap(note, " " * 9)
    if rollout["problems"]:
        lines += ["", "Nothing is changed:"]
        for problem in rollout["problems"]:
            lines += wrap(problem, "    ", "  - ")
    return "\n".join(lines) + "\n"


def _head(rollout: Mapping[str, Any]) -> str:
    floor = rollout["floor"]
    bounds = [
        *([f"{floor['workers']} workers"] if floor["workers"] else []),
        *([f"{floor['tokens']:,} tokens"] if floor["tokens"] else []),
    ]
    kept = f", {' and '.join(bounds)} stay in reach" if bounds else ""
    work = sum(map(len, rollout["batches"]))
    one = "batch" if len(rollout["batches"]) == 1 else "batches"
    words = f"Rollout: {work} of {len(rollout['hosts'])} hosts in {len(rollout['batches'])} {one}"
    outside = rollout["outside"]
    beside = f"; {outside} outside this run are taken for serving" if outside else ""
    return f"{words}{kept}{beside}"


def _positions(rollout: Mapping[str, Any]) -> list[tuple[str, str]]:
    placed = {
        name: "canary" if number <= rollout["canaries"] else str(number)
        for number, batch in enumerate(rollout["batches"], start=1)
        for name in batch
    }
    rest = [name for name in rollout["hosts"] if name not in placed]
    return [*placed.items(), *((name, "-") for name in rest)]


def _tokens(host: Mapping[str, Any]) -> str:
    before, after = _count(host, "tokens_before"), number(host["tokens_after"])
    return before if before == after else f"{before}{_ARROW}{after}"


def _count(host: Mapping[str, Any], which: str) -> str:
    """Tokens in reach; a server that is down has none, and of one that runs they may be unknown."""
    if host[which] is None and host["work"] == "start":
        return "none"
    return number(host[which])


def _verdict(host: Mapping[str, Any]) -> str:
    if host["blocked"]:
        return "BLOCKED" if host["verdict"] else "FAILED"
    return "as wanted" if host["work"] == "nothing" else "may go on"


def _changes(host: Mapping[str, Any]) -> list[str]:
    return [
        f"{change['name']} {_side(change['running'])}{_ARROW}{_side(change['wanted'])}"
        for change in host["changes"]
    ]


def _side(value: str | None) -> str:
    return "(none)" if value is None else value or "(set)"


def rollout_report(rollout: Mapping[str, Any]) -> str:
    """How every host ended, and what to do next."""
    rows = [("host", "batch", "before", "after", "verdict", "time")]
    failures: list[str] = []
    for name, label in _positions(rollout):
        host = rollout["hosts"][name]
        took = "-" if host["seconds"] is None else duration(host["seconds"])
        rows.append(
            (
                name,
                label,
                _count(host, "tokens_before"),
                _count(host, "tokens_now"),
                host["outcome"].replace("_", " "),
                took,
            )
        )
        if host["message"]:
            failures += ["", *_told(name, host["message"])]
    lines = [*_table(rows), *failures]
    if rollout["next"]:
        lines += ["", *wrap(rollout["next"], "")]
    return "\n".join(lines) + "\n"


def _told(name: str, message: str) -> list[str]:
    """The message as it is where it is a page of its own, else in lines of the page's width."""
    lines = message.rstrip().splitlines()
    if len(lines) > 1:
        return [f"{name}:", *(f"  {line}" for line in lines)]
    return wrap(message, "  ", f"{name}: ")


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]
    return [line.rstrip() for line in lines]

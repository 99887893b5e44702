# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line of an engine's log: what stands before its message.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import datetime
import re
import typing as t

# Longest line that is looked at. The only longer one is server_args=, of which the start suffices.
MAX_LINE = 4000

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# A progress bar writes over itself: one line of the journal holds all of its states.
_BREAK = re.compile(r"[\r\n]+")
# "[2026-11-30 20:30:22 DP0 TP1 EP1] message"; any rank labels in any order; the date or the time
# may be missing, as may the whole prefix (tracebacks, progress bars, warnings).
_PREFIX = re.compile(
    r"^\[(?P<date>\d{4}-\d\d-\d\d)?[ T]?(?P<time>\d\d:\d\d:\d\d(?:\.\d+)?)?"
    r"(?P<ranks>(?: +[A-Za-z_][\w.]*)*)\] ?(?P<message>.*)$"
)
# "2026-11-30T20:30:22.123456Z  INFO module.function: message", behind the name of a container.
_STRUCTURED = re.compile(
    r"^(?:\S+ +\| +)?(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)(?:\.\d+)?Z? +"
    r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL) +[\w.<>:-]+: (?P<message>.*)$"
)
# What journalctl -o short-iso or -o short puts before a message.
_JOURNAL_PREFIX = re.compile(
    r"^(?:\d{4}-\d\d-\d\dT[\d:.,]+(?:[+-]\d\d:?\d\d|Z)?|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d)"
    r" \S+ (?P<tag>[^\s:\[\]]+)(?:\[\d+\])?: (?P<message>.*)$"
)


class Line(t.NamedTuple):
    """One log line: its rank label (empty for the launcher), its time and its message.

    A C(structured) line never has a label, so that all ranks print the same.
    """

    rank: str
    at: datetime.datetime | None
    message: str
    structured: bool = False


def split_lines(text: str) -> t.Iterator[Line]:
    """The lines of one entry of a log: of a message of many lines, or of a progress bar."""
    for piece in _BREAK.split(_COLOUR.sub("", text)):
        if piece:
            yield split_line(piece)


def split_line(text: str) -> Line:
    """Take the prefixes off a line; what has none is a message of the launcher."""
    text = text[:MAX_LINE]
    structured = _STRUCTURED.match(text)
    if structured:
        moment = _moment(structured["date"], structured["time"])
        return Line("", moment, structured["message"], structured=True)
    journal = _JOURNAL_PREFIX.match(text)
    if journal:
        text = journal["message"]
    match = _PREFIX.match(text)
    if not match or not (match["date"] or match["time"]):
        return Line("", None, text)
    return Line(match["ranks"].strip(), _moment(match["date"], match["time"]), match["message"])


def _moment(date: str | None, time: str | None) -> datetime.datetime | None:
    """A moment of the engine's log (local time, zone unknown): good for differences only."""
    if not date or not time:
        return None
    try:
        return datetime.datetime.fromisoformat(f"{date} {time[:8]}")
    except ValueError:
        return None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often a server ended by itself since the last change, from the diary of its instance.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import contextlib
import typing as t

from .._engine.causes import RESULTS
from .._engine.log_lines import StartupParser
from .._layout import notes_file
from .journal import MAX_CAUSE_CHARS, TAIL_LINES, of_invocation, read_entries
from .redact import Redactor
from .source import Source, parse_json

Facts = dict[str, t.Any]

# How many crashes stand after the last change, then the first and the last of them. Nothing else of
# the diary is read: it names people and their machines.
_SELECT = (
    '/"outcome": "crashed"/ { if (!count) first = $0; last = $0; count++; next } '
    '/"outcome": "/ { count = 0 } '
    "END { if (count) { print count; print first; print last } }"
)


def read_crashes(
    source: Source, redactor: Redactor, instance: str, timeout_s: float
) -> Facts | None:
    """The crashes after the last change by a play; None when there was none.

    C(count) of them, the first one C(since), the last one C(at) with its C(result) and C(status) as
    systemd has them, and C(cause) and C(cause_line) as far as the journal still tells.
    """
    diary = notes_file(instance)
    if not source.exists(diary):
        return None
    said = source.command("crashes.txt", ["awk", _SELECT, diary], timeout_s)
    told = said.text.splitlines()
    notes = [parse_json(line) for line in told[1:]]
    if len(notes) != 2 or not told[0].isdigit() or not all(isinstance(n, dict) for n in notes):
        return None
    first, last = notes
    return {
        "count": int(told[0]),
        "since": first.get("at"),
        "at": last.get("at"),
        "result": last.get("result"),
        "status": last.get("status"),
        **_cause(source, redactor, last, timeout_s),
    }


def _cause(source: Source, redactor: Redactor, note: Facts, timeout_s: float) -> Facts:
    """What the end of that run's journal tells, else systemd's word for it."""
    parser = StartupParser()
    invocation = note.get("invocation_id")
    if isinstance(invocation, str) and invocation:
        entries = read_entries(
            source,
            "journal-crash.log",
            of_invocation(invocation),
            timeout_s,
            f"--lines={TAIL_LINES}",
        )
        with contextlib.closing(entries):
            for entry in entries:
                parser.feed_failure(entry.message)
    cause, line = parser.cause
    return {
        "cause": cause or RESULTS.get(str(note.get("result"))),
        "cause_line": None if line is None else redactor.text(line)[:MAX_CAUSE_CHARS],
    }

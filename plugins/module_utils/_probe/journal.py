# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of one run of a unit.

This module util is private to the llmops.sglang collection.

A run is read from its start and only up to the line that says it is ready: a server that runs for
a month has printed gigabytes, and what it got is told once, at the start. Why a run ended stands at
its end, so the end is read too where the server does not answer; and what the kernel did to it
stands in the kernel's own journal.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import typing as t

from .._engine.causes import RESULTS, UNTOLD, kernel_failure
from .._engine.log_lines import StartupParser
from .redact import Redactor
from .source import Source

Facts = dict[str, t.Any]

# A start prints a few thousand lines; more means that its begin was rotated away.
MAX_START_LINES = 50_000
# Eight ranks die with a traceback each.
TAIL_LINES = 2000
MAX_CAUSE_CHARS = 300


class Entry(t.NamedTuple):
    """One entry of the journal. The message is empty where it could not be told."""

    message: str
    at: datetime.datetime | None
    cursor: str | None


def of_invocation(invocation: str) -> list[str]:
    """What selects the journal of one run, in every release of systemd.

    The engine's own lines carry the first field, systemd's lines about the unit the second.
    """
    return [f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}"]


def read_entries(
    source: Source, name: str, selection: t.Sequence[str], timeout_s: float, *options: str
) -> t.Generator[Entry, None, None]:
    """The entries of a part of the journal, oldest first, one by one.

    journalctl ends with the iterator. C(name) is the one it has in a recording.
    """
    argv = ["journalctl", "--quiet", "--no-pager", "--output=json", "--output-fields=MESSAGE"]
    # Without --all a message of more than 4 kB is null, as are progress bars of many states.
    argv += ["--all", *options, *selection]
    for text in source.lines(name, argv, timeout_s):
        yield _entry(text, selection)


def read_startup(
    source: Source,
    redactor: Redactor,
    unit: str,
    invocation: str | None,
    silent: bool,
    detail: bool,
    timeout_s: float,
) -> Facts:
    """The C(startup) facts of a run. Of a C(silent) server the end of the journal is read too."""
    parser = StartupParser()
    live = source.origin == "live"
    if invocation or not live:
        selection = of_invocation(invocation) if invocation else []
        entries = read_entries(source, "journal.log", selection, timeout_s)
        with contextlib.closing(entries) as start:
            for count, entry in enumerate(start):
                parser.feed(entry.message, entry.at)
                # A recording may hold several runs, of which the last counts.
                if live and (parser.ready or count > MAX_START_LINES):
                    break
        if silent:
            tail = f"--lines={TAIL_LINES}"
            for entry in read_entries(source, "journal-end.log", selection, timeout_s, tail):
                parser.feed_failure(entry.message)
    facts = parser.facts(detail)
    if silent and parser.state == "failed" and facts["cause"] in (*UNTOLD, "host_oom_kill"):
        _ask_kernel(source, unit, facts, parser.first_at, timeout_s)
    if facts["cause_line"] is not None:
        facts["cause_line"] = redactor.text(facts["cause_line"])[:MAX_CAUSE_CHARS]
    return facts


def add_result(startup: Facts, result: str | None) -> None:
    """Let systemd's word for the end of a unit stand where nothing better is known."""
    cause = RESULTS.get(result or "")
    if cause == "start_timeout" and startup["ready_s"] is not None:
        cause = "stop_timeout"
    if cause and (startup["cause"] is None or (result == "oom-kill" and _untold(startup))):
        startup.update(cause=cause, cause_line=f"systemd: Result={result}")


def _untold(startup: Facts) -> bool:
    return startup["cause"] in UNTOLD


def _ask_kernel(
    source: Source,
    unit: str,
    startup: Facts,
    since: datetime.datetime | None,
    timeout_s: float,
) -> None:
    """Look in the kernel's journal for what ended the run."""
    entries = read_entries(
        source, "kernel.log", ["_TRANSPORT=kernel"], timeout_s, "--boot", f"--lines={TAIL_LINES}"
    )
    found = kernel_failure((e.message for e in entries if _not_before(e.at, since)), unit)
    if found:
        startup["cause"], startup["cause_line"] = found


def _not_before(moment: datetime.datetime | None, since: datetime.datetime | None) -> bool:
    """Whether it is of the run; also where the two moments cannot be compared."""
    try:
        return moment is None or since is None or moment >= since
    except TypeError:
        return True


def _entry(text: str, selection: t.Sequence[str]) -> Entry:
    """A line of C(-o json). Its message is an array of bytes where it is not plain text, an array
    of messages where the field came more than once, and null where it is too long. Any other line
    is the message itself, as recordings made by hand have it."""
    if not text.startswith("{"):
        return Entry(text, None, None)
    try:
        fields = json.loads(text)
    except ValueError:
        return Entry(text, None, None)
    told = (fields.get("_SYSTEMD_INVOCATION_ID"), fields.get("INVOCATION_ID"))
    ids = [name for name in told if isinstance(name, str)]
    if ids and selection and not any(f"INVOCATION_ID={name}" in selection for name in ids):
        return Entry("", None, None)
    cursor = fields.get("__CURSOR")
    return Entry(
        message_of(fields.get("MESSAGE")),
        _moment(fields.get("__REALTIME_TIMESTAMP")),
        cursor if isinstance(cursor, str) else None,
    )


def message_of(value: t.Any) -> str:
    """The text of a message as C(-o json) has it; empty where it has none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    if all(isinstance(part, int) and 0 <= part < 256 for part in value):
        return bytes(value).decode("utf-8", "replace")
    return "\n".join(message_of(part) for part in value if not isinstance(part, int))


def _moment(microseconds: t.Any) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(int(microseconds) / 1e6, datetime.timezone.utc)
    except (TypeError, ValueError, OverflowError, OSError):
        return None

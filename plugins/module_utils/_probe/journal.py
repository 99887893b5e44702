# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of one run of a unit.

This module util is private to the llmops.sglang collection.

A run is read from its start and only up to the line that says it is ready: a server that runs for
a month has printed gigabytes, and what it got is told once, at the start. Why a run ended stands at
its end, so the end is read too where the server does not answer.
"""

from __future__ import annotations

import datetime
import json
import typing as t

from .._engine.log_lines import StartupParser
from .redact import Redactor
from .source import Source

# A start prints a few thousand lines; more means that its begin was rotated away.
MAX_START_LINES = 50_000
TAIL_LINES = 400
MAX_CAUSE_CHARS = 300


def read_startup(
    source: Source,
    redactor: Redactor,
    invocation: str | None,
    silent: bool,
    detail: bool,
    timeout_s: float,
) -> dict[str, t.Any]:
    """The C(startup) facts of a run. Of a C(silent) server the end of the journal is read too."""
    parser = StartupParser()
    # The engine's own lines carry the first field, systemd's lines about the unit the second.
    match = [f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}"]
    argv = ["journalctl", "--quiet", "--no-pager", "--output=json", "--output-fields=MESSAGE"]
    if invocation or source.origin == "recording":
        live = source.origin == "live"
        lines = source.lines("journal.log", argv + match, timeout_s)
        for count, text in enumerate(lines):
            message, moment = _entry(text, invocation)
            if message:
                parser.feed(message, moment)
            # A recording may hold several runs, of which the last counts.
            if live and (parser.ready or count > MAX_START_LINES):
                break
        if live and silent:
            for text in source.lines(
                "journal.log", [*argv, f"--lines={TAIL_LINES}", *match], timeout_s
            ):
                parser.feed_failure(_entry(text, invocation)[0])
    facts = parser.facts(detail)
    if facts["cause_line"] is not None:
        facts["cause_line"] = redactor.text(facts["cause_line"])[:MAX_CAUSE_CHARS]
    return facts


def _entry(text: str, invocation: str | None) -> tuple[str, datetime.datetime | None]:
    """The message of a journal line and when the journal got it. Lines of C(-o json) may carry the
    message as bytes, or null when it is too long; any other line is the message itself."""
    if not text.startswith("{"):
        return text, None
    try:
        entry = json.loads(text)
    except ValueError:
        return text, None
    message = entry.get("MESSAGE") if isinstance(entry, dict) else None
    if isinstance(message, list):
        message = bytes(b for b in message if isinstance(b, int) and 0 <= b < 256).decode(
            "utf-8", "replace"
        )
    ids = {entry.get("_SYSTEMD_INVOCATION_ID"), entry.get("INVOCATION_ID")} - {None}
    if not isinstance(message, str) or (invocation and ids and invocation not in ids):
        return "", None
    return message, _moment(entry.get("__REALTIME_TIMESTAMP"))


def _moment(microseconds: t.Any) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(int(microseconds) / 1e6, datetime.timezone.utc)
    except (TypeError, ValueError, OverflowError, OSError):
        return None

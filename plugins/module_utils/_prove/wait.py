# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits until a start ended, one way or the other.

Private to the collection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .._engine import endpoints
from .._engine.causes import remedy_for
from .._engine.log_lines import StartupParser
from .._gate.unit import UnitError, UnitState, monotonic_s, read_unit
from .._probe.redact import Redactor
from .client import Client
from .journal import Journal

_PAUSE_S = 0.5
# systemd may be away for seconds while it is upgraded; a server that loads is not given up for it.
_MISSES = 20
FIRED_UP = "fired up"
_TOO_LATE = (
    "the server goes on starting: look at its journal for what it waits for, or allow more time "
    "(sglang_start_timeout_s)"
)
_NOT_STARTED = "start the unit, then prove it"
# What the journal shows in passing, in the order of a start: (fact, sentence).
_PHASES = (
    ("load_s", "weights loaded"),
    ("max_total_num_tokens", "KV pool of {:,} tokens"),
    ("host_tokens", "host pool of {:,} tokens per rank"),
)


class StartFailed(Exception):
    """The server is not there, and will not come.

    `cause` is a word of the parser's vocabulary or a sentence about the unit, `line` the journal
    line that proves it. Holds no secrets.
    """

    def __init__(self, cause: str, line: str | None, remedy: str, startup: dict[str, Any]) -> None:
        super().__init__(cause)
        self.cause = cause
        self.line = None if line is None else Redactor().text(line)
        self.remedy = remedy
        self.startup = startup


@dataclass
class Started:
    """A server that is up. `fired_up` is None when the journal of its start is gone."""

    invocation_id: str | None
    fired_up: bool | None
    startup: dict[str, Any]
    timeline: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ready_s(self) -> float | None:
        """Seconds from the start of the process; of an earlier start, from its first log line."""
        seen = [entry["at_s"] for entry in self.timeline if entry["text"] == FIRED_UP]
        return seen[0] if seen else self.startup.get("ready_s")


class Wait:
    """One wait for one unit."""

    def __init__(
        self,
        unit: str,
        client: Client,
        timeline: list[dict[str, Any]] | None = None,
        read: Callable[[str], UnitState] = read_unit,
    ) -> None:
        """`timeline` is what an earlier part of the same wait has seen."""
        self._unit = unit
        self._client = client
        self._read = read
        self._parser = StartupParser()
        self._goes_on = timeline is not None
        self.timeline = list(timeline or [])
        self._misses = 0

    def until_ready(self, deadline_s: float, part_s: float | None = None) -> Started | None:
        """Return when the server is up; raises StartFailed as soon as it is certain that not.

        `deadline_s` counts from the start of the process. None when the start goes on, but
        `part_s` seconds were waited or there is something new to show. The unit must have been
        started.
        """
        began, known = time.monotonic(), len(self.timeline)
        state = self._read(self._unit)
        first = state.invocation_id
        if first is None:
            raise self._failed(
                f"the unit {self._unit} is {state.active_state or 'unknown'}", _NOT_STARTED
            )
        ran_s = 0.0 if state.started_s is None else max(0.0, monotonic_s() - state.started_s)
        until = began + deadline_s - ran_s
        journal = Journal(first, self._parser)
        journal.read_new()
        # When a server came up that was up before anybody looked is not known, and not noted.
        witnessed = self._goes_on or not self._parser.ready
        while True:
            if witnessed:
                self._note(state)
            if self._parser.state == "failed":
                raise self._failed("the start failed")
            if self._parser.ready and state.running:
                return Started(first, True, self._facts(), self.timeline)
            if state.invocation_id != first or not state.running:
                # The last lines may have come after the look.
                journal.read_new()
                raise self._failed(f"the main process {state.ending()}")
            if self._answers_without_journal():
                return Started(first, None, self._facts(), self.timeline)
            if time.monotonic() >= until:
                raise self._failed(f"not up after {deadline_s:.0f} s: {self.reached()}", _TOO_LATE)
            news = len(self.timeline) > known
            if part_s is not None and (news or time.monotonic() >= began + part_s):
                return None
            time.sleep(_PAUSE_S)
            journal.read_new()
            state = self._read_again(state)

    def _read_again(self, last: UnitState) -> UnitState:
        """The state of the unit; the last one while systemd itself is away for a moment."""
        try:
            state = self._read(self._unit)
        except UnitError:
            self._misses += 1
            if self._misses >= _MISSES:
                raise
            return last
        self._misses = 0
        return state

    def look(self) -> Started | None:
        """Look once; None when no server is up."""
        state = self._read(self._unit)
        if not state.running or state.invocation_id is None:
            return None
        Journal(state.invocation_id, self._parser).read_new()
        if self._parser.ready:
            return Started(state.invocation_id, True, self._facts())
        if self._answers_without_journal():
            return Started(state.invocation_id, None, self._facts())
        return None

    def _answers_without_journal(self) -> bool:
        """Whether the server answers although the journal of its start is gone.

        The capacity line comes long before the first answer: when it was seen, the journal is
        there, and only its last line makes the server ready.
        """
        if self._parser.facts()["max_total_num_tokens"] is not None:
            return False
        return self._client.get(endpoints.paths("models")[0], timeout_s=5.0).ok

    def _note(self, state: UnitState) -> None:
        """Keep when a phase was seen to be reached, in seconds since the process started."""
        known = {str(entry["text"]) for entry in self.timeline}
        if state.started_s is None:
            return
        at_s = round(monotonic_s() - state.started_s, 1)
        for text in self._phases():
            if text not in known:
                self.timeline.append({"at_s": at_s, "text": text})

    def _phases(self) -> Iterator[str]:
        """What the start has reached, in order."""
        facts = self._parser.facts()
        for key, sentence in _PHASES:
            if facts[key]:
                yield sentence.format(facts[key])
        if self._parser.ready:
            yield FIRED_UP

    def _facts(self) -> dict[str, Any]:
        return self._parser.facts(detail=True)

    def reached(self) -> str:
        """Return how far the start came, in words."""
        shards, phases = self._parser.progress(), list(self._phases())
        if phases:
            return f"it came as far as {phases[-1]}"
        if shards["shards_total"]:
            return f"{shards['shards_done']} of {shards['shards_total']} shards are loaded"
        return "no weights are loaded yet"

    def _failed(self, otherwise: str, remedy: str | None = None) -> StartFailed:
        """Return the failure with the journal's cause; `otherwise` says it when there is none."""
        cause, line = self._parser.cause
        startup = self._facts()
        if startup.get("cause_line"):
            startup["cause_line"] = Redactor().text(startup["cause_line"])
        if cause is None and remedy is not None:
            return StartFailed(otherwise, line, remedy, startup)
        return StartFailed(cause or otherwise, line, remedy_for(cause), startup)

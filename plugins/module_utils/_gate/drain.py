# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for the last request of a server.

Private to the collection.
"""

from __future__ import annotations

import time
from typing import Any

from .._engine import endpoints
from .._engine.version import Version
from .._prove.client import Client

_PAUSE_S = 1.0
# After an abort the schedulers need a moment to let go of the requests.
_ABORT_S = 30.0
# A server in the middle of a long prefill may miss single questions.
_MISSES = 5


class DrainError(Exception):
    """Requests are left, or could not be counted; the text says what to do."""


class Drain:
    """One drain: the numbers of the last look, and how long it took."""

    def __init__(self, client: Client, version: Version | None = None) -> None:
        self._client = client
        self._paths = list(endpoints.paths("loads", version))
        self._begun = time.monotonic()
        self.first_in_flight: int | None = None
        self.in_flight: int | None = None
        self.aborted = 0
        self.reason: str | None = None
        self._endpoint: str | None = None

    def look(self) -> bool:
        """Count the requests in flight; returns whether they could be counted.

        A server that nobody listens for counts as zero. Raises DrainError when the server answers
        but cannot or will not tell.
        """
        refusals: list[str] = []
        for path in list(self._paths):
            answer = self._client.get(path)
            if answer.refused:
                self.reason = "no server answers"
                return self._counted(0)
            loads = endpoints.parse_loads(path, answer.body) if answer.ok else None
            if loads is not None:
                self._paths = [path]
                self._endpoint = path
                return self._counted(loads.in_flight)
            if answer.status is None:
                return False
            if answer.status in (401, 403):
                raise DrainError(
                    f"the server refuses {path}: its key is not the one in the secrets file "
                    "(sglang_api_key)"
                )
            refusals.append(f"{path}: {answer.reason or 'no load in the answer'}")
        if self._endpoint is not None:
            return False
        raise DrainError(
            "the server does not tell its requests in flight: "
            + "; ".join(refusals)
            + " (sglang_enable_metrics helps on old versions)"
        )

    def wait(self, timeout_s: float, abort: bool) -> None:
        """Look once a second until nothing is in flight.

        At the bound either aborts what is left or raises DrainError.
        """
        misses = 0
        while True:
            misses = 0 if self.look() else misses + 1
            if misses == 0 and self.in_flight == 0:
                return
            if misses >= _MISSES and self.in_flight is None:
                if abort:
                    self.reason = "the server takes connections but does not answer"
                    return
                raise DrainError(
                    "the server takes connections but does not answer, so its requests cannot be "
                    "counted; to stop it all the same: sglang_drain_at_bound: abort"
                )
            if time.monotonic() - self._begun >= timeout_s:
                break
            time.sleep(_PAUSE_S)
        left = "an unknown number of" if self.in_flight is None else self.in_flight
        if not abort:
            raise DrainError(
                f"{left} requests are still in flight after {timeout_s:g} s; the server keeps "
                "running. Allow more time (sglang_drain_timeout_s) or let them be aborted at the "
                "bound (sglang_drain_at_bound: abort)"
            )
        self._abort()

    def _abort(self) -> None:
        count = self.in_flight or 0
        path = endpoints.paths("abort")[0]
        answer = self._client.post(path, {"abort_all": True}, timeout_s=30.0, admin=True)
        if not answer.ok and not answer.refused:
            raise DrainError(f"the server did not abort {count} requests: {answer.reason}")
        self.aborted = count
        until = time.monotonic() + _ABORT_S
        while time.monotonic() < until:
            if self.look() and self.in_flight == 0:
                return
            time.sleep(_PAUSE_S)
        raise DrainError(f"{self.in_flight} requests are left {_ABORT_S:g} s after their abort")

    def _counted(self, count: int) -> bool:
        if self.first_in_flight is None:
            self.first_in_flight = count
        self.in_flight = count
        return True

    def as_dict(self) -> dict[str, Any]:
        """Return what the module returns."""
        waited_s = round(time.monotonic() - self._begun, 1)
        return {
            "drained": self.in_flight == 0,
            "in_flight": self.in_flight,
            "first_in_flight": self.first_in_flight,
            "aborted": self.aborted,
            "waited_s": waited_s,
            "endpoint": self._endpoint,
            "reason": self.reason,
            "text": self._text(waited_s),
        }

    def _text(self, waited_s: float) -> str:
        if self.reason and not self.first_in_flight:
            return f"drain: {self.reason}"
        first = "unknown" if self.first_in_flight is None else self.first_in_flight
        if self.aborted:
            return f"drain: {first} in flight, {self.aborted} aborted after {waited_s:.0f} s"
        left = {None: "unknown", 0: "none"}.get(self.in_flight, self.in_flight)
        return f"drain: {first} in flight, {left} left after {waited_s:.0f} s"

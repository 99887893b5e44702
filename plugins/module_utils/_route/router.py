# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sglang-router 0.3 is asked and told about its workers.

Every change is answered with 202 and done later, or never. So each method here says only that the
router took the order; whether it was carried out is seen in the list.

Private to the collection.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from .._prove.client import Answer, Client
from .worker import Entry, RouteError, Wanted, parse_entries

_FAILED = "failed"


class Router:
    """One router."""

    def __init__(self, url: str, client: Client) -> None:
        self.url = url
        self._client = client

    def entries(self) -> list[Entry]:
        """Its workers. Raises RouteError when it does not tell them."""
        answer = self._client.get("/workers")
        entries = parse_entries(answer.body) if answer.ok else None
        if entries is None:
            raise self._error("does not list its workers", answer)
        return entries

    def add(self, wanted: Wanted) -> str:
        """Order it to add a worker; returns the id under which to ask how that goes."""
        answer = self._client.post("/workers", wanted.body(), timeout_s=10.0)
        if answer.status not in (200, 201, 202):
            raise self._error(f"did not take {wanted.url}", answer)
        ident = answer.body.get("worker_id") if isinstance(answer.body, dict) else None
        return str(ident or "")

    def update(self, entry: Entry, told: dict[str, Any]) -> None:
        """Order it to change a worker."""
        answer = self._client.put(_path(entry.ident), told)
        if answer.status not in (200, 202):
            raise self._error(f"did not change {entry.url}", answer)

    def remove(self, entry: Entry) -> None:
        """Order it to send a worker nothing more. One that it does not know is no error."""
        answer = self._client.delete(_path(entry.ident))
        if answer.status not in (200, 202, 204, 404):
            raise self._error(f"did not let go of {entry.url}", answer)

    def failure(self, ident: str) -> str | None:
        """Why the last order about a worker came to nothing; None while it may still succeed."""
        if not ident:
            return None
        body = self._client.get(_path(ident)).body
        job = body.get("job_status") if isinstance(body, dict) else None
        if not isinstance(job, dict) or job.get("status") != _FAILED:
            return None
        message = str(job.get("message") or "no reason told")
        return None if "already exists" in message else message

    def _error(self, what: str, answer: Answer) -> RouteError:
        return RouteError(f"router {self.url} {what}: {_reason(answer)}")


def _path(ident: str) -> str:
    return f"/workers/{quote(ident, safe='')}"


def _reason(answer: Answer) -> str:
    if answer.refused:
        return "nobody listens there (is the router running, and is its address right?)"
    if answer.status == 401:
        return "HTTP 401, it wants another key than the one given (api_key_file)"
    if answer.status == 403:
        return "HTTP 403, the key given (api_key_file) is not one of an admin"
    if answer.status == 404:
        return "HTTP 404, so it is no sglang-router 0.3 or newer"
    return answer.reason or f"HTTP {answer.status} with an answer that it should not give"

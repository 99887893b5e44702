# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small HTTP client for one server, which never lets its keys out.

Private to the collection.
"""

from __future__ import annotations

import http.client
import json
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._keys import Keys, parse_keys
from .._probe.redact import Redactor

_LARGEST_ANSWER_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Answer:
    """What came back. `status` is None when nothing did, and `reason` then says why."""

    status: int | None
    body: Any = None
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the server did what it was asked."""
        return self.status == 200

    @property
    def refused(self) -> bool:
        """Whether nobody listens there."""
        return self.status is None and self.reason == "connection refused"


def read_keys(path: str | None) -> Keys:
    """Read the keys from the host's secrets file; a file that is not there means no keys.

    Raises ValueError when it cannot be understood; the message holds nothing of its content.
    """
    if not path:
        return Keys()
    try:
        return parse_keys(Path(path).read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return Keys()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


class Client:
    """Asks one server. No proxy is used, whatever the environment says."""

    def __init__(self, url: str, keys: Keys) -> None:
        self._url = url.rstrip("/")
        self._keys = keys
        self._redactor = Redactor(keys.known())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str, timeout_s: float = 10.0) -> Answer:
        """Send a GET."""
        return self._ask(path, None, self._keys.normal, timeout_s)

    def post(
        self, path: str, body: dict[str, Any], timeout_s: float = 60.0, admin: bool = False
    ) -> Answer:
        """Send a JSON body; with the admin key, if there is one, when the path asks for it."""
        key = (self._keys.admin if admin else None) or self._keys.normal
        return self._ask(path, json.dumps(body).encode(), key, timeout_s)

    def put(self, path: str, body: dict[str, Any], timeout_s: float = 10.0) -> Answer:
        """Send a JSON body in place of what is there."""
        return self._ask(path, json.dumps(body).encode(), self._keys.normal, timeout_s, "PUT")

    def delete(self, path: str, timeout_s: float = 10.0) -> Answer:
        """Send a DELETE."""
        return self._ask(path, None, self._keys.normal, timeout_s, "DELETE")

    def _ask(
        self,
        path: str,
        data: bytes | None,
        key: str | None,
        timeout_s: float,
        method: str | None = None,
    ) -> Answer:
        request = urllib.request.Request(self._url + path, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if key:
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        try:
            with self._opener.open(request, timeout=timeout_s) as response:
                return Answer(response.status, _decoded(response.read(_LARGEST_ANSWER_BYTES)))
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(2000).decode("utf-8", "replace").strip()
            return Answer(error.code, None, self._redactor.text(f"HTTP {error.code}: {text}"[:400]))
        except (OSError, ValueError, http.client.HTTPException) as error:
            return Answer(None, None, self._redactor.text(_reason(error)))


def _decoded(data: bytes) -> Any:
    """Return JSON as values, anything else as text."""
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _reason(error: Exception) -> str:
    inner = getattr(error, "reason", error)
    if isinstance(inner, ConnectionRefusedError):
        return "connection refused"
    if isinstance(inner, socket.timeout):
        return "no answer in time"
    return str(inner) or type(inner).__name__

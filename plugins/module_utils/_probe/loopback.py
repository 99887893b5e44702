# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One GET to a server on the same host.

This module util is private to the llmops.sglang collection.

Python's own client brings TLS and mail headers along, and to import these takes longer than to read
all the rest of a host.
"""

from __future__ import annotations

import socket

TIMEOUT_S = 5.0
MAX_ANSWER_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 1 << 16


def get(url: str, key: str) -> str | None:
    """The body of a 200 answer; None for any other end. No proxy is used.

    C(url) is C(http://HOST:PORT/PATH). HTTP/1.0: the server says all it has to say and hangs up.
    """
    place, _slash, path = url.partition("://")[2].partition("/")
    host, _colon, port = place.rpartition(":")
    lines = [f"GET /{path} HTTP/1.0", f"Host: {place}"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    if not all(line.isprintable() for line in lines):
        return None  # a line break in a key would begin another header
    try:
        with socket.create_connection((host.strip("[]"), int(port)), TIMEOUT_S) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = _all_of(connection)
    except (OSError, ValueError):
        return None
    head, _blank, body = answer.partition(b"\r\n\r\n")
    return body.decode("utf-8", "replace") if head.split()[1:2] == [b"200"] else None


def _all_of(connection: socket.socket) -> bytes:
    """Whatever comes until the other side hangs up, at most C(MAX_ANSWER_BYTES)."""
    chunks: list[bytes] = []
    left = MAX_ANSWER_BYTES
    while left > 0:
        chunk = connection.recv(min(left, _CHUNK_BYTES))
        if not chunk:
            break
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)

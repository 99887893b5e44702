# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps secrets out of whatever leaves the probe.

This module util is private to the llmops.sglang collection.

The engine prints its keys in clear (C(server_args=), C(/server_info)), and a person may pass one on
the command line. Everything that leaves the probe as text goes through one L(Redactor).
"""

from __future__ import annotations

import re
import typing as t

REDACTED = "<redacted>"

# Singular on purpose: --max-total-tokens is a size, --hf-token is a secret.
_NAME = r"[\w-]*(?:(?:api|access|secret|private)[-_]?key|secret|passw(?:or)?d|token)"
_SECRET_FLAG = re.compile(rf"^--?{_NAME}$", re.IGNORECASE)
# In JSON that was escaped into a string, a quote has a backslash before it.
_QUOTE = r"\\*[\"']"
_PATTERNS = (
    # api_key='x', "api-key": "x"
    (
        re.compile(rf"(\b{_NAME}(?:{_QUOTE})?\s*[:=]\s*)({_QUOTE})(.*?)(\2|$)", re.IGNORECASE),
        rf"\1\g<2>{REDACTED}\4",
    ),
    # --api-key x, --api-key=x, HF_TOKEN=x
    (re.compile(rf"(--{_NAME}(?:\s+|=))(?!{_QUOTE})(\S+)", re.IGNORECASE), rf"\1{REDACTED}"),
    (re.compile(rf"(\b{_NAME}=)(?!{_QUOTE})(?!None\b)([^\s,)]+)", re.IGNORECASE), rf"\1{REDACTED}"),
    (re.compile(r"(\bBearer\s+)(\S+)", re.IGNORECASE), rf"\1{REDACTED}"),
    # user:password@host
    (re.compile(r"(://[^/\s:@]+:)([^/\s@]+)(@)"), rf"\1{REDACTED}\3"),
    # Keys that can be known by their look.
    (re.compile(r"\b(?:sk-|hf_)[A-Za-z0-9_-]{6,}"), REDACTED),
)


class Redactor:
    """Removes secrets: the known ones wherever they stand, the others by their name."""

    def __init__(self, secrets: t.Iterable[str] = ()) -> None:
        # The longest first, so that a key that contains another one goes as a whole. A secret of
        # three letters would blot out half of the text and protects nothing.
        self._secrets = sorted({s for s in secrets if len(s) > 3}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """A text without its secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def argv(self, argv: t.Iterable[str]) -> list[str]:
        """A command line; the value after a flag that names a secret is removed."""
        result: list[str] = []
        hide = False
        for word in argv:
            result.append(REDACTED if hide and not word.startswith("--") else self.text(word))
            hide = bool(_SECRET_FLAG.match(word))
        return result

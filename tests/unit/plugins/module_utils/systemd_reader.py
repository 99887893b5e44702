# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd makes of the text behind ExecStart=, by the rules of systemd.service(5)."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SPACE = " \t\n\r"


def read_exec_start(text: str) -> list[str]:
    """Join the lines, split into words, undo quotes and escapes, then `%%` and `$$`."""
    joined = re.sub(r"\\\n[ \t]*", " ", text)
    if "\n" in joined:
        raise ValueError("a setting ends with its line")
    return [_expanded(word) for word in _words(joined)]


def _words(text: str) -> list[str]:
    words: list[str] = []
    place = 0
    while place < len(text):
        if text[place] in _SPACE:
            place += 1
            continue
        word, place = _word(text, place)
        words.append(word)
    return words


def _word(text: str, place: int) -> tuple[str, int]:
    found, quote = "", ""
    while place < len(text):
        character = text[place]
        if character == "\\":
            escape = _ESCAPE.match(text, place)
            if escape is None:
                raise ValueError("a backslash at the end")
            found += _unescaped(escape[1])
            place = escape.end()
            continue
        place += 1
        if character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif not quote and character in _SPACE:
            break
        else:
            found += character
    if quote:
        raise ValueError(f"no closing {quote}")
    return found, place


def _unescaped(code: str) -> str:
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _LETTERS.get(code, code)


def _expanded(word: str) -> str:
    for sign in "%$":
        if re.search(rf"(?<!\{sign})\{sign}(\{sign}\{sign})*(?!\{sign})", word):
            raise ValueError(f"{sign} would be expanded")
        word = word.replace(sign * 2, sign)
    return word

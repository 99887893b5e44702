# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structured data to systemd unit text. Private to the collection.

A unit is a list of ``[section, [[key, value], ...]]``. The type of a value says how it is written:

* ``str``: the setting's value as it is, with ``%`` doubled;
* ``int`` and ``bool``: a number, ``yes`` or ``no``;
* ``list`` under a key that begins with ``Exec``: an argument vector, one flag a line;
* ``list`` under any other key: words, quoted where needed, on one line;
* ``dict``: assignments ``NAME=value``, each on a line of its own (``Environment=``);
* the key ``#`` makes a comment of its ``str``.

Text that systemd would read differently from what was meant is refused, never bent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SAFE_WORD = re.compile(r"[A-Za-z0-9_@%$+=:,./|-]+")
# "-": its failure is none of the unit's, "+": with full privileges.
_PREFIXES = "-+"
_UNSAFE_EXECUTABLE = re.compile(r"[\"'\\$\x00-\x1f\x7f]|//|/\.{1,2}(?:/|$)|/$")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTING_NAME = re.compile(r"[A-Za-z0-9]+")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_CONTINUATION = " \\\n    "


class SystemdTextError(ValueError):
    """A value that no unit file can carry unchanged."""


def exec_start(argv: Sequence[str]) -> str:
    """Return the right-hand side of ``ExecStart=``: the command, then one line for each flag.

    ``argv[0]`` must be an absolute, plain path: systemd neither unescapes ``$$`` in it nor accepts
    quotes or backslashes there. Raises SystemdTextError otherwise. It may begin with systemd's
    prefixes ``-`` and ``+``.
    """
    if not argv:
        raise SystemdTextError("a command needs at least the path of its program")
    executable = argv[0]
    path = executable.lstrip(_PREFIXES)
    if not path.startswith("/") or _UNSAFE_EXECUTABLE.search(path):
        raise SystemdTextError(f"systemd cannot run {executable!r}: not a plain absolute path")
    lines: list[list[str]] = [[_word(executable)]]
    for argument in argv[1:]:
        if argument.startswith("--"):
            lines.append([])
        # "$" is doubled since systemd expands variables in arguments, though not in Environment=.
        lines[-1].append(_word(argument.replace("$", "$$")))
    return _CONTINUATION.join(" ".join(line) for line in lines)


def environment_lines(environment: dict[str, str]) -> list[str]:
    """Return one ``Environment=`` line for each variable, in the order of the mapping."""
    return [f"Environment={_assignment(name, value)}" for name, value in environment.items()]


def unit_text(sections: Sequence[Sequence[Any]]) -> str:
    """Return the text of a whole unit file; the module's docstring lists the types of values."""
    return "\n".join(_section(name, settings) for name, settings in sections)


def _section(name: str, settings: Sequence[Sequence[Any]]) -> str:
    lines = [f"[{name}]"]
    for key, value in settings:
        lines.extend(_setting(key, value))
    return "\n".join(lines) + "\n"


def _setting(key: str, value: Any) -> list[str]:
    if key == "#":
        return [f"# {line}" for line in _plain(value).split("\n")]
    if not _SETTING_NAME.fullmatch(key):
        raise SystemdTextError(f"{key!r} is not the name of a setting")
    if isinstance(value, dict):
        return [f"{key}={_assignment(name, text)}" for name, text in value.items()]
    return [f"{key}={_value(key, value)}"]


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return exec_start(value) if key.startswith("Exec") else " ".join(map(_word, value))
    text = _plain(value)
    # A line end or a last backslash would join this setting with the next; outer blanks vanish.
    if "\n" in text or "\r" in text or text.endswith("\\") or text != text.strip():
        raise SystemdTextError(f"{key}= cannot carry the value {text!r}")
    return text.replace("%", "%%")


def _assignment(name: str, value: str) -> str:
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise SystemdTextError(f"{name!r} is not the name of an environment variable")
    return _word(f"{name}={value}")


def _word(text: str) -> str:
    """Quote one word so that systemd's own splitting and unescaping gives it back unchanged."""
    escaped = _plain(text).replace("%", "%%")
    if _SAFE_WORD.fullmatch(escaped):
        return escaped
    quote = "'" if '"' in escaped and "'" not in escaped else '"'
    return quote + "".join(_character(character, quote) for character in escaped) + quote


def _character(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{character}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == " " or character.isprintable():
        return character
    code = ord(character)
    # \xNN stands for one byte, so only ASCII may use it.
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _plain(text: str) -> str:
    """Return ``text``; refuse what no C string or UTF-8 file can hold."""
    if "\x00" in text:
        raise SystemdTextError("a unit file cannot carry a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise SystemdTextError(f"{text!r} is not valid Unicode") from None
    return text

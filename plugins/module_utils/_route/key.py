# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key from a file of its own, or from an engine's secrets file.

Private to the collection.
"""

from __future__ import annotations

from pathlib import Path

from .._keys import parse_keys
from .worker import RouteError


def read_key(path: str | None, value: str | None, name: str) -> str | None:
    """The key that a file holds, or that was given as a value; None when neither was given.

    Raises RouteError when there is no key in the file; the message holds nothing of its content.
    """
    if not path:
        return value or None
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
        key = parse_keys(text).normal if text.startswith("{") else text
    except OSError as error:
        raise RouteError(f"{name} {path}: {error.strerror}") from None
    except ValueError:
        raise RouteError(f"{name} {path}: holds no key that can be read") from None
    if not key:
        raise RouteError(f"{name} {path}: holds no key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise RouteError(f"{name} {path}: holds more than one word, and a key is one")
    return key

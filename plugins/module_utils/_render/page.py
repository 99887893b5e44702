# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that every report is set on: 80 columns, no colour. Private to the collection."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from .._probe.redact import Redactor

WIDTH = 80

_GIB = 2**30
_MIB = 2**20
#: Text that YAML reads as this very text.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z/][\w./-]*", re.IGNORECASE)


def size(size_bytes: int, decimals: int = 1) -> str:
    """Bytes as GiB; as MiB where a tenth of a GiB would hide them."""
    if 0 < size_bytes < _GIB / 10:
        return f"{size_bytes / _MIB:,.1f} MiB"
    return f"{size_bytes / _GIB:,.{decimals}f} GiB"


def amount(size_bytes: int | None) -> str:
    """Bytes of something that may be absent or unknown."""
    if size_bytes is None:
        return "unknown"
    return size(size_bytes) if size_bytes else "none"


def wrap(text: str, indent: str, first: str | None = None) -> list[str]:
    """Lines of at most `WIDTH` columns; `first` stands before the first one instead of `indent`."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def setting_lines(variables: Mapping[str, Any]) -> list[str]:
    """Variables as lines of YAML, to be copied into the inventory; without secrets in them."""
    shown = Redactor().data(dict(variables))
    return [f"{name}: {_scalar(value)}" for name, value in shown.items()]


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else json.dumps(value)

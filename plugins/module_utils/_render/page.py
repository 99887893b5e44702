# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that every report is set on: 80 columns, no colour. Private to the collection."""

from __future__ import annotations

import textwrap

WIDTH = 80

_GIB = 2**30
_MIB = 2**20


def size(size_bytes: int, decimals: int = 1) -> str:
    """Bytes as GiB; as MiB where a tenth of a GiB would hide them."""
    if 0 < size_bytes < _GIB / 10:
        return f"{size_bytes / _MIB:,.1f} MiB"
    return f"{size_bytes / _GIB:,.{decimals}f} GiB"


def wrap(text: str, indent: str, first: str | None = None) -> list[str]:
    """Lines of at most `WIDTH` columns; `first` stands before the first one instead of `indent`."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )

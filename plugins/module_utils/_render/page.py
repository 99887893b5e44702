# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that every report is set on: 80 columns, no colour. Private to the collection."""

from __future__ import annotations

import textwrap

WIDTH = 80


def wrap(text: str, indent: str, first: str | None = None) -> list[str]:
    """Lines of at most `WIDTH` columns; `first` stands before the first one instead of `indent`."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as a person reads them: what is wrong, then what to do and which variable to change.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .page import wrap


def findings_text(findings: Iterable[Mapping[str, Any]]) -> str:
    """The lines below the heading "Findings", without a newline at the end; empty for none."""
    lines: list[str] = []
    for entry in findings:
        lines.extend(
            wrap(f"{entry['text']} ({entry['id']})", " " * 10, f"  {entry['severity']:<8}")
        )
        variable = f" [{entry['variable']}]" if entry["variable"] else ""
        lines.extend(wrap(f"{entry['remedy']}{variable}", " " * 13, " " * 10 + "-> "))
    return "\n".join(lines)

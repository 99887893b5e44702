# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings of the plan, and bytes in words.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from .._engine.pool_rules import GB, GIB

REFUSE = "refuse"
WARN = "warn"
ADVISE = "advise"


def finding(
    number: str, severity: str, text: str, remedy: str, variable: str | None = None
) -> dict[str, Any]:
    """One finding: what was measured and needed, what to do, and the variable to change."""
    return {
        "id": number,
        "severity": severity,
        "text": text,
        "remedy": remedy,
        "variable": variable,
    }


def gib(value_bytes: int) -> str:
    """Bytes in GiB (2^30), for a person; in MiB where a tenth of a GiB would hide them."""
    if 0 < value_bytes < GIB / 10:
        return f"{value_bytes / 2**20:.1f} MiB"
    return f"{value_bytes / GIB:.1f} GiB"


def gb(value_bytes: int) -> str:
    """Bytes in GB (10^9), as the engine's own messages count."""
    return f"{value_bytes / GB:.2f} GB"

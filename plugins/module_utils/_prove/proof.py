# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a proof is.

Private to the collection. Every proof ends as proven, failed or not_proven; what a server cannot
show is not_proven, never proven.
"""

from __future__ import annotations

from typing import Any

PROVEN = "proven"
FAILED = "failed"
NOT_PROVEN = "not_proven"

Proof = dict[str, Any]


def proof_of(name: str, status: str, measured: Any, planned: Any, text: str) -> Proof:
    """Return a proof as the module returns it; `text` is one sentence for a person."""
    return {"id": name, "status": status, "measured": measured, "planned": planned, "text": text}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short digests of what a server was planned from, kept beside it to notice a change later.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from .setting import part

_TIER_PREFIX = "sglang_hicache_"
# Asks for a new plan, without being a part of it.
REPLAN = "sglang_hicache_replan"


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits that change with the value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def plan_fingerprint(facts: Mapping[str, Any], wishes: Mapping[str, Any], version: str) -> str:
    """`engine:model:draft`, so that a process tells by which of them it is out of date."""
    weights = [str(part(facts, name).get("fingerprint") or "-") for name in ("model", "draft")]
    return ":".join([digest([version, wishes["sglang_engine_path"]]), *weights])


def tier_fingerprint(wishes: Mapping[str, Any]) -> str:
    """Digest of the variables that shape the host tier; what was measured does not enter."""
    names = [name for name in wishes if name.startswith(_TIER_PREFIX) and name != REPLAN]
    return digest({name: wishes[name] for name in names})

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts for the page and for whoever looks at it in a browser: recorded, planned, hostile, lost."""

from __future__ import annotations

from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.running import running_tiers
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    drafting,
    wishes,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
)

HOSTILE = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m"


def planned(name: str, **asked: Any) -> dict[str, Any]:
    """A recorded host as the page takes it."""
    facts = facts_of(name, detail=True)
    return host_of(facts, drafting(**asked) if facts.get("draft") else wishes(**asked))


def host_of(facts: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Facts, and as much of their plan as a report reads."""
    capacity = plan_capacity(facts, asked)
    plan = {
        "instance": "kimi",
        "unit": "sglang-kimi.service",
        "capacity": capacity,
        "running": running_tiers(facts, capacity),
        "findings": capacity["findings"],
    }
    return {"facts": facts, "plan": plan, "failure": None}


def fleet() -> dict[str, dict[str, Any]]:
    """One host of each kind: measured, full, small, half known, broken, unplanned and lost."""
    hostile = planned("headline", mem_fraction_static=0.92)
    hostile["facts"] = {**hostile["facts"], "server": {"unit": HOSTILE, "active_state": HOSTILE}}
    hostile["plan"]["findings"] = [
        {
            "id": HOSTILE,
            "severity": "warn",
            "text": HOSTILE,
            "remedy": HOSTILE,
            "variable": HOSTILE,
        }
    ]
    return {
        "gpu-01": planned("headline"),
        "gpu-02": planned("h200-nvlink"),
        "spark": planned("gb10", tp_size=1),
        "shared": planned("mig", tp_size=1),
        "gpu-07": {"facts": facts_of("driver-mismatch"), "plan": None, "failure": None},
        "gpu-09": {"facts": None, "plan": None, "failure": f"No route to host {HOSTILE}"},
        HOSTILE: hostile,
    }

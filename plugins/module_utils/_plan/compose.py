# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From facts and variables to everything a host needs to know: one pure function.

Private to the collection. Nothing here reads a file or knows Ansible; the action plugin calls it
on the controller, a unit test calls it in one line.
"""

from __future__ import annotations

from typing import Any

from .._engine.arguments import build_arguments, to_argv
from .._engine.environment import build_environment
from .._engine.profile import profile_findings
from .._engine.rules import check_rules
from .._engine.version import Version
from .._layout import server_url, unit_name
from .capacity import plan_capacity
from .choice import KEPT_BUT_NOT_CERTAIN
from .deadlines import deadlines
from .fingerprint import REPLAN, plan_fingerprint
from .running import running_tiers
from .unit import build_unit

#: Environment variable that lets a running process say what it was started from.
FINGERPRINT_VARIABLE = "LLMOPS_SGLANG_FINGERPRINT"


def compose_plan(facts: dict[str, Any], wishes: dict[str, Any]) -> dict[str, Any]:
    """The whole plan of one instance: capacity, arguments, environment, unit and findings.

    `facts` is what the probe returned, `wishes` the role variables by their full names. Findings
    of severity `refuse` mean that the rest must not be applied.
    """
    plan = _compose(facts, wishes)
    running = (facts.get("server") or {}).get("argv")
    # A host pool that is kept only because it runs already is no choice for a new process.
    kept = any(finding["id"] == KEPT_BUT_NOT_CERTAIN for finding in plan["findings"])
    if kept and running and sorted(running) != sorted(plan["argv"]):
        return _compose(facts, {**wishes, REPLAN: True})
    return plan


def _compose(facts: dict[str, Any], wishes: dict[str, Any]) -> dict[str, Any]:
    version = Version.parse(engine_version(facts, wishes))
    capacity = plan_capacity(facts, wishes)
    arguments, refused = build_arguments(wishes, capacity, facts, version)
    environment = build_environment(wishes, capacity, facts, version)
    argv = [*command(wishes), *to_argv(arguments)]
    findings = [
        *capacity["findings"],
        *refused,
        *profile_findings(wishes, facts, version),
        *check_rules(wishes, arguments, environment, facts, version),
    ]
    values = {name: entry["value"] for name, entry in environment.items()}
    fingerprint = plan_fingerprint(facts, wishes, version.text)
    values[FINGERPRINT_VARIABLE] = fingerprint
    return {
        "instance": wishes["sglang_instance"],
        "unit": unit_name(wishes["sglang_instance"]),
        "engine": {"version": version.text, "path": wishes["sglang_engine_path"]},
        "capacity": capacity,
        "running": running_tiers(facts, capacity),
        "arguments": arguments,
        "argv": argv,
        "environment": values,
        "environment_reasons": {name: entry["reason"] for name, entry in environment.items()},
        "sections": build_unit(wishes, capacity, facts, argv, values),
        "findings": findings,
        "deadlines": deadlines(facts, wishes, capacity),
        "fingerprint": fingerprint,
        "url": server_url(wishes["sglang_host"], wishes["sglang_port"]),
        "served_model_name": wishes["sglang_served_model_name"] or wishes["sglang_model_path"],
    }


def engine_version(facts: dict[str, Any], wishes: dict[str, Any]) -> str:
    """The installed version where an engine is installed, otherwise the one to be installed."""
    engine = facts.get("engine") or {}
    return str(engine.get("version") or wishes["sglang_engine_version"])


def command(wishes: dict[str, Any]) -> list[str]:
    """The part of the command line before the first flag."""
    return [f"{wishes['sglang_engine_path']}/bin/python", "-m", "sglang.launch_server"]


def refusals(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that forbid to apply the plan."""
    return [finding for finding in plan["findings"] if finding["severity"] == "refuse"]

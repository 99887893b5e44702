# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reports as filters: structured data in, text of at most 80 columns out, nothing decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._render.bundle_report import (
    bundle_report,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.comparison import (
    comparison_report,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.fleet_report import (
    fleet_report,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.gate_report import (
    gate_report,
    prove_report,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.host_report import host_report
from ansible_collections.llmops.sglang.plugins.module_utils._render.html_page import fleet_page
from ansible_collections.llmops.sglang.plugins.module_utils._render.plan_report import (
    options_report,
    plan_report,
)

HostVars = Mapping[str, Mapping[str, Any]]


class FilterModule:
    """The filters; the text reports take the host's name second."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Names to functions."""
        return {
            "host_report": _host_report,
            "plan_report": _plan_report,
            "tiers_report": comparison_report,
            "gate_report": lambda gate, name: gate_report(name, gate),
            "prove_report": lambda proof, name: prove_report(name, proof),
            "bundle_report": lambda bundle, name, path: bundle_report(name, bundle, path),
            "fleet_report": _fleet_report,
            "fleet_page": _fleet_page,
        }


def _host_report(facts: dict[str, Any], name: str, plan: dict[str, Any] | None = None) -> str:
    if plan is None:
        return host_report(name, facts)
    answer = options_report(plan["capacity"], plan["findings"])
    return f"{host_report(name, facts, plan['capacity'])}\n{answer}"


def _plan_report(plan: dict[str, Any], name: str) -> str:
    return plan_report(name, plan["capacity"], plan["findings"])


def _fleet_report(hostvars: HostVars, names: list[str]) -> str:
    return fleet_report({name: _found(hostvars[name]) for name in names})


def _fleet_page(hostvars: HostVars, names: list[str]) -> str:
    return fleet_page({name: _found(hostvars[name]) for name in names})


def _found(variables: Mapping[str, Any]) -> dict[str, Any]:
    """What the role registered on a host, as far as its run came."""
    return {
        "facts": (variables.get("ansible_facts") or {}).get("sglang"),
        "plan": (variables.get("__sglang_plan") or {}).get("plan"),
        "gate": variables.get("__sglang_gate"),
        "proof": variables.get("__sglang_proof"),
        "failure": _failure(variables),
    }


def _failure(variables: Mapping[str, Any]) -> str | None:
    """Why a host was not measured or not planned for; None when it was, or is none of our doing."""
    for name in ("__sglang_probe", "__sglang_plan"):
        result = variables.get(name) or {}
        if result.get("failed") or result.get("unreachable"):
            return str(result.get("msg") or "for a reason that the run's output tells")
    found = variables.get("__sglang_rollout_found") or {}
    rolled = variables.get("__sglang_rollout_result") or {}
    if found.get("failure") or rolled.get("message"):
        return str(found.get("failure") or rolled["message"])
    return None if "__sglang_probe" in variables else "the run ended before it was measured"

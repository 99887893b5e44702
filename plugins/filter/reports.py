# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reports as filters: structured data in, text of at most 80 columns out, nothing decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._render.fleet_report import (
    fleet_report,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.gate_report import (
    gate_report,
    prove_report,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.host_report import host_report
from ansible_collections.llmops.sglang.plugins.module_utils._render.plan_report import (
    options_report,
    plan_report,
)


class FilterModule:
    """The filters `host_report`, `plan_report`, `gate_report`, `prove_report`, `fleet_report`."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Names to functions; the subject comes first, the host's name second."""
        return {
            "host_report": _host_report,
            "plan_report": _plan_report,
            "gate_report": lambda gate, name: gate_report(name, gate),
            "prove_report": lambda proof, name: prove_report(name, proof),
            "fleet_report": _fleet_report,
        }


def _host_report(facts: dict[str, Any], name: str, plan: dict[str, Any] | None = None) -> str:
    if plan is None:
        return host_report(name, facts)
    answer = options_report(plan["capacity"], plan["findings"])
    return f"{host_report(name, facts, plan['capacity'])}\n{answer}"


def _plan_report(plan: dict[str, Any], name: str) -> str:
    return plan_report(name, plan["capacity"], plan["findings"])


def _fleet_report(hostvars: Mapping[str, Mapping[str, Any]], names: list[str]) -> str:
    """What the role registered on each host, as far as its run came."""
    return fleet_report(
        {
            name: {
                "plan": (hostvars[name].get("__sglang_plan") or {}).get("plan"),
                "gate": hostvars[name].get("__sglang_gate"),
                "proof": hostvars[name].get("__sglang_proof"),
            }
            for name in names
        }
    )

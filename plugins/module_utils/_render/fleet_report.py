# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line per host at the end of a run.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HEAD = ("host", "instance", "engine", "device tokens", "in reach", "result")


def fleet_report(hosts: dict[str, dict[str, Any]]) -> str:
    """Table of hosts: name to `plan`, `gate` and `proof`, of which each may be absent."""
    rows = [_HEAD, *(_row(name, parts) for name, parts in sorted(hosts.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]
    return "\n".join(line.rstrip()[:80] for line in lines) + "\n"


def _row(name: str, parts: dict[str, Any]) -> tuple[str, ...]:
    plan = parts.get("plan") or {}
    tokens = (plan.get("capacity") or {}).get("tokens") or {}
    return (
        name,
        str(plan.get("instance") or "-"),
        str((plan.get("engine") or {}).get("version") or "-"),
        _count(tokens.get("device")),
        _count(tokens.get("in_reach")),
        outcome(parts),
    )


def _count(tokens: int | None) -> str:
    return "-" if tokens is None else f"{tokens:,}"


def outcome(parts: Mapping[str, Any]) -> str:
    """What became of the host, from the last room its run reached."""
    gate, proof = parts.get("gate") or {}, parts.get("proof") or {}
    # Asked before the roles, which did not come to the end.
    if gate.get("converged") is False:
        gate = {}
    if proof and not proof.get("failed") and not proof.get("skipped"):
        return "proven"
    if proof.get("failed"):
        return "FAILED its proof"
    if gate.get("verdict") == "blocked":
        return "BLOCKED"
    if gate.get("verdict") == "nothing":
        return "nothing to do"
    return "not reached" if not gate else f"{gate.get('need')} {gate.get('verdict')}"

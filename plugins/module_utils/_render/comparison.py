# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tiers of the running server beside those of the plan. Private to the collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._engine.version import Version
from .page import amount
from .words import number

#: Numbers that differ by less than this share are the same: engines round, logs round more.
_SAME = 0.001
_LABEL, _COLUMN = 30, 21

Plan = Mapping[str, Any]


def differs(plan: Plan) -> bool:
    """Whether the plan gives the server other tiers than the running one has."""
    running, planned = plan["running"], plan["capacity"]
    # A label of where it was built, which only one side may tell, makes no other version.
    if running is None or Version.parse(planned["engine_version"]) != running["engine_version"]:
        return True
    return any(
        _differ(running[tier]["tokens"], planned[tier]["tokens"]) for tier in ("device", "host")
    )


def _differ(one: int | None, other: int | None) -> bool:
    """A host tier of no tokens is none; what is unknown on one side only is a difference."""
    if not one or not other:
        return bool(one or other)
    return abs(one - other) > _SAME * max(one, other)


def comparison(plan: Plan) -> list[tuple[str, str, str]]:
    """Rows of label, running and planned; a side that does not exist is "none"."""
    running = _values(plan["running"]) if plan["running"] else {}
    planned = _values(plan["capacity"])
    labels = dict.fromkeys([*planned, *running])
    return [(label, running.get(label, "none"), planned.get(label, "none")) for label in labels]


def comparison_report(plan: Plan) -> str:
    """The rows as a table of 80 columns; empty when the plan changes no tier."""
    if not differs(plan):
        return ""
    rows = [("Tiers", "running", "planned"), *comparison(plan)]
    lines = [
        f"{'  ' if position else ''}{label}".ljust(_LABEL)
        + f"{running:>{_COLUMN}}{planned:>{_COLUMN}}"
        for position, (label, running, planned) in enumerate(rows)
    ]
    origin = tokens_origin(plan["capacity"]["device"])
    note = [f"  the planned device tier is {origin}"] if origin else []
    return "\n".join([*lines, *note]) + "\n"


def comparison_diff(plan: Plan) -> dict[str, str] | None:
    """The same for `--diff`, as Ansible wants it; None when the plan changes no tier."""
    if not differs(plan):
        return None
    return {
        "before": tier_lines(plan["running"]) if plan["running"] else "",
        "after": tier_lines(plan["capacity"]),
        "before_header": f"{plan['unit']}, running",
        "after_header": f"{plan['unit']}, planned",
    }


def tier_lines(side: Mapping[str, Any]) -> str:
    """Stable `name: value` lines of one side: a capacity, or the running server's tiers."""
    return "".join(f"{label}: {value}\n" for label, value in _values(side).items())


def tokens_origin(device: Mapping[str, Any]) -> str:
    """How well the planned device tier is known, in words; empty when it was measured."""
    if device["origin"] in (None, "measured"):
        return ""
    error = device["error_percent"]
    return str(device["origin"]) if error is None else f"{device['origin']}, +/- {error:.0f} %"


def _values(side: Mapping[str, Any]) -> dict[str, str]:
    """Label to value of one side: a capacity, or the running server in the same words."""
    device, host, requests = side["device"], side["host"], side["requests"]
    rare = {
        "sliding-window pool": device["swa_tokens"] and _tokens(device["swa_tokens"]),
        "state slots": device["state_slots"] and number(device["state_slots"]),
    }
    return {
        "SGLang": side["engine_version"] or "unknown",
        "device tier": _tokens(device["tokens"]),
        **{label: value for label, value in rare.items() if value},
        "device tier, per rank": amount(device["bytes_per_rank"]),
        "host tier, per rank": amount(host["bytes_per_rank"]),
        "host tier, on this host": amount(host["bytes_node"]),
        "tokens in reach": _tokens(side["tokens"]["in_reach"]),
        f"requests of {number(requests['context_tokens'])} at once": number(requests["in_reach"]),
        "longest single request": _tokens(side["longest_request_tokens"]),
    }


def _tokens(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,} tokens"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gate and the proof say, for a person: 80 columns, no colour.

Private to the collection.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .page import WIDTH, wrap


def gate_report(name: str, gate: dict[str, Any]) -> str:
    """Return the lines of one gate; `name` is the host, or the unit on a host by itself.

    `gate` is the result of the module restart_gate. Ends with a newline.
    """
    checks = gate["checks"]
    refused = [check for check in checks if check["status"] == "blocked"]
    if gate["verdict"] in ("blocked", "wait"):
        return _refusal(name, gate, refused)
    lines = [*_need(name, gate), *_wrap(f"{name}   gate: ", _count(checks))]
    for check in checks:
        if check["status"] in ("warned", "overridden", "unknown"):
            lines += _wrap(f"{name}   {check['status']}: ", f"{check['id']}: {check['measured']}")
    return _text(lines)


def _need(name: str, gate: dict[str, Any]) -> list[str]:
    """Return what must happen and why, one difference per line."""
    doubt = gate.get("doubt")
    if gate["need"] == "none":
        lines = _wrap(f"{name}   ", "nothing to do: the running server is what the plan says")
    elif gate["need"] == "start":
        lines = _wrap(f"{name}   ", "start needed: the server is not running")
    else:
        first, *rest = [_change(item) for item in gate["differences"]] or ["the proof is missing"]
        head = f"{name}   restart needed: "
        lines = _wrap(head, first)
        for change in rest:
            lines += _wrap(" " * len(head), change)
    if doubt:
        lines += _wrap(f"{name}   not compared: ", doubt)
    return lines


def _change(item: dict[str, Any]) -> str:
    running, wanted = (_value(item[side]) for side in ("running", "wanted"))
    return f"{item['name']} {running} -> {wanted}"


def _value(value: str | None) -> str:
    """Write one side of a change: not there, there without a value, or the value."""
    if value is None:
        return "(none)"
    return value or "(set)"


def _count(checks: list[dict[str, Any]]) -> str:
    statuses = Counter(check["status"] for check in checks)
    noun = "check" if statuses["passed"] == 1 else "checks"
    parts = [f"{statuses['passed']} {noun} passed", f"{statuses['blocked']} blocked"]
    parts += [
        f"{statuses[status]} {status}"
        for status in ("warned", "overridden", "unknown")
        if statuses[status]
    ]
    return ", ".join(parts)


def _refusal(name: str, gate: dict[str, Any], refused: list[dict[str, Any]]) -> str:
    """Return the page that says why not, and what would help."""
    act = "start" if gate["need"] == "start" else "restart"
    untouched = "nothing was changed" if act == "start" else "the running server was not touched"
    if gate.get("only"):
        untouched = "the old server is stopped, but not all that it held is free"
    word = "BLOCKED" if gate["verdict"] == "blocked" else "must WAIT"
    lines = [*_wrap(f"{name}   ", f"{act} {word}; {untouched}"), ""]
    column = max(8, *(len(check["id"]) for check in refused)) + 1
    for check in refused:
        head = f"  {check['id']:<{column}}"
        lines += _wrap(head, check["measured"])
        lines += _wrap(" " * len(head), f"needed: {check['needed']}")
        hints = [hint for hint in (check["remedy"], check["variable"]) if hint]
        if hints:
            lines += _wrap(" " * len(head) + "-> ", ", or ".join(hints))
    names = ", ".join(check["id"] for check in refused)
    subject = "one check" if len(refused) == 1 else "these checks"
    head = f"  To go on in spite of {subject}: "
    lines += ["", *_wrap(head, f"sglang_gate_overrides: [{names}]")]
    return _text(lines)


def prove_report(name: str, result: dict[str, Any]) -> str:
    """Return what was proven, or the page that says what was not as planned.

    `result` is the result of the module prove, or what it failed with. Ends with a newline.
    """
    proofs = result.get("proofs") or []
    failed = [proof for proof in proofs if proof["status"] == "failed"]
    if failed or result.get("cause"):
        return _failure(name, result, failed)
    ready_s = result.get("ready_s")
    lines = [] if ready_s is None else [f"{name}   fired up after {clock(ready_s)}"]
    proven = [
        proof["text"]
        for proof in proofs
        if proof["status"] == "proven" and not (lines and proof["id"] == "fired_up")
    ]
    if proven:
        lines += _wrap(f"{name}   proven: ", "; ".join(proven))
    for proof in proofs:
        if proof["status"] == "not_proven":
            lines += _wrap(f"{name}   not proven: ", f"{proof['id']}: {proof['text']}")
    return _text(lines)


def _failure(name: str, result: dict[str, Any], failed: list[dict[str, Any]]) -> str:
    cause = result.get("cause")
    outcome = "did not start" if cause else "does not deliver what was planned"
    lines = [*_wrap(f"{name}   ", f"NOT PROVEN: the server {outcome}"), ""]
    if cause:
        lines += _wrap("  cause     ", str(cause))
        if result.get("cause_line"):
            lines += _wrap("  journal   ", str(result["cause_line"]))
        if result.get("remedy"):
            lines += _wrap("            -> ", str(result["remedy"]))
    for proof in failed:
        lines += [f"  {proof['id']}", *_wrap("      planned   ", _told(proof["planned"]))]
        lines += _wrap("      measured  ", _told(proof["measured"]))
        lines += _wrap("      ", proof["text"])
    return _text(lines)


def _told(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def clock(seconds: float) -> str:
    """Seconds as a person reads them: 7 s, 4:41."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"


def _wrap(head: str, text: str) -> list[str]:
    """Break a text to the page's width; its lines stand under its beginning where that fits."""
    indent = len(head) if len(head) <= WIDTH // 2 else 6
    return wrap(text, " " * indent, head) or [head.rstrip()]


def _text(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines) + "\n"

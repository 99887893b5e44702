# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks together, and the one answer.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .._probe.gpu import read_gpu
from .._probe.memory import read_memory
from .._probe.source import Source
from . import allowed, gpu, host, parser
from .checks import BLOCKED, OVERRIDDEN, SKIPPED, UNKNOWN, Check, Subject, dig
from .need import Need
from .unit import UnitState, monotonic_s

# Of a plan that does not say how long the kernel may take to free what a server held.
_RELEASE_S = 180.0
_PROBE_TIMEOUT_S = 20.0

CHECKS: dict[str, Callable[[Subject], Check]] = {
    "driver": gpu.check_driver,
    "gpus": gpu.check_gpus,
    "recovery": gpu.check_recovery,
    "balance": gpu.check_balance,
    "gpu_busy": gpu.check_gpu_busy,
    "orphans": gpu.check_orphans,
    "memory": host.check_memory,
    "weights": host.check_weights,
    "engine": host.check_engine,
    "ports": host.check_ports,
    "disk": host.check_disk,
    "load_barrier": host.check_load_barrier,
    "window": allowed.check_window,
    "budget": allowed.check_budget,
    # The only slow one, so it comes last.
    "arguments": parser.check_arguments,
}


def just_stopped(state: UnitState, plan: dict[str, Any]) -> bool:
    """Whether the last process of the unit ended so lately that memory may still come back."""
    release_s = dig(plan, "deadlines", "release_s") or _RELEASE_S
    if state.active_state == "deactivating":
        return True
    if state.running or state.inactive_since_s is None:
        return False
    return monotonic_s() - state.inactive_since_s < float(release_s)


def measured_anew(source: Source, facts: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """Return the facts with GPUs and free memory as they are now.

    After a stop both come back by and by, so whoever asks the gate again while it says "wait" must
    see the progress. A part that was not probed before stays so.
    """
    fresh = dict(facts)
    if dig(facts, "gpu", "devices"):
        engine_path = str(dig(plan, "engine", "path") or "")
        fresh["gpu"] = read_gpu(source, engine_path, _PROBE_TIMEOUT_S)
    if dig(facts, "memory", "available_bytes") is not None:
        now = read_memory(source, str(plan.get("unit") or ""), {}, None)
        fresh["memory"] = {**facts["memory"], "available_bytes": now["available_bytes"]}
    return fresh


def run_checks(
    subject: Subject,
    overrides: Sequence[str],
    pending: Sequence[str] = (),
    only: Sequence[str] = (),
) -> list[Check]:
    """Make every check, or only some; a refused one that is overridden says so.

    What a pending check looks at is made by an earlier step of a real run, so its refusal tells
    nothing yet.
    """
    results: list[Check] = []
    for name, check in CHECKS.items():
        if only and name not in only:
            continue
        if name == "arguments" and subject.need == "none":
            result = Check(
                name,
                SKIPPED,
                "the running server was started with them",
                "a command line that the installed engine accepts",
            )
        else:
            result = check(subject)
        if result.status == BLOCKED and name in overrides:
            result = replace(result, status=OVERRIDDEN, passing=False)
        elif result.status == BLOCKED and name in pending:
            measured = f"{result.measured} (a real run would have provided it by now)"
            result = replace(result, status=UNKNOWN, measured=measured, passing=False)
        results.append(result)
    return results


def verdict(need: str, checks: Sequence[Check]) -> str:
    """Return nothing, proceed, wait or blocked."""
    if need == "none":
        return "nothing"
    refused = [check for check in checks if check.status == BLOCKED]
    if not refused:
        return "proceed"
    return "wait" if all(check.passing for check in refused) else "blocked"


def judge(
    subject: Subject,
    need: Need,
    overrides: Sequence[str],
    pending: Sequence[str] = (),
    only: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the result of the gate, without its text."""
    checks = run_checks(subject, overrides, pending, only)
    return {
        "need": need.need,
        "differences": need.differences,
        "doubt": need.doubt,
        "checks": [check.as_dict() for check in checks],
        "verdict": verdict(need.need, checks),
    }

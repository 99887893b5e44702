# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host tier of a plan: chosen where the user leaves the choice, checked where not.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._engine.pool_rules import AUTO_FRACTION_DEFAULT
from .arithmetic import ram_terms
from .device import Device
from .finding import ADVISE, REFUSE, WARN, finding, gb, gib
from .fingerprint import REPLAN, tier_fingerprint
from .guard import CERTAIN, LIKELY, NO, Limit
from .host import OFF, RATIO_FLOOR, HostCase, Tier
from .ram import Ram
from .setting import Setting, argv_value, part

_MODE = "sglang_hicache_mode"
_RATIO = "sglang_hicache_ratio"
_SIZE = "sglang_hicache_size_gb"
_FRACTION = "sglang_hicache_host_memory_fraction"
_RESERVE = "sglang_hicache_reserve_gib"
_MODES = ("auto", "ratio", "size", "engine_auto", "off")
_RATIO_ADVISED = 1.5
KEPT_BUT_NOT_CERTAIN = "RAM-008"
# Free RAM drifts: of a better tier is spoken when it holds so many times more.
_WORTH_A_WORD = 1.05
# What a person changes to move a limit.
_KNOBS = {
    "budget": "sglang_hicache_budget_gib",
    "ratio_max": "sglang_hicache_ratio_max",
    "hugepages": "sglang_environment",
}

Finding = dict[str, Any]


def choose_tier(
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    setting: Setting,
    device: Device,
    ram: Ram | None,
    case: HostCase | None,
) -> tuple[Tier, list[Finding]]:
    """The host tier, with findings about the choice. A refused wish keeps its mode."""
    mode = str(wishes.get(_MODE) or "auto")
    findings = _check_inputs(mode, wishes, setting)
    if mode == "off":
        return OFF, findings
    if any(entry["severity"] == REFUSE for entry in findings):
        return Tier(mode, certainty=NO) if mode != "auto" else OFF, findings
    blocked = _blocked(mode, setting, device, ram, case)
    if blocked is not None:
        findings.append(blocked)
        certain = NO if blocked["severity"] == REFUSE else None
        return (OFF if mode == "auto" else _unchecked(mode, wishes, certain)), findings
    if case is None:
        return OFF, findings
    if mode == "auto":
        return _automatic(facts, wishes, device, case, findings)
    tier = _asked_tier(mode, wishes, case)
    return tier, findings + _judged(tier, case)


def _unchecked(mode: str, wishes: Mapping[str, Any], certainty: str | None) -> Tier:
    """The tier that was asked for, where it cannot be computed."""
    if mode == "ratio":
        return Tier(mode, certainty=certainty, ratio=float(wishes[_RATIO]))
    if mode == "size":
        return Tier(mode, certainty=certainty, size_gb=int(wishes[_SIZE]))
    return Tier(mode, certainty=certainty, fraction=wishes.get(_FRACTION))


def _asked_tier(mode: str, wishes: Mapping[str, Any], case: HostCase) -> Tier:
    if mode == "ratio":
        return case.with_ratio(float(wishes[_RATIO]))
    if mode == "size":
        return case.with_size(int(wishes[_SIZE]))
    asked = wishes.get(_FRACTION)
    found = case.engine_auto(None if asked is None else float(asked))
    return found or Tier("engine_auto", certainty=NO, fraction=asked)


def _check_inputs(mode: str, wishes: Mapping[str, Any], setting: Setting) -> list[Finding]:
    """Contradictions between the variables alone, one finding for each."""
    if mode not in _MODES:
        text = f"{_MODE} is {mode}; it must be one of {', '.join(_MODES)}"
        return [_refuse("HIC-008", text, f"Set {_MODE} to auto", _MODE)]
    return [*_check_sizes(mode, wishes), *_check_fraction(mode, wishes, setting)]


def _check_sizes(mode: str, wishes: Mapping[str, Any]) -> list[Finding]:
    """Ratio and size exclude each other, and each belongs to the mode of its name."""
    ratio, size = wishes.get(_RATIO), wishes.get(_SIZE)
    if ratio is not None and size is not None:
        text = f"{_RATIO} is {ratio} and {_SIZE} is {size}: only one can size the host tier"
        remedy = f"Keep one of them, and set {_MODE} to ratio or size"
        return [_refuse("HIC-001", text, remedy, _SIZE)]
    findings = []
    for name, value, own in ((_RATIO, ratio, "ratio"), (_SIZE, size, "size")):
        if value is None and mode == own:
            text = f"{_MODE} is {own}, but {name} is not set"
            findings.append(_refuse("HIC-002", text, f"Set {name}", name))
        elif value is not None and mode != own:
            text = f"{name} is {value}, but {_MODE} is {mode}, so it would be ignored"
            findings.append(_refuse("HIC-003", text, f"Set {_MODE} to {own}, or remove it", name))
        elif value is not None and float(value) <= 0:
            text = f"{name} is {value}; it must be above 0"
            findings.append(_refuse("HIC-004", text, f"Give more, or set {_MODE} to off", name))
    return findings


def _check_fraction(mode: str, wishes: Mapping[str, Any], setting: Setting) -> list[Finding]:
    """What asks for the engine's own sizing, or for a share of the RAM for it."""
    fraction = wishes.get(_FRACTION)
    findings = []
    if mode == "engine_auto" and not setting.rules.auto_size:
        text = f"SGLang {setting.version} cannot size its host pools itself; 0.5.21 and later can"
        findings.append(_refuse("HIC-005", text, f"Set {_MODE} to auto", _MODE))
    if fraction is not None and not 0 < float(fraction) <= 1:
        text = f"{_FRACTION} is {fraction}; it must be above 0 and at most 1"
        findings.append(_refuse("HIC-006", text, "Give a share of the RAM, such as 0.9", _FRACTION))
    elif fraction is not None and mode in ("ratio", "size", "off"):
        text = f"{_FRACTION} has no effect while {_MODE} is {mode}"
        findings.append(finding("HIC-007", WARN, text, "Remove it", _FRACTION))
    return findings


def _refuse(number: str, text: str, remedy: str, variable: str) -> Finding:
    return finding(number, REFUSE, text, remedy, variable)


def _blocked(
    mode: str, setting: Setting, device: Device, ram: Ram | None, case: HostCase | None
) -> Finding | None:
    """Why a host tier is not allowed, or cannot be computed.

    What cannot be computed is refused where the engine's own check does not protect the host.
    """
    if setting.unified_memory:
        text = (
            "CPU and GPU share one memory here: a host tier would take from the device tier "
            "what it adds"
        )
        severity = ADVISE if mode == "auto" else REFUSE
        return finding("HIC-010", severity, text, f"Set {_MODE} to off", _MODE)
    if case is not None:
        return None
    unprotected = mode in ("ratio", "size") and setting.rules.guard == "machine"
    severity = REFUSE if unprotected else WARN
    effect = "HiCache stays off" if mode == "auto" else "HiCache cannot be checked"
    if setting.pools is None:
        text = f"{effect}: {setting.not_mirrored}"
        remedy = (
            "SGLang can size its pools itself: set it to engine_auto"
            if setting.rules.auto_size and mode != "engine_auto"
            else "Compare with the journal after the start, or set it to off"
        )
        return finding("HIC-011", severity, text, remedy, _MODE)
    if ram is None:
        text = f"{effect}: the available RAM of the host is unknown"
        return finding("HIC-013", severity, text, "Gather the memory facts", None)
    text = f"{effect}: the size of the device tier is unknown ({device.reason})"
    remedy = "Start once without HiCache so that it can be measured, or declare it"
    return finding("HIC-012", severity, text, remedy, "sglang_max_total_tokens")


def _automatic(
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    device: Device,
    case: HostCase,
    findings: list[Finding],
) -> tuple[Tier, list[Finding]]:
    asked = wishes.get(_FRACTION)
    tier = case.best(None if asked is None else float(asked))
    running = _running_tier(facts, case) if device.origin == "measured" else None
    if running and not wishes.get(REPLAN) and _asked_for_before(facts, wishes):
        return running, findings + _kept(running, tier)
    if tier.slots:
        return tier, findings + _judged(tier, case)
    floor = case.with_ratio(RATIO_FLOOR)
    need, bound = case.node_bytes(floor), case.bound
    text = (
        f"HiCache stays off: a host tier as large as the device tier needs {gib(need)} on this "
        f"node, and {gib(bound.limit_bytes)} start for certain, bound by {bound.text}"
    )
    return OFF, [*findings, finding("RAM-001", WARN, text, _relief(bound), _knob(bound))]


def _asked_for_before(facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> bool:
    """Whether the running tier was planned from the very variables of now."""
    planned = part(facts, "server").get("tier_fingerprint")
    return planned is not None and planned == tier_fingerprint(wishes)


def _kept(running: Tier, best: Tier) -> list[Finding]:
    """What to say about a running tier that is kept although free RAM is another now.

    A server is not restarted because its neighbours came or went.
    """
    remedy = f"Set {REPLAN} to true for one run to have it planned again"
    if running.slots and running.certainty != CERTAIN:
        text = (
            f"the running host tier of {running.slots:,} slots per rank would not start for "
            "certain if it had to start now; it is kept while it runs"
        )
        return [finding(KEPT_BUT_NOT_CERTAIN, WARN, text, remedy, REPLAN)]
    if best.slots <= running.slots * _WORTH_A_WORD:
        return []
    held = f"of {running.slots:,} slots per rank" if running.slots else "of nothing"
    text = f"the running host tier {held} is kept; {best.slots:,} would fit now"
    return [finding("RAM-009", ADVISE, text, remedy, REPLAN)]


def _running_tier(facts: Mapping[str, Any], case: HostCase) -> Tier | None:
    """The tier of the running command line, None where none runs."""
    argv = part(facts, "server").get("argv") or []
    if not argv:
        return None
    if "--enable-hierarchical-cache" not in argv:
        return OFF
    size_gb = argv_value(argv, ("--hicache-size",))
    if size_gb is not None:
        return case.with_size(int(size_gb))
    ratio = argv_value(argv, ("--hicache-ratio",))
    if ratio is not None:
        return case.with_ratio(float(ratio))
    fraction = argv_value(argv, ("--hicache-host-memory-fraction",))
    return case.engine_auto(float(fraction or AUTO_FRACTION_DEFAULT))


def _judged(tier: Tier, case: HostCase) -> list[Finding]:
    """Findings about a tier that was chosen or asked for."""
    if tier.certainty == NO:
        return [_does_not_fit(tier, case)]
    findings = []
    if tier.certainty == LIKELY and case.order is not None:
        findings.append(_likely(tier, case, case.order))
    ratio = (tier.slots - case.shape.spare_tokens) / case.device_tokens
    if ratio < RATIO_FLOOR:
        findings.append(_below_floor(tier, ratio))
    elif ratio < _RATIO_ADVISED:
        text = f"the host tier is only {ratio:.2f} times the device tier, which it contains"
        remedy = "Below 1.5 it seldom repays its copies; free RAM or set the mode to off"
        findings.append(finding("RAM-004", WARN, text, remedy, _MODE))
    return findings


def _below_floor(tier: Tier, ratio: float) -> Finding:
    text = f"a host tier of {ratio:.2f} times the device tier holds less than that tier alone"
    # The engine decides by itself at each start, with whatever RAM it finds then.
    severity = WARN if tier.mode == "engine_auto" else REFUSE
    return finding("RAM-003", severity, text, "Ask for at least 1.0, better 1.5", _MODE)


def _does_not_fit(tier: Tier, case: HostCase) -> Finding:
    if not tier.slots:
        text = "SGLang would refuse to size its host pools: no RAM is left after its reserve"
        return finding("RAM-002", REFUSE, text, f"Free RAM, or set {_MODE} to off", _MODE)
    if case.rules.smaller_pool_fails and tier.most_slots <= case.most_device_tokens:
        text = (
            f"this SGLang refuses a host pool of {tier.slots:,} tokens that is not larger than "
            f"the device pool of {case.device_tokens:,}"
        )
        return finding("RAM-003", REFUSE, text, "Ask for more than 1.0 times", _own_knob(tier))
    broken = [limit for limit in case.hard if tier.most_slots > limit.max_slots] or [case.together]
    limit = min(broken, key=lambda entry: entry.max_slots)
    text = (
        f"the host pools of {case.shape.parallel.ranks} ranks need "
        f"{gib(case.most_node_bytes(tier))} on this node, but "
        f"{gib(limit.limit_bytes)} are allowed by {limit.text}"
        f"{f': {ram_terms(case)}' if limit.name == 'ram' else ''}"
    )
    return finding("RAM-002", REFUSE, text, _largest(case), _knob(limit, tier))


def _likely(tier: Tier, case: HostCase, order: Limit) -> Finding:
    per_rank = tier.slots * case.shape.pools[0].bytes_per_token
    text = (
        f"starts only if all {case.shape.parallel.ranks} ranks ask for RAM together: each wants "
        f"{gb(per_rank)} for its target pool; certain is {order.text}"
    )
    return finding("RAM-005", WARN, text, _largest(case), _own_knob(tier))


def _largest(case: HostCase) -> str:
    best = case.largest_ratio()
    if best is None:
        return f"Set {_MODE} to off, or free RAM"
    return f"Set {_MODE} to auto; the largest certain ratio is {best.ratio:.2f}"


def _relief(limit: Limit) -> str:
    if limit.name in _KNOBS:
        return f"Raise {_KNOBS[limit.name]}"
    return "Free RAM on the host, or lower the device tier with sglang_max_total_tokens"


def _own_knob(tier: Tier) -> str:
    return {"ratio": _RATIO, "size": _SIZE}.get(tier.mode, _FRACTION)


def _knob(limit: Limit, tier: Tier | None = None) -> str:
    return _KNOBS.get(limit.name) or (_own_knob(tier) if tier else _RESERVE)

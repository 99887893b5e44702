# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fits on a host: the device tier, the host tier, their limits, and the options.

Private to the collection. Pure: facts and variables in, one dict out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._engine.pool_rules import GIB
from .checks import capacity_findings
from .choice import choose_tier
from .device import Device, device_tier, pool_bytes
from .gpus import own_gpus
from .host import HostCase, Tier, host_case
from .option import Ground
from .options import build_options
from .ram import Ram, read_ram
from .setting import Setting, read_setting


def plan_capacity(facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> dict[str, Any]:
    """Capacity of one instance under these variables; unknown numbers are None.

    Raises ValueError for a version or a number of tokens that is none.
    """
    setting = read_setting(facts, wishes)
    device = device_tier(facts, wishes, setting)
    setting = setting.with_states(device.tokens, device.state_slots)
    ram = read_ram(facts, wishes, setting)
    case = host_case(setting, ram, device.tokens, wishes, device.error_percent)
    tier, findings = choose_tier(facts, wishes, setting, device, ram, case)
    reach = _tokens_in_reach(device, tier, case)
    return {
        "engine_version": setting.version.text,
        "ranks_per_node": setting.parallel.ranks,
        "gpus": [gpu.get("index") for gpu in own_gpus(facts, wishes, setting)],
        "page_size": setting.page,
        "bytes_per_token": _bytes_per_token(setting),
        "device": _device(device, setting),
        "host": _host(tier, case),
        "tokens": {"device": _all(device.tokens, setting), "in_reach": _all(reach, setting)},
        "requests": _requests(device, reach, setting, wishes),
        "longest_request_tokens": _longest(device, setting),
        "model_context_tokens": setting.model_context,
        "ram": _ram(ram, case, tier, wishes),
        "limits": _limits(tier, case),
        "options": build_options(Ground(facts, wishes, setting, device, ram)),
        "findings": [
            *findings,
            *capacity_findings(facts, wishes, setting, device, ram, case, tier),
        ],
    }


def _tokens_in_reach(device: Device, tier: Tier, case: HostCase | None) -> int | None:
    """Unique tokens of one copy of the model in either tier."""
    if device.tokens is None or case is None or not tier.slots:
        return device.tokens
    return case.unique_tokens(tier)


def _all(tokens: int | None, setting: Setting) -> int | None:
    """Tokens of all data-parallel copies, which share nothing."""
    return None if tokens is None else tokens * setting.parallel.dp


def _bytes_per_token(setting: Setting) -> dict[str, int | None]:
    target, draft = setting.target, setting.draft
    return {
        "target": target.kv if target else None,
        "draft": draft.device if draft else None,
        "indexer": (target.indexer or None) if target else None,
        "window": (target.window or None) if target else None,
        "state_slot": (target.state or None) if target else None,
    }


def _device(device: Device, setting: Setting) -> dict[str, Any]:
    per_rank = pool_bytes(device, setting)
    return {
        "tokens": device.tokens,
        "swa_tokens": device.swa_tokens,
        "state_slots": device.state_slots,
        "bytes_per_rank": per_rank,
        "bytes_node": None if per_rank is None else per_rank * setting.parallel.ranks,
        "origin": device.origin,
        "reason": device.reason,
        "error_percent": device.error_percent,
    }


def _host(tier: Tier, case: HostCase | None) -> dict[str, Any]:
    named = {pool.name for pool in case.shape.pools} if case else set()
    per_rank = tier.slots * case.shape.rank_bytes_per_token if case else 0
    slots = tier.slots or None
    return {
        "mode": tier.mode,
        "ratio": tier.ratio,
        "size_gb": tier.size_gb,
        "fraction": tier.fraction,
        "tokens": slots,
        "draft_tokens": slots if "draft" in named else None,
        "bytes_per_rank": per_rank,
        "bytes_node": case.node_bytes(tier) if case else 0,
        "certainty": tier.certainty,
    }


def _requests(
    device: Device, reach: int | None, setting: Setting, wishes: Mapping[str, Any]
) -> dict[str, int | None]:
    """Requests of one context length that fit at once; a request lives in one copy.

    None fits where the device tier cannot hold one as a whole, whatever is in reach.
    """
    context = int(wishes["sglang_plan_context_tokens"])
    copies = setting.parallel.dp
    counts: dict[str, int | None] = {"context_tokens": context, "device": None, "in_reach": None}
    if device.tokens is not None and reach is not None:
        fit = device.tokens // context * copies
        counts.update(device=fit, in_reach=reach // context * copies if fit else 0)
    return counts


def _longest(device: Device, setting: Setting) -> int | None:
    """A request must fit the device tier as a whole, and the model must allow it."""
    known = [tokens for tokens in (device.tokens, setting.model_context) if tokens is not None]
    return None if device.tokens is None else min(known)


def _ram(
    ram: Ram | None, case: HostCase | None, tier: Tier, wishes: Mapping[str, Any]
) -> dict[str, Any]:
    budget = wishes.get("sglang_hicache_budget_gib")
    usable = None
    if ram is not None:
        usable = ram.room_bytes if budget is None else min(ram.room_bytes, int(budget * GIB))
    return {
        "available_bytes": ram.available_bytes if ram else None,
        "held_by_instance_bytes": ram.held_bytes if ram else None,
        "available_after_stop_bytes": ram.after_stop_bytes if ram else None,
        "reserve_bytes": ram.reserve_bytes + ram.headroom_bytes if ram else None,
        "processes_bytes": ram.processes_bytes if ram else None,
        "other_instances_bytes": ram.pending_bytes if ram else None,
        "usable_bytes": usable,
        "bound_by": case.bound_of(tier) if case else "nothing: no host tier was computed",
    }


def _limits(tier: Tier, case: HostCase | None) -> list[dict[str, Any]]:
    if case is None:
        return []
    return [
        {
            "name": limit.name,
            "limit_bytes": limit.limit_bytes,
            "needed_bytes": case.most_node_bytes(tier),
            "text": limit.text,
        }
        for limit in case.limits_of(tier)
    ]

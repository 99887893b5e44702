# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What memory is used for, now and as planned: bars whose segments add up to their total.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._facts import devices
from .words import Facts, part

#: What a segment can be, in the order of a bar and of its legend.
KINDS = {
    "weights": "weights",
    "kv": "KV cache",
    "draft": "KV cache of the draft",
    "graphs": "graphs, buffers, other",
    "used": "in use",
    "programs": "programs",
    "pinned": "host pools, pinned",
    "cache": "page cache",
    "reserve": "kept free",
    "free": "free",
    "rest": "graphs, buffers and free",
    "left": "free for page cache and others",
}


@dataclass(frozen=True)
class Bar:
    """One stacked bar of bytes by kind; without a total it is unknown, and `note` says why."""

    label: str
    total_bytes: int | None
    segments: dict[str, int] = field(default_factory=dict)
    predicted: bool = False
    note: str | None = None


def gpu_bars(facts: Facts, capacity: Mapping[str, Any] | None) -> list[Bar]:
    """One bar for each GPU, as measured; `capacity` tells how much a token of a draft takes."""
    server = part(facts, "server")
    pools = _pools(part(server, "startup"), part(capacity, "bytes_per_token").get("draft") or 0)
    return [
        _gpu(device, position, pools if _is_used_by(device, server.get("unit")) else {})
        for position, device in enumerate(devices(facts))
    ]


def _gpu(device: Facts, position: int, pools: Mapping[str, int]) -> Bar:
    label = f"GPU {device.get('index', position)}"
    total, free = device.get("memory_total_bytes"), _free_bytes(device)
    if device.get("memory_kind") == "unified":
        return Bar(label, None, note="shares the host's RAM")
    if total is None or free is None:
        reasons = "; ".join(dict.fromkeys(part(device, "unknown").values()))
        return Bar(label, None, note=f"unknown ({reasons})" if reasons else "unknown")
    rest = total - free - sum(pools.values())
    if not pools or rest < 0:
        return Bar(label, total, {"used": total - free, "free": free})
    return Bar(label, total, {**pools, "graphs": rest, "free": free})


def _free_bytes(device: Facts) -> int | None:
    """As measured; the short form of the facts has what is used instead."""
    free, used = device.get("memory_free_bytes"), device.get("memory_used_bytes")
    if free is not None or used is None or device.get("memory_total_bytes") is None:
        return free
    return int(device["memory_total_bytes"]) - int(used)


def _is_used_by(device: Facts, unit: str | None) -> bool:
    """Whether a GPU is one of the instance's; taken for granted where owners are not known."""
    owners = {process.get("unit") for process in device.get("processes") or []} - {None}
    return bool(device.get("instance_bytes")) or not owners or unit in owners


def _pools(startup: Facts, draft_token_bytes: int) -> dict[str, int]:
    """What a server that is ready told about each rank; empty when that is not enough."""
    weights, cache = startup.get("weights_bytes_per_rank"), startup.get("device_bytes_per_rank")
    if startup.get("state") != "ready" or weights is None or cache is None:
        return {}
    draft = (startup.get("draft_tokens") or 0) * draft_token_bytes
    return {"weights": weights, "kv": cache, **({"draft": draft} if draft else {})}


def planned_gpu_bar(facts: Facts, capacity: Mapping[str, Any]) -> Bar | None:
    """A GPU under the plan; None where the plan changes nothing or too little is known."""
    device, each = capacity["device"], capacity["bytes_per_token"]
    totals = [
        entry["memory_total_bytes"]
        for entry in devices(facts)
        if entry.get("index") in capacity["gpus"]
        and entry.get("memory_total_bytes")
        and entry.get("memory_kind") != "unified"
    ]
    weights = _weights(facts, capacity["ranks_per_node"])
    if device["origin"] == "measured" or not totals or not weights or not device["bytes_per_rank"]:
        return None
    draft = device["tokens"] * (each["draft"] or 0)
    segments = {"weights": weights, "kv": device["bytes_per_rank"]}
    if draft:
        segments["draft"] = draft
    segments["rest"] = min(totals) - sum(segments.values())
    if segments["rest"] < 0:
        return None
    return Bar("planned", min(totals), segments, predicted=True)


def _weights(facts: Facts, ranks: int) -> int | None:
    """Bytes of weights on one GPU: measured where a server is ready, else an equal share."""
    measured = part(facts, "server", "startup").get("weights_bytes_per_rank")
    total = part(facts, "model").get("weights_bytes")
    return measured or (total and total // ranks)


def ram_bars(facts: Facts, plan: Mapping[str, Any] | None) -> list[Bar]:
    """RAM as measured, and under the plan."""
    return list(_ram_bars(part(facts, "memory"), plan))


def _ram_bars(memory: Facts, plan: Mapping[str, Any] | None) -> Iterator[Bar]:
    total, available = memory.get("total_bytes"), memory.get("available_bytes")
    if total is None or available is None:
        yield Bar("now", None, note=f"unknown ({memory.get('reason') or 'no /proc/meminfo'})")
        return
    running = (plan or {}).get("running") or {}
    pinned = min(part(running, "host").get("bytes_node") or 0, total - available)
    cached = (memory.get("cached_bytes") or 0) - (memory.get("shmem_bytes") or 0)
    cache = min(max(cached, 0), available)
    segments = {
        "programs": total - available - pinned,
        "pinned": pinned,
        "cache": cache,
        "free": available - cache,
    }
    yield Bar("now", total, segments)
    if plan is not None:
        yield _planned_ram(total, plan["capacity"])


def _planned_ram(total: int, capacity: Mapping[str, Any]) -> Bar:
    ram, host = capacity["ram"], capacity["host"]
    if ram["available_bytes"] is None:
        return Bar("planned", None, note="unknown")
    back = ram["available_bytes"] + ram["held_by_instance_bytes"]
    taken = ram["processes_bytes"] + ram["other_instances_bytes"]
    room = min(back - taken, total)
    left = room - host["bytes_node"] - ram["reserve_bytes"]
    if left < 0:
        return Bar("planned", None, note="does not fit beside what is kept free")
    segments = {
        "programs": total - room,
        "pinned": host["bytes_node"],
        "reserve": ram["reserve_bytes"],
        "left": left,
    }
    return Bar("planned", total, segments, predicted=True)


def tier_bars(plan: Mapping[str, Any]) -> list[Bar]:
    """Tokens, not bytes: what the device tier holds, and what the host tier adds to it."""
    sides = [("now", plan.get("running"), False)]
    sides.append(
        ("planned", plan["capacity"], plan["capacity"]["device"].get("origin") != "measured")
    )
    return [
        _tiers(label, side["tokens"], predicted)
        for label, side, predicted in sides
        if side is not None
    ]


def _tiers(label: str, tokens: Mapping[str, int | None], predicted: bool) -> Bar:
    device, reach = tokens["device"], tokens["in_reach"]
    if device is None:
        return Bar(label, None, note="unknown")
    reach = device if reach is None else reach
    return Bar(label, reach, {"kv": device, "pinned": reach - device}, predicted)

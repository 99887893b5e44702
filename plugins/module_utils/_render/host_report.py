# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measured host for a person: its server, GPUs, RAM and KV pools, 80 columns, no colour.

Private to the collection.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from .._engine.causes import remedy_for
from .._facts import devices
from .page import WIDTH, size, wrap
from .words import (
    Facts,
    day,
    gib_number,
    gib_whole,
    gpu_troubles,
    gpu_words,
    mig_words,
    moment,
    number,
    part,
    server_state,
)

_INDENT = 6
_GAP = "   "
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_GONE = "its line is no longer in the journal"


def host_report(name: str, facts: dict[str, Any], capacity: dict[str, Any] | None = None) -> str:
    """Return the lines about one host; `facts` of host_facts, `capacity` of a plan. Ends with a
    newline. What is not known says so, with the reason where there is one."""
    server, startup = part(facts, "server"), part(facts, "server", "startup")
    lines = _flow(_header(name, facts, server, startup), 0, "")
    lines += _crashes(name, part(server, "crashes"))
    lines.append("")
    if "gpu" in facts:
        lines += _row("GPU", gpu_words(facts))
        for sentence in [*mig_words(facts), *gpu_troubles(facts)]:
            lines += _row("", [sentence])
        lines += _row("", _gpu_use(facts, startup))
    if "memory" in facts:
        ranks = _ranks(capacity, server)
        lines += _row("RAM", _memory(part(facts, "memory"), startup, ranks))
    if capacity is not None:
        for position, items in enumerate(_pools(facts, startup, capacity)):
            lines += _row("" if position else "KV", items)
    return "\n".join(line.rstrip() for line in lines) + "\n"


# --- the parts -----------------------------------------------------------------------------------


def _header(name: str, facts: Facts, server: Facts, startup: Facts) -> list[str]:
    items = [name]
    if server:
        items += [str(server.get("unit") or "no unit"), server_state(server, startup)]
    version = part(facts, "engine").get("version") or part(server, "info").get("version")
    items.append(f"SGLang {version or 'unknown'}")
    proven = part(server, "proven").get("at")
    if proven:
        items.append(f"proven {day(str(proven), str(facts.get('taken_at')))}")
    elif server:
        items.append("not proven")
    return items


def _crashes(name: str, crashes: Facts) -> list[str]:
    """That the server keeps ending by itself, which nobody sees while systemd starts it anew."""
    count = crashes.get("count")
    if not count:
        return []
    when = "on" if count == 1 else f"{count} times since"
    cause = str(crashes.get("cause") or "exit")
    head = f"{name}   "
    text = f"crashed {when} {moment(str(crashes.get('since')))}: {cause}"
    lines = wrap(text, " " * len(head), head)
    if crashes.get("cause_line"):
        lines += wrap(str(crashes["cause_line"]), " " * len(head))
    return [*lines, *wrap(f"-> {remedy_for(cause)}", " " * len(head))]


def _gpu_use(facts: Facts, startup: Facts) -> list[str]:
    """What the memory of the fullest GPU is used for."""
    sizes = [
        (device["memory_free_bytes"], device["memory_total_bytes"])
        for device in devices(facts)
        if device.get("memory_free_bytes") is not None and device.get("memory_total_bytes")
    ]
    if not sizes:
        return []
    free, total = min(sizes)
    if startup.get("state") != "ready":
        return [f"free {gib_number(free)} GiB on the fullest"]
    weights, pool = startup.get("weights_bytes_per_rank"), startup.get("device_bytes_per_rank")
    items = [f"weights {gib_number(weights)}", f"KV pool {gib_number(pool)}"]
    if weights is not None and pool is not None:
        items.append(f"graphs and buffers {gib_number(max(total - weights - pool - free, 0))}")
    return [*items, f"free {gib_number(free)} GiB each"]


def _memory(memory: Facts, startup: Facts, ranks: int | None) -> list[str]:
    if memory.get("total_bytes") is None:
        return [f"unknown ({memory.get('reason') or 'no /proc/meminfo'})"]
    total, available = memory["total_bytes"], memory.get("available_bytes")
    cached, shmem = memory.get("cached_bytes"), memory.get("shmem_bytes")
    used = None if available is None else total - available
    cache = None if cached is None or shmem is None else max(cached - shmem, 0)
    items = [f"{gib_whole(total)} GiB", f"used {gib_whole(used)}"]
    if startup.get("state") == "ready":
        items.append(f"pinned KV {gib_whole(_pinned(startup, ranks))}")
    return [*items, f"page cache {gib_whole(cache)}", f"available {gib_whole(available)}"]


def _pinned(startup: Facts, ranks: int | None) -> int | None:
    """Bytes of all host pools of the node."""
    target = startup.get("host_bytes_per_rank")
    if target is None or ranks is None:
        return None
    return int((target + (startup.get("draft_host_bytes_per_rank") or 0)) * ranks)


def _pools(facts: Facts, startup: Facts, capacity: Facts) -> list[list[str]]:
    """The rows of the KV section: token size, device tier, host tier, requests."""
    ranks = _ranks(capacity, part(facts, "server"))
    device, host = _tiers(startup, capacity, ranks)
    rows = [[_token_size(facts, capacity)], _tier("device tier", device), _tier("host tier", host)]
    context = part(capacity, "requests").get("context_tokens")
    tokens = [tier["tokens"] for tier in (device, host) if tier.get("tokens")]
    allowed = capacity.get("model_context_tokens")
    # One request must fit the device tier, whatever the host tier holds.
    longest = min((size for size in (device.get("tokens"), allowed) if size), default=None)
    if context and tokens:
        count = max(tokens) // context
        rows.append(
            [
                f"{count} {'request' if count == 1 else 'requests'} of {context:,} tokens at once; "
                f"longest single request {number(longest)}"
            ]
        )
        if longest and allowed and allowed > longest:
            rows.append(
                [f"(the model allows {allowed:,}: context beyond {longest:,} will be refused)"]
            )
    return rows


def _tiers(
    startup: Facts, capacity: Facts, ranks: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Device and host tier: what the running server got, else what is planned."""
    device = dict(part(capacity, "device"))
    host = {"origin": "planned", **part(capacity, "host")}
    if startup.get("state") != "ready":
        return device, host
    per_rank = startup.get("device_bytes_per_rank")
    if startup.get("max_total_num_tokens") is not None and per_rank is not None:
        device = {
            "tokens": startup["max_total_num_tokens"],
            "bytes_per_rank": per_rank,
            "bytes_node": None if ranks is None else per_rank * ranks,
        }
    if startup.get("host_bytes_per_rank") is not None:
        host = {
            "tokens": startup.get("host_tokens"),
            "bytes_per_rank": startup["host_bytes_per_rank"],
            "bytes_node": _pinned(startup, ranks),
        }
    return device, host


def _token_size(facts: Facts, capacity: Facts) -> str:
    size = part(capacity, "bytes_per_token").get("target")
    if size is None:
        return "bytes per token unknown (the model's attention is not recognised)"
    model, ranks = part(facts, "model"), capacity.get("ranks_per_node")
    kind = str(model.get("attention") or "unknown")
    words = [kind.upper() if kind in ("mla", "gqa", "swa") else kind]
    dtype = part(facts, "server", "info").get("kv_cache_dtype") or "auto"
    if dtype == "auto":
        dtype = model.get("dtype")
    if dtype:
        words.append(_DTYPES.get(str(dtype), str(dtype)))
    note = ""
    if ranks and ranks > 1:
        note = f", one copy on each of {ranks} ranks" if kind == "mla" else f", {ranks} ranks"
    return f"{size:,} B per token and rank ({' '.join(words)}{note})"


def _tier(name: str, tier: Facts) -> list[str]:
    """One tier. Nothing reserved is "none"; nothing known is "unknown"."""
    label = f"{name:<12}"
    per_rank, node = tier.get("bytes_per_rank"), tier.get("bytes_node")
    if tier.get("mode") == "off" or per_rank == 0:
        return [f"{label} none"]
    if tier.get("tokens") is None and per_rank is None:
        return [f"{label} unknown ({tier.get('reason') or _GONE})"]
    items = [f"{label} {number(tier.get('tokens')):>10} tokens"]
    if per_rank is not None:
        items.append(f"{size(per_rank):>9} per rank")
    if node is not None:
        items.append(f"{size(node, 0):>8} in all")
    if tier.get("origin") not in (None, "measured"):
        items.append(f"({tier['origin']})")
    return items


# --- words and numbers ---------------------------------------------------------------------------


def _ranks(capacity: Facts | None, server: Facts) -> int | None:
    ranks = (capacity or {}).get("ranks_per_node") or part(server, "info").get("tp_size")
    return int(ranks) if ranks else None


def _row(label: str, items: list[str]) -> list[str]:
    return _flow(items, _INDENT, label) if items else []


def _flow(items: Iterable[str], indent: int, label: str) -> list[str]:
    """Set items side by side, as many as fit a line; a long item breaks between words."""
    lines = [f"{label:<{indent}}"]
    for item in items:
        gap = _GAP if lines[-1].strip() and len(lines[-1]) > indent else ""
        if len(lines[-1]) + len(gap) + len(item) <= WIDTH:
            lines[-1] += gap + item
            continue
        pieces = textwrap.wrap(item, WIDTH - indent)
        if len(lines[-1]) > indent:
            lines.append(" " * indent)
        lines[-1] += pieces[0]
        lines += [" " * indent + piece for piece in pieces[1:]]
    return lines

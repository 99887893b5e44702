# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person should know about a capacity, apart from the choice of the host tier.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .device import Device
from .finding import ADVISE, REFUSE, WARN, finding, gib
from .host import HostCase, Tier
from .ram import Ram, binds_to_nodes, is_running
from .setting import Setting, part

Finding = dict[str, Any]


def capacity_findings(
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    setting: Setting,
    device: Device,
    ram: Ram | None,
    case: HostCase | None,
    tier: Tier,
) -> list[Finding]:
    """Findings in a stable order: the device tier first, then the RAM."""
    found = [_device(device), _context(device, setting), _draft(setting)]
    if tier.slots and ram is not None and case is not None:
        found += [
            _memlock(facts, case, tier),
            _stopped(facts, ram),
            _nodes_unknown(facts, wishes, setting, ram),
            _neighbours(facts, ram),
            _neighbours_unknown(facts),
        ]
    if ram is not None and wishes.get("sglang_hicache_mode") != "off":
        found.append(_hugepages(facts, ram))
    return [entry for entry in found if entry is not None]


def _device(device: Device) -> Finding | None:
    if not device.fits:
        remedy = "Raise sglang_mem_fraction_static, use more GPUs or smaller weights"
        text = device.reason or ""
        return finding("DEV-001", REFUSE, text, remedy, "sglang_mem_fraction_static")
    if device.tokens is None:
        text = f"the size of the device tier is unknown: {device.reason}"
        remedy = "Declare it until a run has been measured"
        return finding("DEV-002", ADVISE, text, remedy, "sglang_max_total_tokens")
    return None


def _context(device: Device, setting: Setting) -> Finding | None:
    context = setting.model_context
    if device.tokens is None or context is None or context <= device.tokens:
        return None
    text = (
        f"the model allows {context:,} tokens, the device tier holds {device.tokens:,}: a longer "
        "request is refused, whatever the host tier holds"
    )
    remedy = "Set sglang_context_length to what fits, or enlarge the device tier"
    return finding("DEV-003", WARN, text, remedy, "sglang_context_length")


def _draft(setting: Setting) -> Finding | None:
    if not setting.wants_draft or setting.rules.draft_pool:
        return None
    text = (
        f"SGLang {setting.version} keeps no host copy of the draft's KV: after a prefix comes "
        "back from RAM, drafts are accepted less often"
    )
    return finding("RAM-010", ADVISE, text, "Use 0.5.11 or later", "sglang_engine_version")


def _memlock(facts: Mapping[str, Any], case: HostCase, tier: Tier) -> Finding | None:
    limit = part(facts, "memory").get("memlock_bytes")
    need = tier.slots * case.shape.rank_bytes_per_token
    if limit is None or int(limit) >= need:
        return None
    text = (
        f"a process may lock {gib(int(limit))} of RAM, each rank pins {gib(need)} for its host "
        "pools"
    )
    return finding("RAM-006", WARN, text, "Let the unit set LimitMEMLOCK=infinity", None)


def _stopped(facts: Mapping[str, Any], ram: Ram) -> Finding | None:
    if is_running(facts):
        return None
    text = (
        "RAM was measured while the server was stopped: "
        f"{gib(ram.processes_bytes)} are kept for its own processes, an estimate"
    )
    remedy = "Keep more free with sglang_hicache_headroom_gib, or plan again once it runs"
    return finding("RAM-007", ADVISE, text, remedy, "sglang_hicache_headroom_gib")


def _nodes_unknown(
    facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting, ram: Ram
) -> Finding | None:
    nodes = part(facts, "memory").get("numa") or []
    if ram.nodes or len(nodes) < 2 or ram.hugepage_bytes or not binds_to_nodes(wishes, setting):
        return None
    text = (
        f"ranks are bound to one of {len(nodes)} NUMA nodes, but memory per node or the node of "
        "a GPU is unknown, so the limit per node was not checked"
    )
    remedy = "Set sglang_numa_bind: off, or check numactl -H"
    return finding("RAM-011", ADVISE, text, remedy, "sglang_numa_bind")


def _neighbours(facts: Mapping[str, Any], ram: Ram) -> Finding | None:
    if not ram.pending_bytes:
        return None
    names = ", ".join(entry["unit"] for entry in part(facts, "memory")["neighbours"])
    text = (
        f"{gib(ram.pending_bytes)} are kept free for host pools that other instances on this "
        f"host are still going to take: {names}"
    )
    remedy = "Disable what shall not run here"
    return finding("RAM-013", ADVISE, text, remedy, None)


def _neighbours_unknown(facts: Mapping[str, Any]) -> Finding | None:
    names = [
        entry["unit"]
        for entry in part(facts, "memory").get("neighbours") or []
        if not entry["running"] and entry["host_bytes"] is None
    ]
    if not names:
        return None
    text = (
        f"{', '.join(names)} will start on this host with a host pool whose size is unknown, as "
        "it was never proven: nothing is kept free for it"
    )
    remedy = "Deploy it first, or keep its RAM free with sglang_hicache_headroom_gib"
    return finding("RAM-014", WARN, text, remedy, "sglang_hicache_headroom_gib")


def _hugepages(facts: Mapping[str, Any], ram: Ram) -> Finding | None:
    reserved = sum(
        int(entry.get("free") or 0) * int(entry.get("size_bytes") or 0)
        for entry in part(facts, "memory").get("hugepages") or []
    )
    if ram.hugepage_bytes or not reserved:
        return None
    text = (
        f"{gib(reserved)} are set aside as free huge pages, which host pools do not use unless "
        "sglang_hugepage_size says so"
    )
    remedy = "Give them back with vm.nr_hugepages, or set sglang_hugepage_size"
    return finding("RAM-012", ADVISE, text, remedy, "sglang_hugepage_size")

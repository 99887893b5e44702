# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RAM that host pools may take, once the running instance is gone.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._engine.pool_rules import GIB, HOST_RESERVE_BYTES, PROCESS_BYTES
from .gpus import rank_nodes
from .setting import Setting, extra_argument, part

_BINDING_VARIABLE = "SGLANG_AUTO_NUMA_BIND"
_HUGEPAGE_VARIABLE = "SGLANG_HUGEPAGE_SIZE"
_HUGEPAGE_BYTES = {"2MB": 2 * 2**20, "1GB": GIB}
_FALSE = frozenset({"0", "false", "no", "n", "off", ""})


@dataclass(frozen=True)
class NodeRoom:
    """One NUMA node to whose memory ranks are bound."""

    node: int
    ranks: int
    bytes: int


@dataclass(frozen=True)
class Ram:
    """Bytes of RAM on the host.

    `room_bytes` is what all pools together may take, `guard_bytes` what the engine's own check
    starts from (before it divides it by ranks), both with the reserve, the headroom, what the
    engine's processes will take and what other instances are still going to take kept free.
    """

    available_bytes: int
    held_bytes: int
    after_stop_bytes: int
    reserve_bytes: int
    headroom_bytes: int
    processes_bytes: int
    pending_bytes: int
    room_bytes: int
    guard_bytes: int
    engine_free_bytes: int
    source: str
    hugepage_bytes: int | None
    hugepages_free_bytes: int
    nodes: tuple[NodeRoom, ...]


def read_ram(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> Ram | None:
    """What the host offers, or None when its available RAM is unknown."""
    memory = part(facts, "memory")
    available = memory.get("available_bytes")
    if available is None:
        return None
    held = _held_bytes(facts, setting)
    headroom = part(memory, "cgroup").get("headroom_bytes")
    machine_after = int(available) + held
    # What the instance holds is charged to its own cgroup chain, so it comes back there as well.
    cgroup_after = machine_after if headroom is None else int(headroom) + held
    after = min(machine_after, cgroup_after)
    engine_sees = after if setting.rules.guard == "cgroup" else machine_after
    reserve = max(_gib(wishes.get("sglang_hicache_reserve_gib")), HOST_RESERVE_BYTES)
    growth = _gib(wishes.get("sglang_hicache_headroom_gib"))
    processes = 0 if is_running(facts) else _processes_bytes(facts, setting)
    pending = sum(map(_pending_bytes, memory.get("neighbours") or []))
    kept = reserve + growth + processes + pending
    page_bytes = _hugepage_bytes(wishes, setting)
    return Ram(
        available_bytes=int(available),
        held_bytes=held,
        after_stop_bytes=after,
        reserve_bytes=reserve,
        headroom_bytes=growth,
        processes_bytes=processes,
        pending_bytes=pending,
        room_bytes=max(after - kept, 0),
        guard_bytes=max(engine_sees - kept, 0),
        engine_free_bytes=max(engine_sees - HOST_RESERVE_BYTES - processes, 0),
        source=_source(memory) if cgroup_after < machine_after else "the host's available RAM",
        hugepage_bytes=page_bytes,
        hugepages_free_bytes=_hugepages_free(memory, page_bytes),
        nodes=_node_rooms(facts, wishes, setting, held, kept, pending),
    )


def _gib(value: float | None) -> int:
    return int((value or 0) * GIB)


def is_running(facts: Mapping[str, Any]) -> bool:
    """Whether RAM was measured while the instance ran; a bare journal of a start counts as one."""
    server = part(facts, "server")
    state = server.get("active_state")
    if state is None:
        return part(server, "startup").get("state") == "ready"
    return bool(state == "active")


def _processes_bytes(facts: Mapping[str, Any], setting: Setting) -> int:
    """RAM that the processes of a stopped engine will take before they allocate a pool."""
    gpus = part(facts, "gpu").get("devices")
    return setting.parallel.ranks * PROCESS_BYTES if gpus else 0


def _pending_bytes(neighbour: Mapping[str, Any]) -> int:
    """RAM that another instance has not taken yet, and will once it has started.

    Before 0.5.17 pools are private memory, so a neighbour that holds as much as it was planned to
    in either kind has them all. One that was never proven has no size.
    """
    planned = int(neighbour.get("host_bytes") or 0)
    shmem = int(neighbour.get("shmem_bytes") or 0)
    if shmem + int(neighbour.get("rss_bytes") or 0) >= planned:
        return 0
    return planned - shmem


def _held_bytes(facts: Mapping[str, Any], setting: Setting) -> int:
    """RAM that comes back for pools when the running instance stops.

    Only its shared memory and host pools count: whatever else its processes hold, the processes
    of the next run take again before they allocate a pool. Pools are known from the journal, but
    not more than the instance really holds can come back.
    """
    if not is_running(facts):
        return 0
    startup = part(facts, "server", "startup")
    per_rank = sum(
        int(startup.get(key) or 0) for key in ("host_bytes_per_rank", "draft_host_bytes_per_rank")
    )
    held = part(facts, "memory", "instance")
    shmem, rss = held.get("shmem_bytes"), held.get("rss_bytes")
    pools = per_rank * setting.parallel.ranks
    if shmem is None or rss is None:
        return max(shmem or 0, pools)
    return int(max(shmem, min(pools, shmem + rss)))


def _source(memory: Mapping[str, Any]) -> str:
    """Words for the tightest memory cgroup."""
    limits = [
        limit
        for limit in part(memory, "cgroup").get("limits") or []
        if limit.get("limit_bytes") is not None
    ]
    if not limits:
        return "a memory cgroup"
    tightest = min(limits, key=lambda limit: int(limit["limit_bytes"]) - _used_bytes(limit))
    return f"the memory cgroup {tightest['path']}"


def _used_bytes(limit: Mapping[str, Any]) -> int:
    return int(limit.get("current_bytes") or 0) - int(limit.get("reclaimable_bytes") or 0)


def _hugepage_bytes(wishes: Mapping[str, Any], setting: Setting) -> int | None:
    """Size of the huge pages that pools are asked to come from, None for normal pages."""
    if not setting.rules.hugepages:
        return None
    environment = wishes.get("sglang_environment") or {}
    asked = environment.get(_HUGEPAGE_VARIABLE, wishes.get("sglang_hugepage_size"))
    return _HUGEPAGE_BYTES.get(str(asked or "").upper())


def _hugepages_free(memory: Mapping[str, Any], size_bytes: int | None) -> int:
    return sum(
        int(entry["free"]) * int(entry["size_bytes"])
        for entry in memory.get("hugepages") or []
        if entry.get("size_bytes") == size_bytes and entry.get("free") is not None
    )


def binds_to_nodes(wishes: Mapping[str, Any], setting: Setting) -> bool:
    """Whether each rank may only use the memory of one NUMA node."""
    if extra_argument(wishes, "numa-node") is not None:
        return True
    asked = (wishes.get("sglang_environment") or {}).get(_BINDING_VARIABLE)
    if asked is not None:
        return str(asked).strip().lower() not in _FALSE
    wish = wishes.get("sglang_numa_bind") or "auto"
    return setting.rules.numa_bind if wish == "auto" else wish == "on"


def _node_rooms(
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    setting: Setting,
    held_bytes: int,
    kept_bytes: int,
    pending_bytes: int,
) -> tuple[NodeRoom, ...]:
    """Room per NUMA node, when ranks are bound and facts tell node memory and GPU nodes.

    What is kept is spread over the nodes, but a neighbour may take all of its pools from one.
    """
    numa = part(facts, "memory").get("numa") or []
    measured = all(entry.get("available_bytes") is not None for entry in numa)
    if len(numa) < 2 or not measured or not binds_to_nodes(wishes, setting):
        return ()
    places = rank_nodes(facts, wishes, setting)
    if places is None:
        return ()
    rooms = []
    kept_each = (kept_bytes - pending_bytes) // len(numa) + pending_bytes
    for entry in numa:
        count = places.count(entry["node"])
        back = held_bytes * count // len(places)
        room = int(entry["available_bytes"]) + back - kept_each
        if count:
            rooms.append(NodeRoom(int(entry["node"]), count, max(room, 0)))
    return tuple(rooms)

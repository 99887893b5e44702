# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every limit that host pools must keep, and whether a size starts whatever the order of ranks.

Private to the collection.

Each rank allocates its pools one after the other and asks before each one whether it may. Up to
0.5.18 it compares with the RAM of the whole machine, so ranks that ask together are all allowed
and the kernel kills one of them: there our own bound on the sum must hold. Since 0.5.19 a rank
compares with its share of what is available *then*, so one that comes late pays for its peers
twice. With P ranks on the node, a share of 1/S and pools of b1..bk bytes per token (B together),
the last rank may take pool j only while S*bj + b1 + ... + b(j-1) + (P-1)*B tokens fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._engine.pool_rules import PoolRules
from .pools import Shape
from .ram import Ram

CERTAIN = "certain"
LIKELY = "likely"
NO = "no"


@dataclass(frozen=True)
class Limit:
    """A bound on pool slots. `limit_bytes` is the same bound in bytes of the whole node."""

    name: str
    max_slots: int
    limit_bytes: int
    text: str


def hard_limits(
    shape: Shape,
    ram: Ram,
    rules: PoolRules,
    *,
    budget_bytes: int | None,
    ratio_max: float | None,
    device_tokens: int,
) -> list[Limit]:
    """Limits that hold however the ranks arrive: what lies above them does not start or dies."""
    node = shape.node_bytes_per_token
    limits = [_ram_limit(shape, ram)]
    if budget_bytes is not None:
        slots = budget_bytes // node
        limits.append(Limit("budget", slots, budget_bytes, "sglang_hicache_budget_gib"))
    if ratio_max is not None:
        slots = shape.by_ratio(device_tokens, ratio_max)
        limits.append(Limit("ratio_max", slots, slots * node, "sglang_hicache_ratio_max"))
    limits.extend(_node_limits(shape, ram))
    if rules.registration_limit_bytes is not None:
        widest = max(pool.bytes_per_token for pool in shape.pools)
        slots = (rules.registration_limit_bytes - 1) // widest
        text = "the driver's limit of 512 GiB for one pinned allocation"
        limits.append(Limit("registration", slots, slots * node, text))
    return limits


def order_limit(shape: Shape, ram: Ram, rules: PoolRules) -> Limit | None:
    """Largest pools that pass the engine's check in every order of ranks.

    None where the bound on the sum of all pools implies it. Pools in huge pages take nothing
    from the RAM that the check reads, so there no rank pays for another.
    """
    machine = rules.guard == "machine"
    if machine and not ram.hugepage_bytes:
        return None
    share = 1 if machine else shape.parallel.share
    taken = (shape.parallel.ranks - 1) * shape.rank_bytes_per_token
    worst = 0
    for pool in shape.pools:
        worst = max(worst, share * pool.bytes_per_token + (0 if ram.hugepage_bytes else taken))
        taken += pool.bytes_per_token
    slots = ram.guard_bytes // worst
    target = ram.guard_bytes * shape.pools[0].bytes_per_token // worst
    text = (
        f"the engine's own check, should a rank come last: {target / 1e9:.2f} GB of target pool "
        "per rank"
    )
    limit_bytes = ram.guard_bytes * shape.node_bytes_per_token // worst
    return Limit("rank_order", slots, limit_bytes, text)


def together_limit(shape: Shape, ram: Ram) -> Limit:
    """Largest pools that pass since 0.5.19 when all ranks ask for each pool at the same moment."""
    taken, worst = 0, 0
    for pool in shape.pools:
        asked = shape.parallel.share * pool.bytes_per_token
        worst = max(worst, asked + (0 if ram.hugepage_bytes else taken))
        taken += shape.parallel.ranks * pool.bytes_per_token
    slots = ram.guard_bytes // worst
    text = "the engine's own check, should all ranks ask together"
    return Limit("ranks_together", slots, slots * shape.node_bytes_per_token, text)


def certainty(slots: int, hard: list[Limit], order: Limit | None, together: Limit) -> str:
    """`certain` in any order of ranks, `likely` when they arrive together, otherwise `no`."""
    if any(slots > limit.max_slots for limit in hard):
        return NO
    if order is None or slots <= order.max_slots:
        return CERTAIN
    return LIKELY if slots <= together.max_slots else NO


def _ram_limit(shape: Shape, ram: Ram) -> Limit:
    if not ram.hugepage_bytes:
        slots = ram.room_bytes // shape.node_bytes_per_token
        return Limit("ram", slots, ram.room_bytes, f"{ram.source}, less what is kept free")
    # Each pool is rounded up to whole pages, so one page per pool and rank may be lost.
    lost = ram.hugepage_bytes * len(shape.pools) * shape.parallel.ranks
    room = max(ram.hugepages_free_bytes - lost, 0)
    slots = room // shape.node_bytes_per_token
    return Limit("hugepages", slots, ram.hugepages_free_bytes, "the free huge pages")


def _node_limits(shape: Shape, ram: Ram) -> list[Limit]:
    if ram.hugepage_bytes:
        return []
    limits = []
    for room in ram.nodes:
        slots = room.bytes // (room.ranks * shape.rank_bytes_per_token)
        text = f"the memory of NUMA node {room.node}, to which {room.ranks} ranks are bound"
        limits.append(Limit(f"numa_{room.node}", slots, slots * shape.node_bytes_per_token, text))
    return limits

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arithmetic behind a host tier in one line, so that a person can check it by hand.

Private to the collection.
"""

from __future__ import annotations

from .._engine.pool_rules import AUTO_RATIO_MAX, AUTO_SLACK
from .finding import gb, gib
from .guard import Limit
from .host import HostCase, Tier


def tier_arithmetic(case: HostCase, tier: Tier) -> str:
    """Slots, bytes of all pools, and each bound that decides whether they start."""
    parts = [_slots(case, tier), _bytes(case, tier)]
    if tier.most_slots > tier.slots:
        parts.append(
            f"up to {case.most_device_tokens:,} device tokens, should the prediction be low: "
            f"{gb(case.most_node_bytes(tier))}"
        )
    parts.append(_sum_check(case, tier))
    if case.order is not None and tier.mode != "engine_auto":
        parts.append(_last_rank_check(case, tier))
    return "; ".join(parts)


def ram_terms(case: HostCase) -> str:
    """Every term of the RAM that pools may take."""
    ram, ranks = case.ram, case.shape.parallel.ranks
    held = f" ({gib(ram.held_bytes)} of it held by the running instance)" if ram.held_bytes else ""
    terms = [f"{gib(ram.after_stop_bytes)} available once stopped{held}"]
    for size_bytes, words in (
        (ram.reserve_bytes, "reserve"),
        (ram.headroom_bytes, "headroom"),
        (ram.processes_bytes, f"for the processes of {ranks} ranks"),
        (ram.pending_bytes, "that other instances are still going to take"),
    ):
        if size_bytes:
            terms.append(f"{gib(size_bytes)} {words}")
    return " - ".join(terms)


def _slots(case: HostCase, tier: Tier) -> str:
    slots = f"{tier.slots:,} slots per rank"
    if tier.mode == "size":
        return f"{tier.size_gb} GB / {case.shape.pools[0].bytes_per_token:,} B = {slots}"
    if tier.mode == "ratio":
        return f"{case.device_tokens:,} device tokens x {tier.ratio:.2f} = {slots}"
    share = case.shape.parallel.share
    budget = f"{gib(case.ram.engine_free_bytes)} / {share} ranks x {tier.fraction:g}"
    if tier.ratio is None:
        return f"{budget}: nothing is left for SGLang to size"
    top = f", at most {AUTO_RATIO_MAX:g}" if tier.ratio >= AUTO_RATIO_MAX else ""
    return (
        f"{budget} x {1 - AUTO_SLACK:g}{top} = ratio {tier.ratio:.2f}; "
        f"{case.device_tokens:,} device tokens x {tier.ratio:.2f} = {slots}"
    )


def _bytes(case: HostCase, tier: Tier) -> str:
    sizes = case.shape.bytes_by_pool(tier.slots)
    each = " + ".join(f"{gb(size)} {pool.name}" for pool, size in zip(case.shape.pools, sizes))
    ranks = case.shape.parallel.ranks
    return f"{ranks} rank{'s' if ranks > 1 else ''} x ({each}) = {gb(case.node_bytes(tier))}"


def _sum_check(case: HostCase, tier: Tier) -> str:
    """All pools against the tightest bound that holds in any order of ranks."""
    limit = min(case.hard, key=lambda entry: entry.max_slots)
    sign = "<=" if tier.most_slots <= limit.max_slots else ">"
    return f"{sign} {gb(limit.limit_bytes)}, {_words(limit, case)}"


def _words(limit: Limit, case: HostCase) -> str:
    if limit.name != "ram":
        return f"allowed by {limit.text}"
    return f"what {case.ram.source} leaves: {ram_terms(case)}"


def _last_rank_check(case: HostCase, tier: Tier) -> str:
    """The engine's own check in the worst order: a rank that asks when its peers have pinned.

    Of its pools the one is told that comes closest to a refusal.
    """
    shape, ram = case.shape, case.ram
    share = 1 if case.rules.guard == "machine" else shape.parallel.share
    sizes = shape.bytes_by_pool(tier.most_slots)
    peers = 0 if ram.hugepage_bytes else (shape.parallel.ranks - 1) * sum(sizes)
    before = [0 if ram.hugepage_bytes else sum(sizes[:number]) for number in range(len(sizes))]
    found = [(ram.guard_bytes - peers - taken) // share for taken in before]
    worst = min(range(len(sizes)), key=lambda number: found[number] - sizes[number])
    sign = "<=" if sizes[worst] <= found[worst] else ">"
    taken = f" - {gb(peers + before[worst])} of pools that are there by then" if peers else ""
    return (
        f"a rank that comes last asks {gb(sizes[worst])} for its {shape.pools[worst].name} pool "
        f"{sign} ({gb(ram.guard_bytes)}{taken}) / {share} = {gb(max(found[worst], 0))}"
    )

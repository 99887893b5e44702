# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options on the GPUs: a larger pool, smaller tokens, or no token held twice.

Private to the collection. Each is offered alone and with the host tier that then fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from .._engine.pool_rules import (
    AUTO_FRACTION_MAX,
    AUTO_RATIO_MAX,
    AUTO_SLACK,
    GPU_MARGIN_BYTES,
    MEM_FRACTION_CEILING,
)
from .arithmetic import tier_arithmetic
from .attention import shared_attention_bytes
from .costs import MEASURE_FP8, copies_costs, fp8_costs, fraction_costs, host_costs
from .device import floor_page, smallest_gpu
from .guard import CERTAIN, LIKELY, NO
from .host import ABOUT_THE_SAME, HostCase, Tier
from .host_options import tier_title, tier_variables
from .option import Ground, Option
from .setting import Setting, is_fp8, part, read_setting, with_kv_dtype

_FP8 = "fp8_e4m3"


def raised_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """A higher memory fraction, alone and with the host tier that gains from it."""
    room = _gpu_room(ground, tokens)
    if room is None or room.tokens <= tokens:
        return
    yield _raised(ground, room, room.tokens)
    grown = _grown(ground, room, tokens)
    if grown is not None:
        yield _raised(ground, room, grown[0].device_tokens, grown)


def _grown(ground: Ground, room: _GpuRoom, tokens: int) -> tuple[HostCase, Tier] | None:
    """The host tier that a larger device tier allows, where it holds more than either alone.

    Of two device tiers that allow the same the smaller one is taken.
    """
    now = ground.case(ground.setting, tokens)
    if now is None:
        return None
    alone = max(now.unique_tokens(now.best(ground.fraction)), room.tokens)
    found: list[tuple[HostCase, Tier]] = []
    for target in sorted({_saturation(ground, now, room), room.tokens}):
        case = ground.case(ground.setting, target) if target > tokens else None
        tier = case.best(ground.fraction) if case else None
        if case and tier and case.unique_tokens(tier) * ABOUT_THE_SAME > alone:
            found.append((case, tier))
    return max(found, key=lambda entry: entry[0].unique_tokens(entry[1]), default=None)


def _saturation(ground: Ground, case: HostCase, room: _GpuRoom) -> int:
    """Device tokens at which the engine's own sizing has used up the RAM, if the GPU has room."""
    if not case.rules.auto_size:
        return room.tokens
    return min(_saturating_tokens(case, ground.fraction or AUTO_FRACTION_MAX), room.tokens)


def _saturating_tokens(case: HostCase, fraction: float) -> int:
    """Device tokens at which the engine's own sizing has used up its budget at its top ratio."""
    budget = int(case.ram.engine_free_bytes // case.shape.parallel.share * fraction)
    exact = budget * (1 - AUTO_SLACK) / (AUTO_RATIO_MAX * case.shape.rank_bytes_per_token)
    return floor_page(math.ceil(exact) + case.shape.page - 1, case.shape.page)


@dataclass(frozen=True)
class _GpuRoom:
    """How far the device pool could grow, and what a token costs of the memory fraction."""

    tokens: int
    now: int
    cell: int
    fraction: float
    before_load_bytes: int
    measured: bool

    def fraction_for(self, tokens: int) -> float:
        """Memory fraction, rounded up to three decimals, that gives so many device tokens."""
        exact = self.fraction + (tokens - self.now) * self.cell / self.before_load_bytes
        return math.ceil(round(exact * 1000, 6)) / 1000


def _gpu_room(ground: Ground, tokens: int) -> _GpuRoom | None:
    """Room on the GPU, by what the running server left free where that was measured."""
    setting = ground.setting
    gpu = smallest_gpu(ground.facts, ground.wishes, setting)
    cell, real = setting.device_cell, setting.device_bytes
    if gpu is None or not cell or not real or ground.is_capped:
        return None
    extra = int((MEM_FRACTION_CEILING - gpu.fraction) * gpu.before_load_bytes) // cell
    left = None
    if ground.device.origin == "measured":
        left = part(ground.facts, "server", "startup").get("avail_after_bytes")
    if left is not None:
        extra = min(extra, (int(left) - GPU_MARGIN_BYTES) // real)
    return _GpuRoom(
        tokens=floor_page(tokens + extra, setting.page),
        now=tokens,
        cell=cell,
        fraction=gpu.fraction,
        before_load_bytes=gpu.before_load_bytes,
        measured=left is not None,
    )


def _raised(
    ground: Ground, room: _GpuRoom, tokens: int, host: tuple[HostCase, Tier] | None = None
) -> Option:
    """A memory fraction for a device tier of `tokens`, with a host tier or without."""
    fraction = room.fraction_for(tokens)
    extra_bytes = (tokens - room.now) * room.cell
    basis = "by what the running server left free" if room.measured else "GPU room not measured"
    option = Option(
        title=f"memory fraction {fraction:.3f}",
        device_tokens=tokens,
        tokens=tokens,
        ram_bytes=0,
        certainty=CERTAIN if room.measured else LIKELY,
        variables={"sglang_mem_fraction_static": fraction},
        arithmetic=(
            f"{room.now:,} + {extra_bytes / 1e9:.2f} GB / {room.cell:,} B = {tokens:,} device "
            f"tokens; fraction {room.fraction:.3f} + {extra_bytes / 1e9:.2f} GB / "
            f"{room.before_load_bytes / 1e9:.2f} GB = {fraction:.3f}"
        ),
        costs=fraction_costs(extra_bytes),
        note=f"device tier of {tokens:,} tokens, predicted, {basis}",
        copies=ground.copies,
    )
    return option if host is None else _with_host(ground, option, room, *host)


def _with_host(
    ground: Ground, option: Option, room: _GpuRoom, case: HostCase, tier: Tier
) -> Option:
    own = tier.mode == "engine_auto"
    wanted = _saturating_tokens(case, ground.fraction or AUTO_FRACTION_MAX) if own else 0
    more = f"; RAM would serve up to {wanted:,} device tokens" if wanted > room.tokens else ""
    # Only the engine's own sizing follows a pool that turns out other than predicted.
    chosen = tier_variables(tier) if own else {"sglang_hicache_mode": "auto"}
    return _joined(option, ground.setting, case, tier, chosen, f"{option.note}{more}")


def _joined(
    option: Option,
    setting: Setting,
    case: HostCase,
    tier: Tier,
    chosen: dict[str, Any],
    note: str | None,
) -> Option:
    """An option on the GPUs together with a host tier."""
    node_bytes = case.node_bytes(tier)
    return replace(
        option,
        title=f"{option.title} + HiCache",
        tokens=case.unique_tokens(tier),
        ram_bytes=node_bytes,
        variables={**option.variables, **chosen},
        arithmetic=f"{option.arithmetic}; {tier_arithmetic(case, tier)}",
        costs=[*option.costs, *host_costs(node_bytes, setting.parallel.ranks, setting)],
        note=note,
    )


def fp8_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """An 8-bit KV cache, alone and together with the best certain host tier."""
    setting = ground.setting
    small = with_kv_dtype(setting, ground.facts, ground.wishes, _FP8)
    if is_fp8(setting.kv_dtype) or not setting.device_cell or not small.device_cell:
        return
    if ground.is_capped:
        return
    grown = floor_page(tokens * setting.device_cell // small.device_cell, setting.page)
    alone = Option(
        title="fp8 KV cache",
        device_tokens=grown,
        tokens=grown,
        ram_bytes=0,
        certainty=CERTAIN,
        variables={"sglang_kv_cache_dtype": _FP8},
        arithmetic=(
            f"{tokens:,} tokens x {setting.device_cell:,} B / {small.device_cell:,} B = "
            f"{grown:,} device tokens"
        ),
        costs=fp8_costs(),
        note=MEASURE_FP8,
        same_precision=False,
        copies=ground.copies,
    )
    yield alone
    case = ground.case(small, grown)
    tier = case.best(ground.fraction) if case else None
    if case is None or tier is None or not tier.slots:
        return
    both = _joined(alone, small, case, tier, {"sglang_hicache_mode": "auto"}, alone.note)
    yield replace(both, title=f"fp8 KV + {tier_title(tier)}")


def copies_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """Data-parallel attention: no two ranks hold the same latent, so unique tokens multiply."""
    now = ground.setting
    if not _holds_copies(now) or ground.is_capped:
        return
    wish = {"sglang_enable_dp_attention": True, "sglang_dp_size": now.parallel.tp}
    then = read_setting(ground.facts, {**ground.wishes, **wish})
    extra = shared_attention_bytes(now.model)
    if extra is None or not now.device_cell or not then.device_cell:
        return
    extra -= extra // now.parallel.tp
    left = max(tokens * now.device_cell - extra, 0)
    # A draft's heads are not split any more, which the engine's own sum may not know.
    each = max(then.device_cell, then.device_bytes or 0)
    rank_tokens = floor_page(left // each, now.page)
    fits = rank_tokens >= ground.context_tokens
    alone = Option(
        title=f"DP attention, {then.parallel.dp} ranks",
        device_tokens=rank_tokens,
        tokens=rank_tokens,
        ram_bytes=0,
        certainty=LIKELY if fits else NO,
        variables=wish,
        arithmetic=(
            f"{tokens:,} tokens x {now.device_cell:,} B - {extra / 1e9:.2f} GB of attention "
            f"weights = {left / 1e9:.2f} GB per rank; / {each:,} B = "
            f"{rank_tokens:,} tokens on each of {then.parallel.dp} ranks"
        ),
        costs=copies_costs(extra, rank_tokens, tokens),
        note=_copies_note(ground, rank_tokens, fits),
        copies=then.parallel.dp,
    )
    yield alone
    case = ground.case(then, rank_tokens) if fits else None
    tier = case.best(ground.fraction) if case else None
    if case is not None and tier is not None and tier.slots:
        chosen = {"sglang_hicache_mode": "auto"}
        yield _joined(alone, then, case, tier, chosen, alone.note)


def _holds_copies(setting: Setting) -> bool:
    """Whether each rank holds the same tokens now."""
    parallel = setting.parallel
    latent = setting.model.get("attention") == "mla"
    return latent and parallel.tp > 1 and parallel.dp == parallel.pp == parallel.nodes == 1


def _copies_note(ground: Ground, tokens: int, fits: bool) -> str:
    if fits:
        return "the device tier is an estimate: start once to have it measured"
    return (
        f"would leave {tokens:,} tokens on each rank, fewer than one request of "
        f"{ground.context_tokens:,}"
    )

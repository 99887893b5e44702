# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to hold more context in parallel, ranked.

Private to the collection. An option is ranked by how surely it starts, then by whether it keeps
the KV cache's precision, then by the tokens in reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._engine.pool_rules import (
    AUTO_FRACTION_MAX,
    AUTO_RATIO_MAX,
    AUTO_SLACK,
    GPU_MARGIN_BYTES,
    MEM_FRACTION_CEILING,
)
from .device import Device, floor_page, smallest_gpu
from .finding import gib
from .guard import CERTAIN, LIKELY, NO
from .host import ABOUT_THE_SAME, HostCase, Tier, host_case
from .ram import Ram
from .setting import Setting, is_fp8, part, with_kv_dtype

_HAND_RATIO = 4.0
_ORDER = {CERTAIN: 0, LIKELY: 1, NO: 2}
_FP8 = "fp8_e4m3"
_FP8_NOTE = (
    "answers change a little; on compute capability 12.x an MLA model may decode much slower, "
    "so measure it first"
)


@dataclass(frozen=True)
class Option:
    """One way, before it is ranked. `tokens` are unique ones of all copies of the model."""

    title: str
    tokens: int
    ram_bytes: int
    certainty: str
    variables: dict[str, Any]
    note: str | None = None
    same_precision: bool = True


@dataclass(frozen=True)
class Ground:
    """What all options start from."""

    facts: Mapping[str, Any]
    wishes: Mapping[str, Any]
    setting: Setting
    device: Device
    ram: Ram | None

    def case(self, setting: Setting, device_tokens: int) -> HostCase | None:
        """Host tiers on a device tier of so many tokens."""
        error = self.device.error_percent
        return host_case(setting, self.ram, device_tokens, self.wishes, error)

    @property
    def is_capped(self) -> bool:
        """Whether the user fixes the device tier, so that no room on the GPU can enlarge it."""
        return self.wishes.get("sglang_max_total_tokens") is not None

    @property
    def fraction(self) -> float | None:
        """The share of RAM that the user gives the engine's own sizing."""
        value = self.wishes.get("sglang_hicache_host_memory_fraction")
        return None if value is None else float(value)


def build_options(ground: Ground) -> list[dict[str, Any]]:
    """Ranked options; empty when the device tier is unknown."""
    now = ground.device.tokens
    if not now:
        return []
    copies = ground.setting.parallel.dp
    found = [*_host_options(ground, now), *_raised_options(ground, now), *_fp8_options(ground, now)]
    found.sort(key=lambda o: (_ORDER[o.certainty], not o.same_precision, -o.tokens, o.ram_bytes))
    return [
        {
            "rank": rank,
            "title": option.title,
            "tokens_in_reach": option.tokens * copies,
            "factor": round(option.tokens / now, 2),
            "ram_bytes": option.ram_bytes,
            "certainty": option.certainty,
            "variables": option.variables,
            "note": option.note,
        }
        for rank, option in enumerate(found, start=1)
    ]


def _host_options(ground: Ground, tokens: int) -> Iterator[Option]:
    case = ground.case(ground.setting, tokens)
    if case is None or ground.setting.unified_memory:
        return
    best = case.best(ground.fraction)
    tiers = [case.largest_ratio(), case.with_ratio(_asked_ratio(ground)), case.largest_size()]
    tiers.append(case.engine_auto(ground.fraction))
    seen: set[tuple[str, float | None]] = set()
    for tier in tiers:
        if tier is None or (tier.mode, tier.ratio) in seen or not tier.slots:
            continue
        if tier.mode == "size" and tier != best and tier.slots * ABOUT_THE_SAME <= best.slots:
            continue
        seen.add((tier.mode, tier.ratio))
        variables = {"sglang_hicache_mode": "auto"} if tier == best else _variables(tier)
        yield _tier_option(case, tier, variables)


def _asked_ratio(ground: Ground) -> float:
    """The ratio to compare with: the user's own, else the one that people try by hand."""
    asked = ground.wishes.get("sglang_hicache_ratio")
    return _HAND_RATIO if asked is None else float(asked)


def _tier_option(case: HostCase, tier: Tier, variables: dict[str, Any]) -> Option:
    return Option(
        title=_title(tier),
        tokens=case.unique_tokens(tier),
        ram_bytes=case.node_bytes(tier),
        certainty=tier.certainty or NO,
        variables=variables,
        note=_risk(case, tier),
    )


def _title(tier: Tier) -> str:
    if tier.mode == "ratio":
        return f"HiCache, ratio {tier.ratio:.2f}"
    if tier.mode == "size":
        return f"HiCache, {tier.size_gb} GB per rank"
    return "HiCache, sized by SGLang"


def _variables(tier: Tier) -> dict[str, Any]:
    names = {
        "sglang_hicache_mode": tier.mode,
        "sglang_hicache_size_gb": tier.size_gb,
        "sglang_hicache_host_memory_fraction": tier.fraction,
        "sglang_hicache_ratio": tier.ratio if tier.mode == "ratio" else None,
    }
    return {name: value for name, value in names.items() if value is not None}


def _risk(case: HostCase, tier: Tier) -> str | None:
    """What speaks against a tier, in words."""
    if tier.certainty == LIKELY:
        return "fails should one rank be late: it then counts its peers' pools twice"
    if tier.certainty == NO:
        tight = [limit for limit in case.hard if tier.most_slots > limit.max_slots] or [case.bound]
        limit = min(tight, key=lambda entry: entry.max_slots)
        need, have = gib(case.most_node_bytes(tier)), gib(limit.limit_bytes)
        return f"needs {need}, {have} allowed by {limit.text}"
    if tier.mode == "engine_auto":
        return "SGLang reads the RAM at each start, so the size may change from start to start"
    return None


def _raised_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """A higher memory fraction, alone and together with the engine's own host sizing."""
    room = _gpu_room(ground, tokens)
    if room is None or room.tokens <= tokens:
        return
    yield _raised(room, room.tokens, room.tokens, 0, "memory fraction {}", {})
    case = ground.case(ground.setting, tokens)
    if case is None or not case.rules.auto_size or ground.setting.unified_memory:
        return
    fraction = ground.fraction or AUTO_FRACTION_MAX
    wanted = _auto_saturation(case, fraction)
    target = min(wanted, room.tokens)
    grown = ground.case(ground.setting, target)
    tier = grown.engine_auto(ground.fraction) if grown else None
    if grown is None or tier is None or tier.certainty == NO or target <= tokens:
        return
    yield _raised(
        room,
        target,
        grown.unique_tokens(tier),
        grown.node_bytes(tier),
        "memory fraction {} + HiCache",
        _variables(tier),
        f"; RAM would serve up to {wanted:,} device tokens" if wanted > target else "",
    )


@dataclass(frozen=True)
class _GpuRoom:
    """How far the device pool could grow, and what a token costs of the memory fraction."""

    tokens: int
    now: int
    fraction: float
    fraction_per_token: float
    measured: bool

    def fraction_for(self, tokens: int) -> float:
        """Memory fraction, rounded up to three decimals, that gives so many device tokens."""
        exact = self.fraction + (tokens - self.now) * self.fraction_per_token
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
        fraction=gpu.fraction,
        fraction_per_token=cell / gpu.before_load_bytes,
        measured=left is not None,
    )


def _auto_saturation(case: HostCase, fraction: float) -> int:
    """Device tokens at which the engine's own sizing has used up its budget at its top ratio."""
    budget = int(case.ram.engine_free_bytes // case.shape.parallel.share * fraction)
    exact = budget * (1 - AUTO_SLACK) / (AUTO_RATIO_MAX * case.shape.rank_bytes_per_token)
    return floor_page(math.ceil(exact) + case.shape.page - 1, case.shape.page)


def _raised(
    room: _GpuRoom,
    device_tokens: int,
    reach: int,
    ram_bytes: int,
    title: str,
    variables: dict[str, Any],
    more: str = "",
) -> Option:
    fraction = room.fraction_for(device_tokens)
    basis = "by what the running server left free" if room.measured else "GPU room not measured"
    return Option(
        title=title.format(f"{fraction:.3f}"),
        tokens=reach,
        ram_bytes=ram_bytes,
        certainty=CERTAIN if room.measured else LIKELY,
        variables={"sglang_mem_fraction_static": fraction, **variables},
        note=f"device tier of {device_tokens:,} tokens, predicted, {basis}{more}",
    )


def _fp8_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """An 8-bit KV cache, alone and together with the best certain host tier."""
    setting = ground.setting
    small = with_kv_dtype(setting, ground.facts, ground.wishes, _FP8)
    if is_fp8(setting.kv_dtype) or not setting.device_cell or not small.device_cell:
        return
    if ground.is_capped:
        return
    grown = floor_page(tokens * setting.device_cell // small.device_cell, setting.page)
    wish = {"sglang_kv_cache_dtype": _FP8}
    yield Option("fp8 KV cache", grown, 0, CERTAIN, wish, _FP8_NOTE, False)
    case = ground.case(small, grown)
    tier = case.best(ground.fraction) if case else None
    if case is None or tier is None or not tier.slots or setting.unified_memory:
        return
    reach, ram_bytes = case.unique_tokens(tier), case.node_bytes(tier)
    title = f"fp8 KV + {_title(tier)}"
    wish = {**wish, "sglang_hicache_mode": "auto"}
    yield Option(title, reach, ram_bytes, CERTAIN, wish, _FP8_NOTE, False)

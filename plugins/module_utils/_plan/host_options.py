# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options in RAM and behind it: a host tier by each of its knobs, and a store on disk.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._engine.flags import flags_of
from .._layout import cache_folder
from .arithmetic import tier_arithmetic
from .costs import host_costs, store_costs
from .finding import gib
from .fingerprint import digest
from .guard import LIKELY, NO
from .host import ABOUT_THE_SAME, HostCase, Tier
from .option import Ground, Option
from .setting import Setting, part

_HAND_RATIO = 4.0
_STORE_FLAG = "--hicache-storage-backend"
_STORE_FOLDER = "SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"
_FILE = "file"


def host_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """The best tier of each knob, and a ratio to compare with."""
    case = ground.case(ground.setting, tokens)
    if case is None:
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
        variables = {"sglang_hicache_mode": "auto"} if tier == best else tier_variables(tier)
        yield tier_option(ground, ground.setting, case, tier, variables)


def _asked_ratio(ground: Ground) -> float:
    """The ratio to compare with: the user's own, else the one that people try by hand."""
    asked = ground.wishes.get("sglang_hicache_ratio")
    return _HAND_RATIO if asked is None else float(asked)


def tier_option(
    ground: Ground, setting: Setting, case: HostCase, tier: Tier, variables: dict[str, Any]
) -> Option:
    """A host tier on the device tier of its case."""
    node_bytes = case.node_bytes(tier)
    return Option(
        title=tier_title(tier),
        device_tokens=case.device_tokens,
        tokens=case.unique_tokens(tier),
        ram_bytes=node_bytes,
        certainty=tier.certainty or NO,
        variables=variables,
        arithmetic=tier_arithmetic(case, tier),
        costs=host_costs(node_bytes, setting.parallel.ranks, setting),
        note=_risk(case, tier),
        copies=setting.parallel.dp,
    )


def tier_title(tier: Tier) -> str:
    """A host tier in a few words."""
    if tier.mode == "ratio":
        return f"HiCache, ratio {tier.ratio:.2f}"
    if tier.mode == "size":
        return f"HiCache, {tier.size_gb} GB per rank"
    return "HiCache, sized by SGLang"


def tier_variables(tier: Tier) -> dict[str, Any]:
    """The variables that ask for exactly this tier."""
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


def store_options(ground: Ground, tokens: int) -> Iterator[Option]:
    """A store on disk behind the best host tier. Tokens in it are not counted."""
    setting = ground.setting
    case = ground.case(setting, tokens)
    backends = _backends(setting)
    if case is None or _FILE not in backends or not setting.rules.store_folder:
        return
    tier = case.best(ground.fraction)
    if not tier.slots or _has_store(ground.wishes):
        return
    base = tier_option(ground, setting, case, tier, {})
    others = [name for name in backends if name != _FILE]
    stored = _stored_bytes(setting)
    yield Option(
        title=f"{base.title} + file store",
        device_tokens=base.device_tokens,
        tokens=base.tokens,
        ram_bytes=base.ram_bytes,
        certainty=LIKELY,
        variables=_store_variables(ground),
        arithmetic=f"{base.arithmetic}; 10^12 B on disk / {stored:,} B = {10**12 // stored:,} "
        "tokens per TB, in none of the counts here",
        costs=[*base.costs, *store_costs(stored, others)],
        note="tokens in the store are not counted: whether they are found again is not certain",
        copies=base.copies,
    )


def _backends(setting: Setting) -> list[str]:
    flag = flags_of(setting.version).resolve(_STORE_FLAG)
    return [str(name) for name in (flag.choices if flag else None) or ()]


def _has_store(wishes: Mapping[str, Any]) -> bool:
    return bool(wishes.get("sglang_hicache_storage_backend"))


def _stored_bytes(setting: Setting) -> int:
    """Bytes of one token in the store: what all ranks hold alike is written by one of them."""
    kv = setting.target.kv if setting.target else 0
    alike = setting.model.get("attention") == "mla"
    return kv if alike else kv * setting.parallel.attention_tp


def _store_variables(ground: Ground) -> dict[str, Any]:
    """Variables that are given replace the whole dict, so what stands there is kept."""
    setting, wishes = ground.setting, ground.wishes
    # A page says nothing of its format, so each format has a folder of its own.
    shape = [setting.version.text, part(ground.facts, "model").get("fingerprint")]
    shape += [setting.kv_dtype, setting.page, wishes.get("sglang_hicache_mem_layout")]
    folder = f"{cache_folder(wishes['sglang_instance'])}/kv-{digest(shape)}"
    return {
        "sglang_hicache_mode": "auto",
        "sglang_hicache_storage_backend": _FILE,
        "sglang_environment": {
            **(wishes.get("sglang_environment") or {}),
            _STORE_FOLDER: folder,
        },
    }

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the flags, the version and the GPUs of an engine decide about the layout of its caches.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._engine.architectures import drafts_sparsely, has_window_pool, packs_sparse_rows
from .._engine.kv_format import KvFormat, automatic_dtype
from .._engine.pool_rules import (
    SPECULATIVE_REQUESTS_DEFAULT,
    SPECULATIVE_TOKENS_DEFAULT,
    STATE_RATIO_DEFAULT,
    WINDOW_RATIO_DEFAULT,
    pool_rules,
)
from .._engine.version import Version
from .kv import Layout
from .state import StateWish


@dataclass(frozen=True)
class Extra:
    """Flags that have no variable of their own, named with or without their dashes."""

    arguments: Mapping[str, Any]

    def value(self, name: str) -> Any:
        """What a flag is given, None where it is not given or takes nothing."""
        return self.arguments.get(name, self.arguments.get(f"--{name}"))

    def has(self, name: str) -> bool:
        """Whether a flag that takes nothing is there."""
        named = name if name in self.arguments else f"--{name}"
        return named in self.arguments and self.arguments[named] is not False


SIZE_EXTRAS = (
    "swa-full-tokens-ratio",
    "mamba-full-memory-ratio",
    "max-mamba-cache-size",
    "mamba-ssm-dtype",
)
"""Such flags that decide the size of a device pool and take a value."""

SIZE_SWITCHES = ("disable-hybrid-swa-memory", "disable-radix-cache")
"""The same of flags that take none."""

_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_SPARSE_BACKENDS = (
    ("dsa-prefill-backend", "nsa-prefill-backend"),
    ("dsa-decode-backend", "nsa-decode-backend"),
)
_RAW_ROWS = "trtllm"


def resolved_dtype(kv_dtype: str, model: Mapping[str, Any], capability: float | None) -> str:
    """A KV format by name; `auto` is what the engine makes of it for this model and GPU."""
    return automatic_dtype(model, capability) if kv_dtype == "auto" else kv_dtype


def own_draft(model: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """Geometry of the layers of a model that draft for it: like its layers of full context."""
    layers = int(model.get("draft_layers") or 1)
    sparse = drafts_sparsely(model.get("architecture"), version)
    return {
        **model,
        "attention": "mla" if model.get("kv_lora_rank") else "gqa",
        "layers": layers,
        "kv_layers": layers,
        "layer_kinds": None,
        "index_head_dim": model.get("index_head_dim") if sparse else None,
        "index_layers": None,
    }


def read_layout(
    found: KvFormat,
    model: Mapping[str, Any],
    version: Version,
    *,
    attention_tp: int,
    pp: int,
    capability: float | None,
    extra: Extra,
    environment: Mapping[str, Any],
) -> Layout:
    """The layout of a model's caches under these flags and variables of the environment."""
    rules = pool_rules(version)
    architecture = model.get("architecture")
    flattened = extra.has("disable-hybrid-swa-memory")
    return Layout(
        format=found,
        attention_tp=attention_tp,
        pp=pp,
        stages=_stages(environment.get("SGLANG_PP_LAYER_PARTITION")),
        window_pool=has_window_pool(architecture, version) and not flattened,
        packed_rows=_packs_rows(architecture, capability, version, extra),
        compact_index=rules.compact_index,
        conv_bytes=_STATE_BYTES.get(str(environment.get("SGLANG_MAMBA_CONV_DTYPE")), 2),
        state_bytes=_state_bytes(model, rules.state_dtype_in_config, extra, environment),
    )


def window_ratio(extra: Extra) -> float:
    """Tokens of the sliding-window pool for each token of the other."""
    given = extra.value("swa-full-tokens-ratio")
    return WINDOW_RATIO_DEFAULT if given is None else float(given)


def state_wish(
    wishes: Mapping[str, Any], groups: int, speculative: bool, extra: Extra
) -> StateWish:
    """What decides the number of state slots; `groups` share requests and slots."""
    slots, ratio = extra.value("max-mamba-cache-size"), extra.value("mamba-full-memory-ratio")
    requests = wishes.get("sglang_max_running_requests")
    drafts = wishes.get("sglang_speculative_num_draft_tokens") or SPECULATIVE_TOKENS_DEFAULT
    if speculative:
        requests = requests or SPECULATIVE_REQUESTS_DEFAULT
    return StateWish(
        ratio=STATE_RATIO_DEFAULT if ratio is None else float(ratio),
        slots=None if slots is None else int(slots) // groups,
        requests=max(1, int(requests) // groups) if requests else None,
        draft_tokens=int(drafts) if speculative else 0,
        tree=not extra.has("disable-radix-cache"),
    )


def _stages(given: Any) -> tuple[int, ...]:
    """Layers of each pipeline stage, empty where they are not given or not numbers."""
    parts = str(given).split(",") if given else []
    return (
        tuple(int(part) for part in parts) if all(part.strip().isdigit() for part in parts) else ()
    )


def _packs_rows(
    architecture: str | None, capability: float | None, version: Version, extra: Extra
) -> bool:
    given = [next(filter(None, map(extra.value, names)), None) for names in _SPARSE_BACKENDS]
    if _RAW_ROWS in given:
        return False
    return all(given) or packs_sparse_rows(architecture, capability, version)


def _state_bytes(
    model: Mapping[str, Any], in_config: bool, extra: Extra, environment: Mapping[str, Any]
) -> int:
    """Bytes of one element of a recurrent state; 32 bits unless something says otherwise."""
    configured = model.get("state_dtype") if in_config else None
    named = (
        extra.value("mamba-ssm-dtype") or environment.get("SGLANG_MAMBA_SSM_DTYPE") or configured
    )
    return _STATE_BYTES.get(str(named), 4)

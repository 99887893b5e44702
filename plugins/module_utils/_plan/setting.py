# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan starts from: one reading of facts and variables into plain values.

Private to the collection.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._engine.architectures import mirrors_window
from .._engine.kv_format import FP8_DTYPES, KvFormat, kv_format
from .._engine.pool_rules import PoolRules, default_page_tokens, pool_rules, read_tokens
from .._engine.version import Version
from .._facts import devices
from .kv import TokenBytes, token_bytes
from .layout import Extra, own_draft, read_layout, resolved_dtype, state_wish, window_ratio
from .state import StateWish

_NO_DRAFT_ALGORITHMS = frozenset({"NGRAM"})


def part(facts: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """A mapping inside the facts, empty when that part was not gathered."""
    found: Any = facts
    for key in path:
        found = (found or {}).get(key)
    return found or {}


def extra_argument(wishes: Mapping[str, Any], name: str) -> Any:
    """Value of a flag given through sglang_extra_args, with or without its dashes, else None."""
    return extra_arguments(wishes).value(name)


def extra_arguments(wishes: Mapping[str, Any]) -> Extra:
    """The flags of sglang_extra_args."""
    return Extra(wishes.get("sglang_extra_args") or {})


def argv_value(argv: Sequence[str], names: tuple[str, ...]) -> str | None:
    """Last value of a flag, in either spelling (`--flag value`, `--flag=value`), else None."""
    found = None
    for position, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name not in names:
            continue
        if equals:
            found = value
        elif position + 1 < len(argv):
            found = argv[position + 1]
    return found


@dataclass(frozen=True)
class Parallel:
    """How an engine spreads over GPUs. `nodes` is the number of hosts of one engine."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    dp_attention: bool = False
    nodes: int = 1

    @property
    def world(self) -> int:
        """Ranks of one engine launch, on all nodes."""
        return self.tp * self.pp

    @property
    def share(self) -> int:
        """Ranks per node by which the engine divides the RAM."""
        return max(self.world // self.nodes, 1)

    @property
    def ranks(self) -> int:
        """Processes with pools of their own on this node: data-parallel copies included."""
        return self.share if self.dp_attention else self.share * self.dp

    @property
    def attention_tp(self) -> int:
        """Ranks that share the attention heads of one request."""
        return max(self.tp // self.dp, 1) if self.dp_attention else self.tp


@dataclass(frozen=True)
class Pool:
    """One host pool of a rank: each has as many token slots as the target's.

    A pool of another number of slots is counted by its bytes for each slot of the target.
    """

    name: str
    bytes_per_token: int


@dataclass(frozen=True)
class Setting:
    """Everything the arithmetic needs to know about engine, model and parallelism."""

    version: Version
    rules: PoolRules
    parallel: Parallel
    page: int
    kv_dtype: str
    target: TokenBytes | None
    draft: TokenBytes | None
    wants_draft: bool
    drafts_itself: bool
    unified_memory: bool
    model: Mapping[str, Any]
    model_context: int | None
    capability: float | None
    format: KvFormat | None
    window_ratio: float
    state_wish: StateWish
    state_bytes_per_token: int | None = None

    @property
    def pools(self) -> tuple[Pool, ...] | None:
        """Host pools of one rank in the order in which it allocates them; None when unknown.

        Recurrent states are known once the device tier is, see `with_states`.
        """
        if self.target is None or self.not_mirrored is not None:
            return None
        draft = self.draft.device if self.draft and self.mirrors_draft else 0
        if draft and self._packs_draft:
            pools = [Pool("target", self.target.kv + draft)]
        else:
            pools = [Pool("target", self.target.kv)]
        if self.target.indexer and self.rules.indexer_pool:
            pools.append(Pool("indexer", self.target.indexer))
        if self.target.window:
            pools.append(Pool("window", math.ceil(self.target.window * self.window_ratio)))
        if self.target.state:
            pools.append(Pool("state", self.state_bytes_per_token or 0))
        if draft and not self._packs_draft:
            pools.append(Pool("draft", draft))
        return tuple(pools)

    @property
    def not_mirrored(self) -> str | None:
        """Why HiCache cannot copy the device pools, or its bytes are not computed; else None."""
        target, version = self.target, self.version
        if target is None:
            attention = self.model.get("attention") or "unknown"
            return f"bytes per token are unknown (attention {attention}, KV format {self.kv_dtype})"
        if self.draft is None and self.mirrors_draft:
            return "the KV geometry of the draft model is unknown"
        if self.format is not None and not self.format.is_plain:
            return f"copies of a KV cache in {self.kv_dtype} are not computed"
        if target.window and not self.rules.window_host:
            return f"SGLang {version} has no host pool for sliding-window layers; 0.5.13 has"
        if target.window and not mirrors_window(self.model.get("architecture"), version):
            return (
                f"with HiCache, SGLang {version} gives up the pool of this model's sliding-window "
                "layers"
            )
        if target.state and not self.rules.state_host:
            return f"SGLang {version} has no host pool for recurrent states; 0.5.10 has"
        if target.state and self.state_bytes_per_token is None:
            return "the number of recurrent states on the device is unknown"
        return None

    @property
    def mirrors_draft(self) -> bool:
        """Whether the draft's KV has a place on the host."""
        return self.wants_draft and self.rules.draft_pool

    @property
    def _packs_draft(self) -> bool:
        """Whether draft layers that belong to the model itself share the target's host pool."""
        return self.drafts_itself and self.rules.packed_draft

    @property
    def device_cell(self) -> int | None:
        """Bytes by which the engine divides its GPU budget to get tokens, per rank.

        Since 0.5.14 it adds a draft as if its layers were as large as the target's.
        """
        if self.target is None:
            return None
        cell = self.target.device
        if self.rules.draft_in_budget and self.wants_draft:
            draft_layers = self.draft.layers if self.draft else 1
            cell += cell * draft_layers // max(self.target.layers, 1)
        return cell + self._window_bytes

    @property
    def device_bytes(self) -> int | None:
        """Bytes that one token really takes on the GPU of one rank, draft included."""
        if self.target is None:
            return None
        draft = self.draft.device if self.draft else 0
        return self.target.device + self._window_bytes + draft

    @property
    def _window_bytes(self) -> int:
        """Bytes of the sliding-window pool for each token of the other pool."""
        return math.ceil(self.target.window * self.window_ratio) if self.target else 0

    def with_states(self, device_tokens: int | None, slots: int | None) -> Setting:
        """The same setting once it is known how many states a rank keeps on the device."""
        if self.target is None or not self.target.state or not device_tokens or slots is None:
            return self
        share = math.ceil(slots * self.target.state / device_tokens)
        return replace(self, state_bytes_per_token=share)


def read_setting(facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> Setting:
    """Read facts and variables once. Raises ValueError for a version that is none."""
    engine = part(facts, "engine")
    version = Version.parse(str(engine.get("version") or wishes["sglang_engine_version"]))
    rules = pool_rules(version)
    model = part(facts, "model")
    context = read_tokens(wishes.get("sglang_context_length"), rules) or model.get("context_tokens")
    parallel, extra = _parallel(wishes), extra_arguments(wishes)
    groups = parallel.dp if parallel.dp_attention else 1
    setting = Setting(
        version=version,
        rules=rules,
        parallel=parallel,
        page=_page(facts, wishes, model),
        kv_dtype=_kv_dtype(facts, wishes),
        target=None,
        draft=None,
        wants_draft=_wants_draft(wishes),
        drafts_itself=_wants_draft(wishes) and not wishes.get("sglang_model_draft_path"),
        unified_memory=any(device.get("memory_kind") == "unified" for device in devices(facts)),
        model=model,
        model_context=context,
        capability=_capability(facts),
        format=None,
        window_ratio=window_ratio(extra),
        state_wish=state_wish(wishes, groups, _is_speculative(wishes), extra),
    )
    return with_kv_dtype(setting, facts, wishes, setting.kv_dtype)


def with_kv_dtype(
    setting: Setting, facts: Mapping[str, Any], wishes: Mapping[str, Any], kv_dtype: str
) -> Setting:
    """The same setting with its KV cache in another format."""
    target, found = _token_bytes(setting, wishes, setting.model, setting.parallel.pp, kv_dtype)
    draft = _draft_bytes(setting, facts, wishes, target, kv_dtype)
    return replace(setting, kv_dtype=kv_dtype, format=found, target=target, draft=draft)


def _token_bytes(
    setting: Setting, wishes: Mapping[str, Any], model: Mapping[str, Any], pp: int, kv_dtype: str
) -> tuple[TokenBytes | None, KvFormat | None]:
    """Bytes per token of a model, and the format that its KV is kept in."""
    version, capability = setting.version, setting.capability
    resolved = resolved_dtype(kv_dtype, model, capability)
    found = kv_format(resolved, wishes.get("sglang_dtype"), version)
    if found is None:
        return None, None
    layout = read_layout(
        found,
        model,
        version,
        attention_tp=setting.parallel.attention_tp,
        pp=pp,
        capability=capability,
        extra=extra_arguments(wishes),
        environment=wishes.get("sglang_environment") or {},
    )
    return token_bytes(model, layout), found


def is_fp8(kv_dtype: str) -> bool:
    """Whether a KV format is an 8-bit one."""
    return kv_dtype in FP8_DTYPES


def _page(facts: Mapping[str, Any], wishes: Mapping[str, Any], model: Mapping[str, Any]) -> int:
    """Tokens per page: as asked for, else as the running server says, else by its backend."""
    asked = wishes.get("sglang_page_size") or part(facts, "server", "info").get("page_size")
    backend = wishes.get("sglang_attention_backend")
    return int(asked or default_page_tokens(backend, bool(model.get("index_head_dim"))))


def _kv_dtype(facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> str:
    """KV format: as asked for, else what `auto` came to on the running server."""
    asked = str(wishes.get("sglang_kv_cache_dtype") or "auto")
    server = part(facts, "server")
    argv = server.get("argv")
    if asked != "auto" or not argv or argv_value(argv, ("--kv-cache-dtype",)) is not None:
        return asked
    return str(part(server, "info").get("kv_cache_dtype") or "auto")


def _parallel(wishes: Mapping[str, Any]) -> Parallel:
    return Parallel(
        tp=int(wishes.get("sglang_tp_size") or 1),
        pp=int(wishes.get("sglang_pp_size") or 1),
        dp=int(wishes.get("sglang_dp_size") or 1),
        dp_attention=bool(wishes.get("sglang_enable_dp_attention")),
        nodes=int(wishes.get("sglang_nnodes") or 1),
    )


def _capability(facts: Mapping[str, Any]) -> float | None:
    """Compute capability of the first GPU, such as 12.0; None when unknown."""
    named = next((device.get("compute_capability") for device in devices(facts)), None)
    return None if named is None else float(named)


def _is_speculative(wishes: Mapping[str, Any]) -> bool:
    return bool(wishes.get("sglang_speculative_algorithm"))


def _wants_draft(wishes: Mapping[str, Any]) -> bool:
    algorithm = str(wishes.get("sglang_speculative_algorithm") or "").upper()
    if wishes.get("sglang_model_draft_path"):
        return True
    return bool(algorithm) and algorithm not in _NO_DRAFT_ALGORITHMS


def _draft_bytes(
    setting: Setting,
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    target: TokenBytes | None,
    kv_dtype: str,
) -> TokenBytes | None:
    """The draft's bytes per token; of layers of the target itself when it drafts for itself."""
    if not setting.wants_draft:
        return None
    draft: Mapping[str, Any] = part(facts, "draft")
    if setting.drafts_itself and target is not None:
        draft = own_draft(setting.model, setting.version)
        kv_dtype = resolved_dtype(kv_dtype, setting.model, setting.capability)
    # A draft runs whole on the last pipeline stage.
    return _token_bytes(setting, wishes, draft, 1, kv_dtype)[0]

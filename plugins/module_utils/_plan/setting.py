# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan starts from: one reading of facts and variables into plain values.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._engine.pool_rules import (
    FP8_DTYPES,
    PoolRules,
    default_page_tokens,
    element_bytes,
    pool_rules,
    read_tokens,
)
from .._engine.version import Version
from .kv import TokenBytes, token_bytes

_NO_DRAFT_ALGORITHMS = frozenset({"NGRAM"})


def part(facts: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """A mapping inside the facts, empty when that part was not gathered."""
    found: Any = facts
    for key in path:
        found = (found or {}).get(key)
    return found or {}


def extra_argument(wishes: Mapping[str, Any], name: str) -> Any:
    """Value of a flag given through sglang_extra_args, with or without its dashes, else None."""
    extra = wishes.get("sglang_extra_args") or {}
    return extra.get(name, extra.get(f"--{name}"))


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
    """One host pool of a rank: each has as many token slots as the target's."""

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

    @property
    def pools(self) -> tuple[Pool, ...] | None:
        """Host pools of one rank in the order in which it allocates them; None when unknown."""
        if self.target is None or (self.draft is None and self.mirrors_draft):
            return None
        draft = self.draft.device if self.draft and self.mirrors_draft else 0
        if draft and self._packs_draft:
            pools = [Pool("target", self.target.kv + draft)]
        else:
            pools = [Pool("target", self.target.kv)]
        if self.target.indexer and self.rules.indexer_pool:
            pools.append(Pool("indexer", self.target.indexer))
        if draft and not self._packs_draft:
            pools.append(Pool("draft", draft))
        return tuple(pools)

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
            cell += cell * draft_layers // self.target.layers
        return cell

    @property
    def device_bytes(self) -> int | None:
        """Bytes that one token really takes on the GPU of one rank, draft included."""
        if self.target is None:
            return None
        return self.target.device + (self.draft.device if self.draft else 0)


def read_setting(facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> Setting:
    """Read facts and variables once. Raises ValueError for a version that is none."""
    engine = part(facts, "engine")
    version = Version.parse(str(engine.get("version") or wishes["sglang_engine_version"]))
    rules = pool_rules(version)
    model = part(facts, "model")
    context = read_tokens(wishes.get("sglang_context_length"), rules) or model.get("context_tokens")
    setting = Setting(
        version=version,
        rules=rules,
        parallel=_parallel(wishes),
        page=_page(facts, wishes, model),
        kv_dtype=_kv_dtype(facts, wishes),
        target=None,
        draft=None,
        wants_draft=_wants_draft(wishes),
        drafts_itself=_wants_draft(wishes) and not wishes.get("sglang_model_draft_path"),
        unified_memory=any(
            device.get("memory_kind") == "unified"
            for device in part(facts, "gpu").get("devices") or []
        ),
        model=model,
        model_context=context,
    )
    return with_kv_dtype(setting, facts, wishes, setting.kv_dtype)


def with_kv_dtype(
    setting: Setting, facts: Mapping[str, Any], wishes: Mapping[str, Any], kv_dtype: str
) -> Setting:
    """The same setting with its KV cache in another format."""
    element = element_bytes(kv_dtype, wishes.get("sglang_dtype"))
    target = draft = None
    if element is not None:
        parallel = setting.parallel
        target = token_bytes(setting.model, parallel.attention_tp, parallel.pp, element)
        draft = _draft_bytes(setting, facts, target, element)
    return replace(setting, kv_dtype=kv_dtype, target=target, draft=draft)


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
        nodes=int(extra_argument(wishes, "nnodes") or 1),
    )


def _wants_draft(wishes: Mapping[str, Any]) -> bool:
    algorithm = str(wishes.get("sglang_speculative_algorithm") or "").upper()
    if wishes.get("sglang_model_draft_path"):
        return True
    return bool(algorithm) and algorithm not in _NO_DRAFT_ALGORITHMS


def _draft_bytes(
    setting: Setting, facts: Mapping[str, Any], target: TokenBytes | None, element: int
) -> TokenBytes | None:
    """The draft's bytes per token; those of one target layer when the model drafts for itself."""
    if setting.drafts_itself and target is not None:
        return TokenBytes(target.kv // target.layers, target.indexer // target.layers, layers=1)
    if not setting.wants_draft:
        return None
    # A draft runs whole on the last pipeline stage.
    return token_bytes(part(facts, "draft"), setting.parallel.attention_tp, 1, element)

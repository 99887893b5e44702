# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes: what weights, device pools and host pools take, by the version's formulas.

Pure arithmetic on the model's files, one GPU size and the host's free memory.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .args import VERSION, ServerArgs
from .gpus import Gpus
from .host import GIB, HostMemory
from .order import steps

# What a driver and a CUDA context take before the first weight, and what graphs take after.
CONTEXT_BYTES = int(1.1 * GIB)
GRAPH_BYTES = 2 * GIB
DRAFT_GRAPH_BYTES = GIB // 4


@dataclass(frozen=True)
class Model:
    """What the double needs to know of a model folder."""

    architecture: str
    multimodal: bool
    mla: bool
    layers: int
    token_width: int
    """MLA: latent and rope elements per layer; else key and value elements of one head."""
    kv_heads: int
    context_tokens: int
    quantization: str | None
    weights_bytes: int

    def bytes_per_token(self, element_bytes: int, attention_tp: int) -> int:
        """KV bytes that one token takes on one rank."""
        heads = 1 if self.mla else max(1, self.kv_heads // attention_tp)
        return heads * self.token_width * self.layers * element_bytes


def read_model(folder: str) -> Model:
    """Read config.json and the size of the weights; raises OSError without a config."""
    path = Path(folder)
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    text: dict[str, Any] = {**config, **config.get("text_config", {})}
    mla = "kv_lora_rank" in text
    heads = text["num_attention_heads"]
    head_dim = text.get("head_dim") or text["hidden_size"] // heads
    quantization = text.get("quantization_config") or {}
    return Model(
        architecture=config["architectures"][0],
        multimodal="vision_config" in config,
        mla=mla,
        layers=text["num_hidden_layers"],
        token_width=text["kv_lora_rank"] + text["qk_rope_head_dim"] if mla else 2 * head_dim,
        kv_heads=text.get("num_key_value_heads", heads),
        context_tokens=text["max_position_embeddings"],
        quantization=quantization.get("quant_method"),
        weights_bytes=_weights_bytes(path),
    )


def _weights_bytes(path: Path) -> int:
    index = path / "model.safetensors.index.json"
    if index.exists():
        size = json.loads(index.read_text(encoding="utf-8"))["metadata"]["total_size"]
        return int(size)
    return sum(file.stat().st_size for file in path.glob("*.safetensors"))


@dataclass(frozen=True)
class HostPool:
    """One host pool of one rank."""

    label: str
    tokens: int
    size_bytes: int
    mla: bool


@dataclass
class HostOutcome:
    """What happened to the host pools of one rank."""

    pools: list[HostPool] = field(default_factory=list)
    error: Exception | None = None
    killed: bool = False


@dataclass(frozen=True)
class Sizes:
    """All sizes of one start. Bytes are per rank."""

    model: Model
    draft: Model | None
    before_load_bytes: int
    """Free GPU memory before the first weight."""
    mem_fraction: float
    weights_bytes: int
    draft_weights_bytes: int
    token_bytes: int
    draft_token_bytes: int
    multimodal_bytes: int
    tokens: int
    context_tokens: int


def attention_tp(args: ServerArgs) -> int:
    """Ranks that share the attention heads of one replica."""
    return int(args.tp_size // args.dp_size if args.enable_dp_attention else args.tp_size)


def compute_sizes(args: ServerArgs, gpus: Gpus, tiny: bool) -> Sizes:
    """Size everything on the GPU. `tiny` leaves next to nothing for the pool."""
    model = read_model(args.model_path)
    draft = read_model(args.speculative_draft_model_path) if args.speculates else None
    fraction = args.mem_fraction_static or default_mem_fraction(args, model, gpus.memory_bytes)
    element = 1 if "fp8" in args.kv_cache_dtype else 2
    token_bytes = model.bytes_per_token(element, attention_tp(args))
    weights = model.weights_bytes // args.ranks
    draft_weights = draft.weights_bytes // args.tp_size if draft else 0
    reserved = 0
    if VERSION >= "0.5.18" and model.multimodal:
        reserved = int(os.environ.get("SGLANG_VLM_CACHE_SIZE_MB") or 100) * 2**20

    before = gpus.memory_bytes - CONTEXT_BYTES
    rest = before - weights - int(before * (1 - fraction)) - reserved
    cell = float(token_bytes)
    if draft and VERSION >= "0.5.14":
        rest -= draft_weights
        cell *= (model.layers + draft.layers) / model.layers
    page = args.page_size
    tokens = int(rest // cell) // page * page
    if args.max_total_tokens:
        tokens = min(tokens, args.max_total_tokens)
    return Sizes(
        model=model,
        draft=draft,
        before_load_bytes=before,
        mem_fraction=fraction,
        weights_bytes=weights,
        draft_weights_bytes=draft_weights,
        token_bytes=token_bytes,
        draft_token_bytes=draft.bytes_per_token(element, attention_tp(args)) if draft else 0,
        multimodal_bytes=reserved,
        tokens=min(tokens, 2048) if tiny else tokens,
        context_tokens=args.context_length or model.context_tokens,
    )


def default_mem_fraction(args: ServerArgs, model: Model, gpu_bytes: int) -> float:
    """Return the fraction the engine picks on a large GPU when none is given."""
    total_mib = gpu_bytes / 2**20
    reserved_mib = 512 + 1.5 * args.chunked_prefill_size + args.ranks / 8 * 1024 + 1024
    if total_mib > 60 * 1024:
        reserved_mib = max(reserved_mib, 10 * 1024)
    factor = 0.909 if model.multimodal else 1.0
    return float(round((total_mib - reserved_mib) / total_mib * factor, 3))


def check_device_pool(args: ServerArgs, sizes: Sizes) -> None:
    """Raise as the engine does when the weights leave no room for the pool."""
    if sizes.tokens > 0:
        return
    if VERSION < "0.5.14":
        raise RuntimeError(
            "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
            f"self.server_args.mem_fraction_static={sizes.mem_fraction}"
        )
    minimum = (sizes.weights_bytes + sizes.draft_weights_bytes) / sizes.before_load_bytes
    raise ValueError(
        "Loaded weights leave no GPU memory for the KV cache under "
        f"--mem-fraction-static={sizes.mem_fraction}. Raise --mem-fraction-static above "
        f"{minimum + 0.02:.3f} (minimum viable = 1 - available/pre = {minimum:.4f}). If using "
        "speculative decoding, draft weights are now counted."
    )


def host_pools(args: ServerArgs, sizes: Sizes, ratio: float) -> list[HostPool]:
    """Return the pools each rank wants, in the order it asks for them."""
    page = args.page_size
    if args.hicache_size:
        tokens = int(args.hicache_size * 1e9 // sizes.token_bytes)
    else:
        tokens = int(sizes.tokens * ratio)
    spare_page = 0 if VERSION < "0.5.5" else 1
    tokens = (tokens // page + spare_page) * page
    pools = [HostPool("kv", tokens, tokens * sizes.token_bytes, sizes.model.mla)]
    if sizes.draft and VERSION >= "0.5.11":
        size_bytes = tokens * sizes.draft_token_bytes
        pools.append(HostPool("draft", tokens, size_bytes, sizes.draft.mla))
    return pools


def auto_ratio(args: ServerArgs, sizes: Sizes, memory: HostMemory) -> float:
    """Return the ratio of the engine's own sizing; raises ValueError without any room."""
    budget = args.hicache_host_memory_fraction * memory.budget(0, args.ranks)
    if budget <= 0:
        raise ValueError(
            "No host memory is left for HiCache after the 10 GiB reserve; set --hicache-ratio or "
            "--hicache-size explicitly."
        )
    device_bytes = sizes.tokens * (sizes.token_bytes + sizes.draft_token_bytes)
    return float(min(2.0, budget * 0.95 / device_bytes))


def sizes_itself(args: ServerArgs) -> bool:
    """Whether the engine sizes the host pools: neither ratio nor size was given."""
    return VERSION >= "0.5.21" and not args.hicache_ratio and not args.hicache_size


def allocate_host(args: ServerArgs, sizes: Sizes, memory: HostMemory) -> list[HostOutcome]:
    """Return what every rank gets, by the guard and by the order in which they ask and pin.

    The kernel kills the rank whose pool no longer fits.
    """
    outcomes = [HostOutcome() for _rank in range(args.ranks)]
    try:
        ratio = auto_ratio(args, sizes, memory) if sizes_itself(args) else args.hicache_ratio or 2.0
    except ValueError as error:
        return [HostOutcome(error=error) for _rank in outcomes]
    pools = host_pools(args, sizes, ratio)
    pinned = 0
    for step in steps(args.ranks, len(pools)):
        outcome, pool = outcomes[step.rank], pools[step.pool]
        if outcome.error:
            continue
        if step.pins:
            pinned += pool.size_bytes
            outcome.killed = pinned > memory.available_bytes
            if outcome.killed:
                break
            continue
        # Its own sizing reads the memory once, before anything is pinned.
        budget = memory.budget(0 if sizes_itself(args) else pinned, args.ranks)
        outcome.error = _refusal(pool, sizes, budget)
        if not outcome.error:
            outcome.pools.append(pool)
    return outcomes


def _refusal(pool: HostPool, sizes: Sizes, budget_bytes: int) -> Exception | None:
    if VERSION < "0.5.15" and pool.tokens <= sizes.tokens:
        return AssertionError(
            "The host memory should be larger than the device memory with the current protocol"
        )
    if pool.size_bytes <= budget_bytes:
        return None
    return ValueError(
        f"Not enough host memory available. Requesting {pool.size_bytes / 1e9:.2f} GB but only "
        f"have {budget_bytes / 1e9:.2f} GB free. Please reduce the size of the hierarchical cache."
    )

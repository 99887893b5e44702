# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts and wishes that the tests of the plan start from."""

from __future__ import annotations

from typing import Any

GIB = 2**30
MIB = 2**20

LATENT_MODEL: dict[str, Any] = {
    "attention": "mla",
    "layers": 61,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "context_tokens": 262_144,
    "weights_bytes": 547 * 10**9,
    "multimodal": True,
}
"""576 latent elements x 61 layers x 2 B = 70,272 B per token on every rank."""

SMALL_DRAFT: dict[str, Any] = {
    "attention": "gqa",
    "layers": 1,
    "heads": 64,
    "kv_heads": 64,
    "head_dim": 128,
}
"""At TP 8: 8 heads x (128 + 128) x 1 layer x 2 B = 4,096 B per token and rank."""

GROUPED_MODEL: dict[str, Any] = {
    "attention": "gqa",
    "layers": 32,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "context_tokens": 131_072,
    "weights_bytes": 16 * 10**9,
    "multimodal": False,
}
"""2 x 8 heads x 128 x 32 layers x 2 B = 131,072 B per token over all ranks."""

SPARSE_MODEL: dict[str, Any] = {
    "attention": "mla",
    "architecture": "GlmMoeDsaForCausalLM",
    "layers": 78,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "context_tokens": 202_752,
    "weights_bytes": 440 * 10**9,
    "multimodal": False,
}
"""(576 x 2 + 132) bytes x 78 layers = 100,152 B per token on every rank, in 16 bits."""

WINDOW_MODEL: dict[str, Any] = {
    "attention": "swa",
    "architecture": "GptOssForCausalLM",
    "layers": 24,
    "layer_kinds": "sf" * 12,
    "heads": 64,
    "kv_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "context_tokens": 131_072,
    "weights_bytes": 14 * 10**9,
    "multimodal": False,
}
"""8 heads x 128 x 12 layers x 2 B = 24,576 B per token over all ranks, in either pool."""

DELTA_MODEL: dict[str, Any] = {
    "attention": "hybrid",
    "architecture": "Qwen3NextForCausalLM",
    "layers": 48,
    "layer_kinds": "rrrf" * 12,
    "heads": 16,
    "kv_heads": 2,
    "head_dim": 256,
    "state_elements": 32 * 128 * 128,
    "state_conv_elements": 4_096 * 3,
    "state_groups": 16,
    "state_group_elements": 256 * 3,
    "context_tokens": 262_144,
    "weights_bytes": 160 * 10**9,
    "multimodal": False,
}
"""12 layers keep tokens, 36 keep a state of 32 heads x 128 x 128 and a window of convolution."""


def host(
    version: str = "0.5.23",
    *,
    tokens: int | None = 159_300,
    available_gib: float = 396,
    model: dict[str, Any] | None = None,
    draft: dict[str, Any] | None = None,
    gpus: int = 8,
    gpu_mib: int = 97_887,
    argv: list[str] | None = None,
    startup: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
    running: bool = True,
) -> dict[str, Any]:
    """Facts of a host; by default the eight-GPU one whose device pool was measured."""
    devices = [
        {"index": index, "memory_total_bytes": gpu_mib * MIB, "memory_kind": "dedicated"}
        for index in range(gpus)
    ]
    found = {"max_total_num_tokens": tokens, "state": "ready" if tokens else "absent"}
    return {
        "engine": {"version": version},
        "gpu": {"devices": devices},
        "memory": {
            "available_bytes": int(available_gib * GIB),
            "hugepages": [],
            "numa": [],
            "cgroup": {"version": 2, "limits": [], "headroom_bytes": None},
            "memlock_bytes": None,
            "instance": {"shmem_bytes": 0, "rss_bytes": None},
            **(memory or {}),
        },
        "model": LATENT_MODEL if model is None else model,
        "draft": draft,
        "server": {
            "active_state": "active" if running else "inactive",
            "main_pid": 4711 if running else None,
            "argv": argv,
            "startup": {**found, **(startup or {})},
            "info": None,
        },
    }


def wishes(**changes: Any) -> dict[str, Any]:
    """Role variables as the role would default them, changed by name without their prefix."""
    plain: dict[str, Any] = {
        "instance": "kimi",
        "engine_version": "0.5.23",
        "model_draft_path": "",
        "tp_size": 8,
        "pp_size": 1,
        "dp_size": 1,
        "enable_dp_attention": False,
        "context_length": None,
        "mem_fraction_static": None,
        "max_total_tokens": None,
        "page_size": None,
        "kv_cache_dtype": "auto",
        "speculative_algorithm": None,
        "hicache_mode": "auto",
        "hicache_ratio": None,
        "hicache_size_gb": None,
        "hicache_host_memory_fraction": None,
        "hicache_ratio_max": 8.0,
        "hicache_budget_gib": None,
        "hicache_reserve_gib": 10,
        "hicache_headroom_gib": 0,
        "plan_context_tokens": 32_768,
        "environment": {},
        "extra_args": {},
    }
    return {f"sglang_{name}": value for name, value in {**plain, **changes}.items()}


def drafting(**changes: Any) -> dict[str, Any]:
    """The same wishes with a draft model of its own."""
    draft = {"model_draft_path": "/models/draft", "speculative_algorithm": "EAGLE3"}
    return wishes(**{**draft, **changes})


def ids(capacity: dict[str, Any], severity: str | None = None) -> set[str]:
    """Ids of the findings, of one severity or of all."""
    return {
        entry["id"]
        for entry in capacity["findings"]
        if severity is None or entry["severity"] == severity
    }


def option(capacity: dict[str, Any], title: str) -> dict[str, Any]:
    """The option whose title begins with these words."""
    return next(entry for entry in capacity["options"] if entry["title"].startswith(title))

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of arguments, environment, rules and unit start from."""

from __future__ import annotations

from typing import Any

_DEFAULTS: dict[str, Any] = {
    "instance": "kimi",
    "user": "sglang",
    "group": "sglang",
    "engine_path": "/opt/sglang/engine",
    "engine_version": "0.5.23",
    "model_path": "/srv/models/small",
    "model_draft_path": "",
    "served_model_name": "small",
    "host": "127.0.0.1",
    "port": 30000,
    "tp_size": 1,
    "pp_size": 1,
    "dp_size": 1,
    "ep_size": 1,
    "enable_dp_attention": False,
    "context_length": None,
    "mem_fraction_static": None,
    "max_total_tokens": None,
    "max_running_requests": None,
    "chunked_prefill_size": None,
    "page_size": None,
    "kv_cache_dtype": "auto",
    "dtype": None,
    "quantization": None,
    "attention_backend": None,
    "moe_runner_backend": None,
    "trust_remote_code": False,
    "tool_call_parser": None,
    "reasoning_parser": None,
    "speculative_algorithm": None,
    "speculative_num_steps": None,
    "speculative_eagle_topk": None,
    "speculative_num_draft_tokens": None,
    "speculative_draft_attention_backend": None,
    "overlap_schedule": True,
    "cuda_graph_max_bs": None,
    "disable_cuda_graph": False,
    "allreduce_fusion": "auto",
    "custom_all_reduce": "auto",
    "nccl_profile": "auto",
    "enable_metrics": True,
    "enable_cache_report": True,
    "log_level": "info",
    "decode_log_interval": None,
    "dist_timeout_s": None,
    "watchdog_timeout_s": None,
    "hicache_mode": "off",
    "hicache_ratio": None,
    "hicache_size_gb": None,
    "hicache_host_memory_fraction": None,
    "hicache_write_policy": None,
    "hicache_io_backend": None,
    "hicache_mem_layout": None,
    "environment": {},
    "extra_args": {},
    "drain_timeout_s": 300,
    "start_timeout_s": None,
    "offline": True,
    "secrets_present": False,
}

EAGLE3: dict[str, Any] = {
    "speculative_algorithm": "EAGLE3",
    "model_draft_path": "/srv/models/draft",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
}

HEADLINE: dict[str, Any] = {
    **EAGLE3,
    "model_path": "/srv/models/kimi-k2.5",
    "served_model_name": "kimi-k2.5",
    "tp_size": 8,
    "mem_fraction_static": 0.87,
    "trust_remote_code": True,
    "tool_call_parser": "kimi_k2",
    "reasoning_parser": "kimi_k2",
    "cuda_graph_max_bs": 32,
    "hicache_mode": "auto",
    "secrets_present": True,
}


def wishes(**changes: Any) -> dict[str, Any]:
    """Role variables with their defaults, changed by name without their prefix."""
    return {f"sglang_{name}": value for name, value in {**_DEFAULTS, **changes}.items()}


def capacity(
    mode: str = "off", *, version: str = "0.5.23", bytes_node: int = 0, **host: Any
) -> dict[str, Any]:
    """As much of a capacity plan as arguments and unit look at."""
    numbers = {"ratio": None, "size_gb": None, "fraction": None, **host}
    return {"engine_version": version, "host": {"mode": mode, "bytes_node": bytes_node, **numbers}}


def facts(
    *,
    gpus: int = 8,
    capability: str | None = "12.0",
    topology: str | None = "NODE",
    model: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Facts of a host with equal GPUs."""
    devices = [{"index": index, "compute_capability": capability} for index in range(gpus)]
    return {"gpu": {"devices": devices, "topology": topology}, "model": model or {}, **more}

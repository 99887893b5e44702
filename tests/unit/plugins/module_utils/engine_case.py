# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of arguments, environment, rules and unit start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_ROLE = Path(__file__).resolve().parents[4] / "roles" / "sglang"
_DEFAULTS: dict[str, Any] = {
    **yaml.safe_load((_ROLE / "defaults" / "main.yml").read_text(encoding="utf-8")),
    "sglang_engine_path": "/opt/sglang/engine",
    "sglang_model_path": "/srv/models/small",
    "sglang_served_model_name": "small",
    "sglang_hicache_mode": "off",
    "sglang_secrets_present": False,
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
    return {**_DEFAULTS, **{f"sglang_{name}": value for name, value in changes.items()}}


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

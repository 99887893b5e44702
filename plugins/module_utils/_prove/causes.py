# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person can do about each cause of a failed start.

Private to the collection. The causes are those of _engine/log_lines.py.
"""

from __future__ import annotations

REMEDIES: dict[str, str] = {
    "host_memory_guard": (
        "the engine found too little free RAM for its host pool: stop what else holds memory, or "
        "plan a smaller pool (sglang_hicache_ratio, sglang_hicache_budget_gib)"
    ),
    "host_pool_too_small": (
        "this version needs a host pool larger than the device pool: raise sglang_hicache_ratio "
        "above 1, or set sglang_hicache_mode: off"
    ),
    "host_registration": (
        "the driver refused to pin the host pool: check LimitMEMLOCK of the unit, and plan less "
        "than 512 GiB per rank (sglang_hicache_budget_gib)"
    ),
    "host_oom_kill": (
        "the kernel ended a rank for lack of RAM: plan a smaller pool (sglang_hicache_ratio) or "
        "keep more free (sglang_hicache_reserve_gib)"
    ),
    "device_memory_pool": (
        "the weights leave too little GPU memory for the KV pool: adjust "
        "sglang_mem_fraction_static, or use more GPUs (sglang_tp_size)"
    ),
    "device_out_of_memory": (
        "a GPU ran out of memory: lower sglang_mem_fraction_static or sglang_cuda_graph_max_bs, "
        "and look for other processes on the GPU"
    ),
    "kv_pool_exhausted": (
        "not even one request fits the KV pool: lower sglang_context_length or raise "
        "sglang_mem_fraction_static"
    ),
    "memory_unbalanced": (
        "the GPUs have unequal free memory: end the other process on the fullest one (nvidia-smi)"
    ),
    "load_timeout": (
        "a rank loaded its weights much later than the others: use faster storage, or a model "
        "that fits the page cache, and start again while it is warm"
    ),
    "allreduce_fusion": (
        "all-reduce fusion does not work on this GPU: set sglang_allreduce_fusion: off"
    ),
    "watchdog": (
        "a scheduler made no progress: read the journal before this line; a very slow first "
        "step may need sglang_watchdog_timeout_s"
    ),
    "collective_timeout": (
        "ranks lost each other: check the GPU links and NCCL settings (sglang_nccl_profile); a "
        "slow load may need sglang_dist_timeout_s"
    ),
    "gpu_lost": "a GPU fell off the bus: drain the host, reset or reboot it, check its cooling",
    "driver": (
        "CUDA does not work on this host: check nvidia-smi, reload the driver or reboot; on "
        "NVSwitch hosts check the fabric manager"
    ),
    "arguments": (
        "the engine refused its command line: correct the variable behind that flag, or "
        "sglang_extra_args"
    ),
    "port_taken": "another process holds the port: stop it, or set sglang_port",
    "weights_unreadable": (
        "weight files are missing or damaged: fetch them again (sglang_model_path, "
        "sglang_model_draft_path)"
    ),
    "graph_capture": (
        "CUDA graph capture failed: lower sglang_cuda_graph_max_bs, or set "
        "sglang_disable_cuda_graph: true to start without graphs"
    ),
    "warmup": "the server came up but could not answer: read the journal before this line",
    "exception": "the engine raised an exception: read the journal before this line",
    "child_died": "a child of the server died: read the journal before this line",
    "start_timeout": "systemd gave up waiting: raise sglang_start_timeout_s",
    "exit": "the process ended without saying why: read its journal",
}


def remedy_for(cause: str | None) -> str:
    """Return what helps against a cause; for one that is not known, where to look."""
    return REMEDIES.get(cause or "", REMEDIES["exit"])

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The KV cache on the device, in RAM and behind it. Private to the collection."""

from __future__ import annotations

from .arguments import EXTRA
from .case import Case, Rule

_WINDOW_RESET = ("Step3p5", "MiMoV2")


def _ratio(case: Case) -> float | None:
    text = case.argument("--hicache-ratio")
    return float(text) if text else None


def _shards_context(case: Case) -> bool:
    return case.has_hicache and int(case.argument("--dcp-size") or 1) > 1


RULES: tuple[Rule, ...] = (
    Rule(
        "ENG-401",
        "refuse",
        EXTRA,
        lambda case: case.has_hicache and case.argument("--disable-radix-cache") is not None,
        "HiCache extends the radix cache, which --disable-radix-cache turns off",
        "remove --disable-radix-cache from sglang_extra_args, or set sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py: mutually exclusive",
    ),
    Rule(
        "ENG-402",
        "refuse",
        EXTRA,
        lambda case: case.has_hicache and case.argument("--enable-lmcache") is not None,
        "HiCache and LMCache cannot both keep the KV cache",
        "remove --enable-lmcache from sglang_extra_args, or set sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-403",
        "warn",
        "sglang_hicache_io_backend",
        lambda case: (
            case.has_hicache
            and case.decode_backend == "fa3"
            and case.wish("hicache_io_backend") in (None, "kernel")
            and case.version < "0.5.14"
        ),
        "SGLang {case.version} cannot combine FA3 decoding with kernel I/O of HiCache and replaces "
        "one of them by itself",
        "set sglang_hicache_io_backend: direct, or install 0.5.14 or later",
        "0.5.13 server_args.py: FlashAttention3 decode backend is not compatible",
    ),
    Rule(
        "ENG-404",
        "refuse",
        "sglang_kv_cache_dtype",
        lambda case: case.has_hicache and "fp4" in case.kv_cache_dtype,
        "HiCache does not keep a KV cache of type {case.kv_cache_dtype}",
        "set sglang_kv_cache_dtype: fp8_e4m3 or auto, or sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-405",
        "warn",
        "sglang_kv_cache_dtype",
        lambda case: case.is_kimi_k25 and case.has_sm120 and case.kv_cache_dtype.startswith("fp8"),
        "with an fp8 KV cache the original Kimi-K2.5 checkpoint decodes at about a fifth of the "
        "speed on compute capability 12.x",
        "set sglang_kv_cache_dtype: auto",
        "operators' measurements: 16 tokens/s instead of 90",
    ),
    Rule(
        "ENG-406",
        "refuse",
        "sglang_hicache_host_memory_fraction",
        lambda case: (
            case.wish("hicache_host_memory_fraction") is not None
            and not 0 < float(case.wish("hicache_host_memory_fraction")) <= 1
        ),
        "sglang_hicache_host_memory_fraction must be above 0 and at most 1",
        "give the share of the free RAM, for example 0.8",
        "0.5.21 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-407",
        "advise",
        "sglang_hicache_mem_layout",
        lambda case: (
            case.has_hicache
            and (case.wish("hicache_mem_layout"), case.wish("hicache_io_backend"))
            in (("page_first", "direct"), ("page_first_direct", "kernel"))
        ),
        "layout {case.wishes[sglang_hicache_mem_layout]} does not go with I/O "
        "{case.wishes[sglang_hicache_io_backend]}; the engine uses page_first_direct and direct",
        "set page_first with kernel, or page_first_direct with direct",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-408",
        "refuse",
        "sglang_hicache_ratio",
        lambda case: (_ratio(case) or 2) <= 1 and case.version < "0.5.15",
        "SGLang {case.version} wants a host pool larger than the device pool",
        "set sglang_hicache_ratio above 1, or sglang_hicache_mode: off",
        "0.5.14 mem_cache: host memory should be larger than the device memory",
    ),
    Rule(
        "ENG-409",
        "warn",
        "sglang_hicache_ratio",
        lambda case: (_ratio(case) or 2) <= 1 and case.version >= "0.5.15",
        "a host pool no larger than the device pool adds no context: it holds copies of the same "
        "tokens",
        "set sglang_hicache_ratio above 1, or sglang_hicache_mode: off",
        "0.5.15 mem_cache/pool_host/base.py",
    ),
    Rule(
        "ENG-410",
        "refuse",
        "sglang_hicache_size_gb",
        lambda case: (
            (case.architecture or "").startswith("DeepseekV4")
            and case.argument("--hicache-size") is not None
            and case.version >= "0.5.12"
        ),
        "HiCache for DeepSeek-V4 takes a ratio, not a size",
        "set sglang_hicache_mode: ratio",
        "0.5.12.post1 mem_cache",
    ),
    Rule(
        "ENG-411",
        "refuse",
        EXTRA,
        lambda case: (
            case.argument("--hicache-host-memory-mode") == "buffer_only"
            and case.argument("--hicache-storage-backend") is None
        ),
        "a host pool that is only a buffer needs a storage backend behind it",
        "set sglang_hicache_storage_backend, or use the mode cache",
        "0.5.19 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-412",
        "refuse",
        "sglang_mem_fraction_static",
        lambda case: (
            case.wish("mem_fraction_static") is not None
            and not 0 < float(case.wish("mem_fraction_static")) < 1
        ),
        "sglang_mem_fraction_static is a share of the GPU memory between 0 and 1",
        "give a share, for example 0.87",
        "the pool is what is left of this share after the weights",
    ),
    Rule(
        "ENG-413",
        "refuse",
        EXTRA,
        lambda case: (
            case.has_hicache and case.argument("--enable-unified-cache-external-linker") is not None
        ),
        "HiCache and the external linker cannot both keep the KV cache",
        "remove --enable-unified-cache-external-linker from sglang_extra_args, or set "
        "sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-414",
        "advise",
        "sglang_hicache_write_policy",
        lambda case: (
            case.has_hicache
            and case.argument("--hicache-host-memory-mode") == "buffer_only"
            and case.wish("hicache_write_policy") == "write_back"
        ),
        "a host pool that is only a buffer is written through: the engine changes write_back",
        "set sglang_hicache_write_policy: write_through",
        "0.5.19 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-415",
        "refuse",
        EXTRA,
        lambda case: (
            case.has_hicache
            and case.argument("--enable-unified-memory") is not None
            and (case.version < "0.5.21" or case.is_eagle)
        ),
        "SGLang {case.version} has no unified memory together with HiCache; later ones have it "
        "without EAGLE",
        "remove --enable-unified-memory from sglang_extra_args, or set sglang_hicache_mode: off",
        "0.5.15 server_args.py; 0.5.21 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-416",
        "refuse",
        EXTRA,
        lambda case: _shards_context(case) and case.attention not in (None, "mla"),
        "HiCache works with --dcp-size above 1 for MLA models alone; this one has {case.attention} "
        "attention",
        "remove --dcp-size from sglang_extra_args, or set sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-417",
        "refuse",
        EXTRA,
        lambda case: _shards_context(case) and case.algorithm not in ("", "DSPARK"),
        "with --dcp-size above 1 and HiCache the engine speculates with DSPARK alone, not with "
        "{case.algorithm}",
        "remove --dcp-size from sglang_extra_args, or sglang_speculative_algorithm",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-418",
        "refuse",
        "sglang_hicache_storage_backend",
        lambda case: (
            _shards_context(case)
            and bool(case.wish("hicache_storage_backend"))
            and case.between("0.5.17", "0.5.23")
        ),
        "SGLang {case.version} has no store behind HiCache with --dcp-size above 1",
        "remove sglang_hicache_storage_backend, or install 0.5.23 or later",
        "0.5.17 to 0.5.22 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-419",
        "refuse",
        EXTRA,
        lambda case: (
            case.has_hicache and case.argument("--enable-int8-mamba-checkpoint") is not None
        ),
        "HiCache does not copy recurrent states that are kept in 8 bits",
        "remove --enable-int8-mamba-checkpoint from sglang_extra_args, or set "
        "sglang_hicache_mode: off",
        "arg_groups: not supported together",
    ),
    Rule(
        "ENG-420",
        "warn",
        "sglang_hicache_mode",
        lambda case: case.has_hicache and case.argument("--dllm-algorithm") is not None,
        "a diffusion model has no HiCache: the engine turns it off",
        "set sglang_hicache_mode: off",
        "server_args.py _handle_dllm_inference",
    ),
    Rule(
        "ENG-421",
        "advise",
        "sglang_hicache_mem_layout",
        lambda case: (
            case.has_hicache
            and case.wish("hicache_storage_backend") == "mooncake"
            and case.wish("hicache_mem_layout") == "layer_first"
        ),
        "mooncake does not store layer_first; the engine takes a layout by pages",
        "set sglang_hicache_mem_layout: page_first",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-422",
        "advise",
        "sglang_cuda_graph_backend_prefill",
        lambda case: (
            case.has_hicache and case.wish("cuda_graph_backend_prefill") not in (None, "disabled")
        ),
        "with HiCache the engine captures no CUDA graphs for the prefill, whatever is asked",
        "remove sglang_cuda_graph_backend_prefill",
        "0.5.10 server_args.py; 0.5.14 arg_groups",
    ),
    Rule(
        "ENG-423",
        "advise",
        EXTRA,
        lambda case: (
            case.has_hicache
            and (case.architecture or "").startswith(_WINDOW_RESET)
            and case.argument("--swa-full-tokens-ratio") is not None
        ),
        "with HiCache the engine puts 1.0 in place of --swa-full-tokens-ratio for this model",
        "remove --swa-full-tokens-ratio from sglang_extra_args",
        "arg_groups: swa_full_tokens_ratio",
    ),
    Rule(
        "ENG-424",
        "refuse",
        "sglang_hicache_size_gb",
        lambda case: (
            case.argument("--hicache-size") is not None
            and case.attention in ("swa", "hybrid")
            and case.version < "0.5.18"
        ),
        "SGLang {case.version} gives each pool of a model with a window or a state the whole size: "
        "it would take a multiple of {case.wishes[sglang_hicache_size_gb]} GB a rank",
        "set sglang_hicache_mode: ratio or auto, or install 0.5.18 or later",
        "sgl-project/sglang pull request 32373",
    ),
    Rule(
        "ENG-425",
        "advise",
        "sglang_hicache_host_memory_fraction",
        lambda case: (
            case.wish("hicache_host_memory_fraction") is not None
            and case.wish("hicache_mode") != "engine_auto"
        ),
        "the fraction counts only where the engine sizes the host pool by itself",
        "set sglang_hicache_mode: engine_auto, or remove sglang_hicache_host_memory_fraction",
        "0.5.21 arg_groups/kv_cache_hook.py: an explicit ratio or size turns it off",
    ),
    Rule(
        "ENG-426",
        "warn",
        "sglang_hicache_storage_backend",
        lambda case: bool(case.wish("hicache_storage_backend")) and not case.has_hicache,
        "a store lies behind a host tier, and there is none",
        "set sglang_hicache_mode, or remove sglang_hicache_storage_backend",
        "the store is filled from the host pool",
    ),
)

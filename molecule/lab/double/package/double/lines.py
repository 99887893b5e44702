# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log lines of a start, in the words of the version.

Upstream writes GiB under the name GB, except for host pools, which are in 10^9 bytes.
"""

from __future__ import annotations

import os
import sys
import time

from .args import VERSION, ServerArgs
from .host import GIB, HostMemory
from .pools import HostPool, Model, Sizes


def say(message: str, label: str = "") -> None:
    """Write one log line in a single write, so that ranks never mix within a line."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    os.write(sys.stderr.fileno(), f"[{stamp}{label}] {message}\n".encode())


def label_of(args: ServerArgs, rank: int) -> str:
    """Return the part of the prefix that names a rank, e.g. " DP1 TP4"."""
    tp_rank, pp_rank = rank % args.tp_size, rank // args.tp_size
    parts = []
    if args.enable_dp_attention and args.dp_size > 1:
        parts.append(f"DP{tp_rank // (args.tp_size // args.dp_size)}")
    if args.pp_size > 1:
        parts.append(f"PP{pp_rank}")
    if args.tp_size > 1:
        parts.append(f"TP{tp_rank}")
    if args.ep_size > 1:
        parts.append(f"EP{tp_rank // (args.tp_size // args.ep_size)}")
    return "".join(f" {part}" for part in parts)


def gib(size_bytes: float) -> str:
    """Return a size as upstream prints it."""
    return f"{size_bytes / GIB:.2f} GB"


def server_args(args: ServerArgs) -> str:
    """Everything that was asked for, keys and secrets included, as upstream logs it."""
    if VERSION >= "0.5.19":
        return f"server_args={args.values!r}"
    return f"server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in args.values.items())})"


def init_begin() -> str:
    """Communication between the ranks starts."""
    return "Init parallel begin." if VERSION >= "0.5.21" else "Init torch distributed begin."


def init_end(elapsed_s: float) -> list[str]:
    """Communication between the ranks stands."""
    usage = "mem usage=0.43 GB"
    if VERSION >= "0.5.21":
        return [f"Init parallel ends. elapsed={elapsed_s:.2f} s", f"Memory baseline taken. {usage}"]
    elapsed = f"elapsed={elapsed_s:.2f} s, " if VERSION >= "0.5.9" else ""
    return [f"Init torch distributed ends. {elapsed}{usage}"]


def load_begin(free_bytes: int) -> str:
    """Weights start to load."""
    return f"Load weight begin. avail mem={gib(free_bytes)}"


def load_end(model: Model, elapsed_s: float, free_bytes: int, used_bytes: int) -> str:
    """Weights are on the GPU."""
    elapsed = f"elapsed={elapsed_s:.2f} s, " if VERSION >= "0.5.9" else ""
    if VERSION < "0.5.10":
        kind = "dtype=torch.bfloat16, "
    else:
        kind = f"quant={model.quantization}, " if model.quantization else ""
    memory = f"avail mem={gib(free_bytes)}, mem usage={gib(used_bytes)}."
    return f"Load weight end. {elapsed}type={model.architecture}, {kind}{memory}"


def load_barrier(rank: int) -> str:
    """Another rank takes too long to load."""
    return (
        f"TP rank {rank} could finish the model loading, but there are other ranks that didn't "
        "finish loading. It is likely due to unexpected failures (e.g., OOM) or a slow node."
    )


def multimodal_reserve(size_bytes: int) -> str:
    """The part of the budget that a multimodal model keeps."""
    return (
        f"Reserving {gib(size_bytes)} of the KV budget for post-sizing multimodal allocations "
        "(feature-transport pools + embedding cache)."
    )


def device_pool(args: ServerArgs, tokens: int, size_bytes: int, mla: bool) -> str:
    """A device pool exists."""
    dtype = {"auto": "bfloat16", "fp8_e4m3": "float8_e4m3fn"}.get(
        args.kv_cache_dtype, args.kv_cache_dtype.replace("fp8", "float8")
    )
    kind = f"dtype: torch.{dtype}, " if VERSION >= "0.5.13" else ""
    half = gib(size_bytes / 2)
    sizes = f"KV size: {gib(size_bytes)}" if mla else f"K size: {half}, V size: {half}"
    return f"KV Cache is allocated. {kind}#tokens: {tokens}, {sizes}"


def pools_end(free_bytes: int) -> str:
    """All device pools of one model exist."""
    return f"Memory pool end. avail mem={gib(free_bytes)}"


def graph_lines(
    name: str,
    requests: int,
    tokens_each: int,
    elapsed_s: float,
    before_bytes: int,
    after_bytes: int,
) -> tuple[str, str]:
    """Begin and end of one graph capture. `name` is "target", "draft" or "draft extend"."""
    before, after, used = gib(before_bytes), gib(after_bytes), gib(before_bytes - after_bytes)
    if VERSION < "0.5.14":
        what = "cuda graph" if name == "target" else f"{name} cuda graph"
        return (
            f"Capture {what} begin. This can take up to several minutes. avail mem={before}",
            f"Capture {what} end. Time elapsed: {elapsed_s:.2f} s. mem usage={used}. "
            f"avail mem={after}.",
        )
    phase = {"target": "verify" if tokens_each > 1 else "decode", "draft": "decode"}.get(name)
    what = f"{name} {phase}" if phase else name
    batch = f"bs={[1, 2, *range(4, requests + 1, 4)]}, "
    per = "num_tokens_per_bs" if VERSION < "0.5.16" else "num_tokens_per_req"
    late_batch = VERSION >= "0.5.22" and name == "target"
    return (
        f"Capture {what} CUDA graph begin. backend=full, {per}={tokens_each}, "
        f"{'' if late_batch else batch}avail mem={before}",
        f"Capture {what} CUDA graph end. {batch if late_batch else ''}elapsed={elapsed_s:.2f} s, "
        f"mem usage={used}, avail mem={after}.",
    )


def capacity(args: ServerArgs, sizes: Sizes, running: int, free_bytes: int) -> str:
    """The one line per replica that says how much it holds."""
    return (
        f"max_total_num_tokens={sizes.tokens}, chunked_prefill_size={args.chunked_prefill_size}, "
        f"max_prefill_tokens={args.max_prefill_tokens}, max_running_requests={running}, "
        f"context_len={sizes.context_tokens}, available_gpu_mem={gib(free_bytes)}"
    )


def headroom(memory: HostMemory) -> str | None:
    """What a rank says about host memory before it sizes a pool."""
    if VERSION < "0.5.21":
        return None
    if memory.headroom_bytes is None:
        return "Cannot determine cgroup memory headroom: no memory control group was found"
    return (
        f"HiCache memory headroom: host {memory.available_bytes / GIB:.1f} GiB, "
        f"cgroup {memory.headroom_bytes / GIB:.1f} GiB"
    )


def auto_sizing(args: ServerArgs, ratio: float, budget_bytes: int, pools_bytes: int) -> str:
    """The result of the engine's own sizing."""
    fraction = args.hicache_host_memory_fraction
    return (
        f"HiCache auto-sizing: ratio 2.000 -> {ratio:.3f}; {budget_bytes / GIB:.1f} GiB host "
        f"memory per rank (fraction {fraction:.2f}, {args.ranks} ranks on this host), "
        f"host pools {pools_bytes / GIB:.1f} GiB."
    )


def host_pool(pool: HostPool, device_tokens: int) -> list[str]:
    """A host pool is about to be pinned."""
    size = f"{pool.size_bytes / 1e9:.2f} GB host memory"
    lines = []
    if pool.tokens < device_tokens:
        lines.append(
            f"HiCache host KV pool ({pool.tokens} tokens) is smaller than the device pool "
            f"({device_tokens} tokens);L2 cache effectiveness is reduced.Consider increasing "
            "--hicache-ratio (or --hicache-size) for higher L2 cache hit rate."
        )
    if VERSION >= "0.5.17":
        lines.append(
            f"Allocating {pool.label} hierarchical KV host pool: {pool.tokens} tokens, {size}."
        )
    else:
        lines.append(f"Allocating {size} for hierarchical KV cache.")
    if pool.label == "draft" and VERSION < "0.5.19":
        kind = "MLATokenToKVPoolHost" if pool.mla else "MHATokenToKVPoolHost"
        lines.append(f"HiCache draft KV registered: {kind} (host {pool.tokens} slots)")
    return lines


def dead_rank(rank: int, exit_code: int) -> str:
    """What the launcher says of a scheduler that ended before it was ready."""
    if VERSION < "0.5.10":
        return f"Rank {rank} scheduler is dead. Please check if there are relevant logs."
    return (
        f"Rank {rank} scheduler died during initialization (exit code: {exit_code}). If exit code "
        "is -9 (SIGKILL), a common cause is the OS OOM killer. "
        "Run `dmesg -T | grep -i oom` to check."
    )


def remaining(requests: list[str]) -> str:
    """The progress of a drain."""
    if VERSION < "0.5.3":
        return f"Gracefully exiting... remaining number of requests {len(requests)}"
    return (
        f"Gracefully exiting... Remaining number of requests {len(requests)}. "
        f"Remaining requests remaining_rids={requests!r}."
    )

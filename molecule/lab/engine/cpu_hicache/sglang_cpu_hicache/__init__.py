# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: lets SGLang 0.5.23's HiCache host tier run on a CPU-only torch.

Real: sizing of the host pools, the memory guard, auto-sizing, allocation by mmap, the radix
tree, write policies, eviction, load-back and metrics. Stood in: pinning (none), the copies
(plain torch, at once, in the calling thread), events and streams (torch.cpu's own no-ops).

SGLang only logs an exception raised in such a plugin and starts without it.
"""

from __future__ import annotations

import os
from typing import Any


def allocate_unpinned(
    dims: Any,
    dtype: Any,
    device: Any,
    pin_memory: bool,
    allocator: Any,
    registration_granularity_bytes: int | None = None,
) -> Any:
    """SGLang's own host allocator, told not to register the memory with CUDA."""
    from sglang.srt.mem_cache.pool_host.common import alloc_with_host_register

    return alloc_with_host_register(
        dims, dtype, device, False, allocator, registration_granularity_bytes
    )


def activate() -> None:
    """Fill SGLang's table of allocators, and the copy functions that it leaves unbound here."""
    import torch

    if torch.cuda.is_available():
        return
    from sglang.srt.mem_cache import memory_pool_host
    from sglang.srt.mem_cache.pool_host import common, mha, mla

    from . import kvcacheio

    common.ALLOC_MEMORY_FUNCS["cpu"] = allocate_unpinned
    for name in dir(kvcacheio):
        if name.startswith("transfer_kv_"):
            for module in (mha, mla, memory_pool_host):
                if not hasattr(module, name):
                    setattr(module, name, getattr(kvcacheio, name))


def activate_mla() -> None:
    """Make torch_native attention take the absorbed path for MLA models, in prefill too.

    It inherits triton's choice, whose prefill takes un-absorbed keys; those are not in the
    latent pool, which is the only place torch_native reads from.
    """
    from sglang.srt.models.deepseek_common import attention_backend_handler as handler

    handler.AttentionBackendRegistry.register("torch_native", handler._dispatch_mla_subtype)


def activate_skip_load() -> None:
    """With LAB_HICACHE_SKIP_LOAD=1, leave out the copy from the host tier to the device.

    A server whose host tier brings nothing back: all that it counts looks healthy.
    """
    if os.environ.get("LAB_HICACHE_SKIP_LOAD") != "1":
        return
    from sglang.srt.mem_cache.pool_host.base import HostKVCache

    HostKVCache.load_to_device_per_layer_physical = lambda *_, **__: None


def activate_timing() -> None:
    """Give torch.cpu.Event a wall clock, so that SGLang keeps its two duration histograms.

    The durations are those of the torch copies and say nothing about a GPU.
    """
    import time

    import torch

    class TimedEvent(torch.cpu.Event):
        def __init__(self, enable_timing: bool = False, **_: Any) -> None:
            self.at = 0.0

        def record(self, stream: Any = None) -> None:
            self.at = time.perf_counter()

        def elapsed_time(self, end: TimedEvent) -> float:
            """Milliseconds from this event to `end`."""
            return (end.at - self.at) * 1e3

    torch.cpu.Event = TimedEvent

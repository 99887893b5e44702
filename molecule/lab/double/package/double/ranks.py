# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One scheduler process of the double: prints its part of the start, then waits for its end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from typing import NoReturn

from . import lines
from .args import VERSION, ServerArgs
from .gpus import Gpus
from .host import HostMemory
from .pools import (
    DRAFT_GRAPH_BYTES,
    GRAPH_BYTES,
    HostOutcome,
    Model,
    Sizes,
    auto_ratio,
    check_device_pool,
    sizes_itself,
)

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
# How the seconds of a start are spent.
INIT_SHARE, LOAD_SHARE, GRAPH_SHARE, HOST_SHARE = 0.1, 0.5, 0.2, 0.1


@dataclass(frozen=True)
class Start:
    """What all ranks of one start share."""

    args: ServerArgs
    gpus: Gpus
    sizes: Sizes
    memory: HostMemory
    outcomes: list[HostOutcome]
    running: int
    start_s: float
    faults: dict[str, str]


class Rank:
    """Tells the start of one rank. `free_bytes` follows the memory of its GPU."""

    def __init__(self, start: Start, number: int) -> None:
        self.start = start
        self.number = number
        self.label = lines.label_of(start.args, number)
        self.free_bytes = start.sizes.before_load_bytes

    def run(self, ready_fd: int) -> NoReturn:
        """Be the process: start, report ready on `ready_fd`, wait; never returns."""
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NAME, f"sglang::TP{self.number}".encode(), 0, 0, 0)
        try:
            self._initialize()
        except Exception:
            self._say(f"Scheduler hit an exception: {traceback.format_exc()}")
            os.kill(os.getppid(), signal.SIGQUIT)
            os._exit(1)
        os.write(ready_fd, b"r")
        while True:
            signal.pause()

    def _initialize(self) -> None:
        args, sizes = self.start.args, self.start.sizes
        began = time.monotonic()
        self._say(lines.init_begin())
        if self.number >= self.start.gpus.count:
            raise RuntimeError("CUDA error: invalid device ordinal")
        self._spend(INIT_SHARE)
        for line in lines.init_end(time.monotonic() - began):
            self._say(line)
        self._refuse_fusion()
        if "scheduler_dead" in self.start.faults and self.number == 0:
            os._exit(1)
        self._load(sizes.model, sizes.weights_bytes, LOAD_SHARE)
        # The draft is loaded first and counted since 0.5.14; before, it took what was left.
        if sizes.draft and VERSION >= "0.5.14":
            self._load(sizes.draft, sizes.draft_weights_bytes, 0.0)
        self._make_pool(sizes.model, sizes.token_bytes)
        self._capture("target", GRAPH_BYTES)
        if sizes.draft:
            if VERSION < "0.5.14":
                self._load(sizes.draft, sizes.draft_weights_bytes, 0.0)
            self._make_pool(sizes.draft, sizes.draft_token_bytes)
            if self.number == 0 or VERSION < "0.5.12":
                self._capture("draft", DRAFT_GRAPH_BYTES)
                self._capture("draft extend", DRAFT_GRAPH_BYTES)
        if self.number % args.tp_size == 0:
            self._say(lines.capacity(args, sizes, self.start.running, self.free_bytes))
        if args.enable_hierarchical_cache:
            self._make_host_pools()

    def _refuse_fusion(self) -> None:
        wanted = VERSION >= "0.5.14" and self.start.args.enable_flashinfer_allreduce_fusion
        if wanted and not self.start.gpus.fuses_allreduce:
            raise ValueError("FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.")

    def _load(self, model: Model, size_bytes: int, share: float) -> None:
        began = time.monotonic()
        self._say(lines.load_begin(self.free_bytes))
        last = self.number == self.start.args.ranks - 1
        while "hang_load" in self.start.faults or ("load_barrier" in self.start.faults and last):
            signal.pause()
        self._spend(share)
        if share:
            time.sleep(float(self.start.faults.get("slow_load") or 0))
        self.free_bytes -= size_bytes
        elapsed = time.monotonic() - began
        self._say(lines.load_end(model, elapsed, self.free_bytes, size_bytes))
        if "load_barrier" in self.start.faults:
            raise ValueError(lines.load_barrier(self.number))

    def _make_pool(self, model: Model, token_bytes: int) -> None:
        sizes = self.start.sizes
        check_device_pool(self.start.args, sizes)
        if model is sizes.model and sizes.multimodal_bytes:
            self._say(lines.multimodal_reserve(sizes.multimodal_bytes))
        size_bytes = sizes.tokens * token_bytes
        self.free_bytes -= size_bytes
        self._say(lines.device_pool(self.start.args, sizes.tokens, size_bytes, model.mla))
        self._say(lines.pools_end(self.free_bytes))

    def _capture(self, name: str, size_bytes: int) -> None:
        args = self.start.args
        if args.disable_cuda_graph:
            return
        began = time.monotonic()
        before, after = self.free_bytes, self.free_bytes - size_bytes
        tokens_each = args.speculative_num_draft_tokens or 1 if name != "draft" else 1
        batch = min(self.start.running, 512)
        begin, _end = lines.graph_lines(name, batch, tokens_each, 0.0, before, after)
        self._say(begin)
        self._spend(GRAPH_SHARE if name == "target" else 0.0)
        elapsed = time.monotonic() - began
        self._say(lines.graph_lines(name, batch, tokens_each, elapsed, before, after)[1])
        self.free_bytes = after

    def _make_host_pools(self) -> None:
        start = self.start
        outcome = start.outcomes[self.number]
        told = lines.headroom(start.memory)
        if told:
            self._say(told)
        if VERSION >= "0.5.21" and VERSION < "0.5.22" and start.memory.headroom_bytes is None:
            raise RuntimeError("Cannot automatically size HiCache host memory; no memory cgroup")
        if sizes_itself(start.args):
            ratio = auto_ratio(start.args, start.sizes, start.memory)
            budget = start.args.hicache_host_memory_fraction * start.memory.budget(
                0, start.args.ranks
            )
            pools_bytes = sum(pool.size_bytes for pool in outcome.pools)
            self._say(lines.auto_sizing(start.args, ratio, int(budget), pools_bytes))
        if "guard" in start.faults:
            raise ValueError(
                "Not enough host memory available. Requesting 64.00 GB but only have 12.50 GB "
                "free. Please reduce the size of the hierarchical cache."
            )
        for pool in outcome.pools:
            for line in lines.host_pool(pool, start.sizes.tokens):
                self._say(line)
        self._spend(HOST_SHARE)
        if outcome.killed or ("oom_rank" in start.faults and self.number == start.args.ranks - 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if outcome.error:
            raise outcome.error

    def _spend(self, share: float) -> None:
        time.sleep(share * self.start.start_s)

    def _say(self, message: str) -> None:
        lines.say(message, self.label)


def fork_ranks(start: Start) -> tuple[list[int], int]:
    """Start every rank; return their process ids and a pipe that gets a byte from each."""
    read_fd, write_fd = os.pipe()
    sys.stderr.flush()
    processes = []
    for number in range(start.args.ranks):
        process = os.fork()
        if process == 0:
            os.close(read_fd)
            Rank(start, number).run(write_fd)
        processes.append(process)
    os.close(write_fd)
    return processes, read_fd

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a server failed: the fixed vocabulary of causes, what proves each, what helps against it.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

# How much a line tells: it names the cause, it is an exception, it reports that some child died,
# or it is only systemd's word that the process is gone. The most telling line is the proof.
NAMES, RAISES, DIED, ENDED = 3, 2, 1, 0


class Sign(t.NamedTuple):
    """A pattern of a failure line.

    A C(final) line ends the run even while the process still lives: the engine may take a minute
    to exit.
    """

    weight: int
    pattern: t.Pattern[str]
    final: bool = True


class Cause(t.NamedTuple):
    """What a person can do about it, and the lines that prove it."""

    remedy: str
    signs: tuple[Sign, ...] = ()


class Failure(t.NamedTuple):
    """What a line says about a failure."""

    cause: str
    weight: int
    final: bool


def _names(*patterns: str) -> tuple[Sign, ...]:
    return tuple(Sign(NAMES, re.compile(pattern)) for pattern in patterns)


# A line is of the first cause that has a sign for it.
CAUSES: dict[str, Cause] = {
    "host_memory_guard": Cause(
        "the engine found too little free RAM for its host pool: stop what else holds memory, or "
        "plan a smaller pool (sglang_hicache_ratio, sglang_hicache_budget_gib)",
        # "... for request ID" is a transfer that did not fit: the server goes on.
        _names(
            r"Not enough host memory (?:available\b|for (?!request\b))",
            r"No host memory is left for HiCache",
            r"Cannot automatically size HiCache host memory",
        ),
    ),
    "host_pool_too_small": Cause(
        "this version needs a host pool larger than the device pool: raise sglang_hicache_ratio "
        "above 1, or set sglang_hicache_mode: off",
        _names(r"The host memory should be larger than the device memory"),
    ),
    "host_registration": Cause(
        "the driver refused to pin the host pool: check LimitMEMLOCK of the unit, and plan less "
        "than 512 GiB per rank (sglang_hicache_budget_gib)",
        _names(
            r"cudaHostRegister failed|cudaHostAlloc: (?:invalid|out of)",
            r"hipHostMalloc of .* failed|Pinned host memory allocation of",
        ),
    ),
    "host_oom_kill": Cause(
        "the kernel ended a rank for lack of RAM: plan a smaller pool (sglang_hicache_ratio) or "
        "keep more free (sglang_hicache_reserve_gib)",
        _names(
            r"exit code:? -9\b|killed by the OOM killer|Failed with result 'oom-kill'",
            r"oom-kill:constraint|(?:Out of memory|Memory cgroup out of memory): Killed process",
        ),
    ),
    "device_memory_pool": Cause(
        "the weights leave too little GPU memory for the KV pool: adjust "
        "sglang_mem_fraction_static, or use more GPUs (sglang_tp_size)",
        _names(
            r"Not enough memory\. Please try to increase --mem-fraction-static",
            r"Loaded weights leave no GPU memory",
            r"Not enough space for mamba|Not enough GPU memory for hybrid",
            r"byte budget \d+ cannot fit ONE worst-case request",
        ),
    ),
    "device_out_of_memory": Cause(
        "a GPU ran out of memory: lower sglang_mem_fraction_static or sglang_cuda_graph_max_bs, "
        "and look for other processes on the GPU",
        _names(r"OutOfMemoryError\b|CUDA out of memory|CUDA OOM\b|CUDA error: out of memory"),
    ),
    "kv_pool_exhausted": Cause(
        "not even one request fits the KV pool: lower sglang_context_length or raise "
        "sglang_mem_fraction_static",
        _names(
            r"Out of memory even after retracting|No space left for only one request",
            r"alloc_req_slots runs out of memory",
        ),
    ),
    "memory_unbalanced": Cause(
        "the GPUs have unequal free memory: end the other process on the fullest one (nvidia-smi)",
        # Without the exception's name it is a warning, and the start goes on.
        _names(r"Error: The memory capacity is unbalanced"),
    ),
    "load_timeout": Cause(
        "a rank loaded its weights much later than the others: use faster storage, or a model "
        "that fits the page cache, and start again while it is warm",
        _names(r"could finish the model loading, but there are other ranks"),
    ),
    "allreduce_fusion": Cause(
        "all-reduce fusion does not work on this GPU: set sglang_allreduce_fusion: off",
        _names(r"FlashInfer allreduce fusion requires"),
    ),
    "watchdog": Cause(
        "a scheduler made no progress: read the journal before this line; a very slow first "
        "step may need sglang_watchdog_timeout_s",
        _names(r"[Ww]atchdog timeout \((?!.*self\.soft=True)"),
    ),
    "collective_timeout": Cause(
        "ranks lost each other: check the GPU links and NCCL settings (sglang_nccl_profile); a "
        "slow load may need sglang_dist_timeout_s",
        _names(
            r"Watchdog caught collective operation timeout",
            r"NCCL error\b|\bnccl(?:SystemError|InternalError|RemoteError|UnhandledCudaError)\b",
        ),
    ),
    "gpu_lost": Cause(
        "a GPU fell off the bus: drain the host, reset or reboot it, check its cooling",
        _names(r"GPU is lost|fallen off the bus|CUDA error: .*device is lost"),
    ),
    "gpu_error": Cause(
        "a GPU kernel failed: read the journal before this line; if it comes again with another "
        "sglang_attention_backend, check the GPU (nvidia-smi -q, dmesg)",
        _names(
            r"device-side assert triggered|an illegal memory access was encountered",
            r"CUDA error: (?:unspecified launch failure|misaligned address|an illegal instruction)",
        ),
    ),
    "driver": Cause(
        "CUDA does not work on this host: check nvidia-smi, reload the driver or reboot; on "
        "NVSwitch hosts check the fabric manager",
        _names(
            r"Found no NVIDIA driver|CUDA driver version is insufficient|no CUDA-capable device",
            r"[Dd]river/library version mismatch|system not yet initialized|CUDA error 802",
            r"no kernel image is available for execution",
        ),
    ),
    "arguments": Cause(
        "the engine refused its command line: correct the variable behind that flag, or "
        "sglang_extra_args",
        _names(
            r"^\S+(?: \S+)?: error: "
            r"(?:unrecognized arguments|ambiguous option|argument |the following)",
            r"are mutually exclusive and cannot be used at the same time",
        ),
    ),
    "port_taken": Cause(
        "another process holds the port: stop it, or set sglang_port",
        _names(r"[Aa]ddress already in use|\[Errno 98\]|EADDRINUSE"),
    ),
    "weights_unreadable": Cause(
        "weight files are missing or damaged: fetch them again (sglang_model_path, "
        "sglang_model_draft_path)",
        _names(r"SafetensorError|Cannot find any model weights|incomplete metadata"),
    ),
    # A capture that fails wraps its own cause, which stands in the same line if it has a name.
    "graph_capture": Cause(
        "CUDA graph capture failed: lower sglang_cuda_graph_max_bs, or set "
        "sglang_disable_cuda_graph: true to start without graphs",
        _names(r"Capture .*(?:[Gg]raph|extend) failed"),
    ),
    "warmup": Cause(
        "the server came up but could not answer: read the journal before this line",
        _names(r"Initialization failed\. warmup error"),
    ),
    "unit_setup": Cause(
        "systemd could not start the process: check that sglang_engine_path and the folders and "
        "users of the unit exist",
        _names(r"\.service: Failed (?:at step|to set up|to load environment|to run 'start' task)"),
    ),
    "file_missing": Cause(
        "the engine lacks a file: check sglang_model_path, sglang_model_draft_path and the files "
        "named in sglang_extra_args",
        (
            Sign(
                RAISES,
                re.compile(
                    r"^FileNotFoundError:|^(?:\w+\.)*(?:OSError|ValueError|HFValidationError): .*"
                    r"(?:does not appear to have a file named|is not a local folder"
                    r"|not a valid model identifier|Repo id must|Unrecognized model in)"
                ),
                final=False,
            ),
        ),
    ),
    "child_died": Cause(
        "a child of the server died: read the journal before this line",
        (
            Sign(
                DIED,
                re.compile(
                    r"^Received sigquit from a child process|^SIGQUIT received"
                    r"|^Rank \d+ scheduler is dead|scheduler died during initialization"
                    r"|^Subprocess .* crashed with exit code|\bInitialization failed\. Please"
                ),
            ),
            Sign(DIED, re.compile(r"^Scheduler hit an exception"), final=False),
        ),
    ),
    "exception": Cause(
        "the engine raised an exception: read the journal before this line",
        (
            Sign(
                RAISES,
                re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Timeout)(?::|$)"),
                final=False,
            ),
        ),
    ),
    "unresponsive": Cause(
        "the server took requests but answered none: read the journal before this line",
        (Sign(DIED, re.compile(r"^Health check failed\. Server couldn't"), final=False),),
    ),
    "start_timeout": Cause(
        "systemd gave up waiting: raise sglang_start_timeout_s",
        (Sign(ENDED, re.compile(r"\.service: start operation timed out")),),
    ),
    "stop_timeout": Cause(
        "the server did not stop in time and was killed: raise sglang_drain_timeout_s",
        (Sign(ENDED, re.compile(r"\.service: State '(?:stop|final)-\w+' timed out")),),
    ),
    "start_limit": Cause(
        "systemd gave up after several starts in a row: read the journal of the first of them, "
        "then systemctl reset-failed and deploy again",
        (Sign(ENDED, re.compile(r"\.service: Start request repeated too quickly")),),
    ),
    "killed": Cause(
        "a signal ended the process: look in the journal for who sent it, and with dmesg for the "
        "kernel's reasons",
        (
            Sign(
                ENDED,
                re.compile(
                    r"\.service: Main process exited, code=(?:killed|dumped)"
                    r"|\.service: Failed with result '(?:signal|core-dump)'"
                ),
            ),
        ),
    ),
    "exit": Cause(
        "the process ended without saying why: read its journal",
        (
            Sign(
                ENDED,
                re.compile(
                    r"\.service: Main process exited, code=exited, status=(?!0/)"
                    r"|\.service: Failed with result"
                ),
            ),
        ),
    ),
}

# What systemd calls the end of a unit, for a run whose own log does not tell.
RESULTS = {
    "oom-kill": "host_oom_kill",
    "timeout": "start_timeout",
    "watchdog": "watchdog",
    "start-limit-hit": "start_limit",
    "signal": "killed",
    "core-dump": "killed",
    "resources": "unit_setup",
    "protocol": "unit_setup",
    "exit-code": "exit",
}
# Causes that only say that it ended: any better evidence replaces them.
UNTOLD = (None, "child_died", "unresponsive", "start_limit", "killed", "exit")


def failure_of(message: str) -> Failure | None:
    """What a line says about a failure; None when nothing."""
    for word, cause in CAUSES.items():
        for sign in cause.signs:
            if sign.pattern.search(message):
                return Failure(word, sign.weight, sign.final)
    return None


def remedy_for(cause: str | None) -> str:
    """Return what helps against a cause; for one that is not known, where to look."""
    return CAUSES.get(cause or "", CAUSES["exit"]).remedy


# What the kernel prints when it ends a process for lack of memory, in two lines: whose it was, ...
_CHOSEN = re.compile(r"oom-kill:constraint=.*\btask_memcg=(?P<group>[^,]*),.*\bpid=(?P<pid>\d+)")
# ... and that it is dead.
_KILLED = re.compile(r"\bout of memory: Killed process (?P<pid>\d+)", re.IGNORECASE)
_GPU_LOST = re.compile(r"NVRM: .*(?:fallen off the bus|\bXid .*: 79,)")


def kernel_failure(messages: t.Iterable[str], unit: str) -> tuple[str, str] | None:
    """What the kernel's journal has against a unit: the cause and the last line that proves it.

    The kernel ends processes of others, too: only those in the unit's own control group count.
    """
    found: tuple[str, str] | None = None
    victims: set[str] = set()
    for message in messages:
        chosen, killed = _CHOSEN.search(message), _KILLED.search(message)
        if chosen and unit in chosen["group"].split("/"):
            victims.add(chosen["pid"])
        hit = chosen or killed
        if hit and hit["pid"] in victims:
            found = ("host_oom_kill", message)
        elif _GPU_LOST.search(message):
            found = ("gpu_lost", message)
    return found

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a failed start is told from its lines, from systemd's word and from the kernel's journal."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.causes import (
    CAUSES,
    NAMES,
    RESULTS,
    UNTOLD,
    failure_of,
    kernel_failure,
    remedy_for,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_line import split_line
from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_lines import (
    StartupParser,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.startup_log import (
    READY,
    start_lines,
)

# One real-looking line for every way to fail, and the word for it.
FAILED = [
    (
        "host_memory_guard",
        "ValueError: Not enough host memory available. Requesting 61.20 GB but "
        "only have 44.90 GB free. Please reduce the size of the hierarchical cache.",
    ),
    (
        "host_memory_guard",
        "ValueError: No host memory is left for HiCache after the 10 GiB reserve;"
        " set --hicache-ratio or --hicache-size explicitly.",
    ),
    (
        "host_pool_too_small",
        "AssertionError: The host memory should be larger than the device "
        "memory with the current protocol",
    ),
    (
        "host_registration",
        "RuntimeError: cudaHostRegister failed (rc=1, invalid argument) for "
        "ptr=0x7f00 size=549755813888; host buffer is not pinned",
    ),
    (
        "host_oom_kill",
        "RuntimeError: Rank 5 scheduler died during initialization (exit code: -9). "
        "If exit code is -9 (SIGKILL), a common cause is the OS OOM killer.",
    ),
    (
        "host_oom_kill",
        "sglang-kimi.service: A process of this unit has been killed by the OOM killer.",
    ),
    (
        "device_memory_pool",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ),
    (
        "device_memory_pool",
        "ValueError: Loaded weights leave no GPU memory for the KV cache under "
        "--mem-fraction-static=0.7",
    ),
    ("device_out_of_memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
    ("graph_capture", "Exception: Capture cuda graph failed: operation not permitted"),
    (
        "kv_pool_exhausted",
        "Out of memory even after retracting all other requests in the decode batch.",
    ),
    (
        "memory_unbalanced",
        "ValueError: The memory capacity is unbalanced. Some GPUs may be "
        "occupied by other processes.",
    ),
    (
        "load_timeout",
        "ValueError: TP rank 3 could finish the model loading, but there are other "
        "ranks that didn't finish loading.",
    ),
    (
        "allreduce_fusion",
        "ValueError: FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.",
    ),
    (
        "watchdog",
        "[2026-11-30 10:00:00 TP5] Scheduler watchdog timeout "
        "(self.watchdog_timeout=300, self.soft=False)",
    ),
    ("watchdog", "[2026-11-30 10:00:00 TP5] Watchdog timeout (self.watchdog_timeout=300)"),
    (
        "collective_timeout",
        "[rank2]:[E1130 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog "
        "caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE)",
    ),
    ("gpu_lost", "RuntimeError: CUDA error: GPU is lost"),
    (
        "driver",
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not "
        "yet initialized",
    ),
    ("arguments", "launch_server.py: error: unrecognized arguments: --hicache-sise 4"),
    ("arguments", "sglang serve: error: ambiguous option: --cuda-graph-max-bs could match"),
    (
        "port_taken",
        "[2026-11-30 10:00:00] ERROR:    [Errno 98] error while attempting to bind on "
        "address ('127.0.0.1', 30000): address already in use",
    ),
    (
        "weights_unreadable",
        "safetensors_rust.SafetensorError: Error while deserializing header: "
        "incomplete metadata, file not fully covered",
    ),
    ("warmup", "[2026-11-30 10:00:00] Initialization failed. warmup error: Traceback"),
    ("exception", "RuntimeError: Multiple platform plugins activated"),
    (
        "child_died",
        "[2026-11-30 10:00:00] Received sigquit from a child process. It usually means "
        "the child failed.",
    ),
    (
        "child_died",
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1). If "
        "exit code is -9 (SIGKILL), a common cause is the OS OOM killer.",
    ),
    (
        "host_memory_guard",
        "ValueError: Not enough host memory for V4 paged pool swa. Requesting 9.00 GB but only have "
        "4.00 GB free.",
    ),
    (
        "host_registration",
        "RuntimeError: Pinned host memory allocation of 61.2 GiB (7 bytes) returned a null pointer",
    ),
    (
        "host_oom_kill",
        "Memory cgroup out of memory: Killed process 4711 (sglang::schedul) total-vm:9kB, anon-rss:8kB",
    ),
    (
        "device_memory_pool",
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache.",
    ),
    (
        "kv_pool_exhausted",
        "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number",
    ),
    (
        "collective_timeout",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:9, ncclSystemError",
    ),
    ("gpu_error", "RuntimeError: CUDA error: device-side assert triggered"),
    ("graph_capture", "RuntimeError: Capture prefill CUDA graph failed: operation not permitted"),
    ("graph_capture", "Exception: Capture CPU graph failed: no"),
    ("graph_capture", "Exception: Capture single-CG draft extend failed: no"),
    (
        "unit_setup",
        "sglang-kimi.service: Failed at step EXEC spawning /opt/e/bin/python: No such file or directory",
    ),
    (
        "file_missing",
        "FileNotFoundError: [Errno 2] No such file or directory: '/models/x/tokenizer.json'",
    ),
    ("file_missing", "OSError: /models/x does not appear to have a file named config.json."),
    (
        "unresponsive",
        "[2026-11-30 10:00:00] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 09:59:40.",
    ),
    (
        "child_died",
        "[2026-11-30 10:00:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    ),
    (
        "child_died",
        "[2026-11-30 10:00:00] Rank 3 scheduler is dead. Please check if there are relevant logs.",
    ),
    (
        "child_died",
        "[2026-11-30 10:00:00] Subprocess detokenizer (pid=812) crashed with exit code 0. Triggering SIGQUIT for cleanup...",
    ),
    ("child_died", "RuntimeError: Initialization failed. Please see the error messages above."),
    ("stop_timeout", "sglang-kimi.service: State 'stop-sigterm' timed out. Killing."),
    ("start_limit", "sglang-kimi.service: Start request repeated too quickly."),
    ("killed", "sglang-kimi.service: Main process exited, code=killed, status=9/KILL"),
    ("start_timeout", "sglang-kimi.service: start operation timed out. Terminating."),
    ("exit", "sglang-kimi.service: Main process exited, code=exited, status=1/FAILURE"),
]


@pytest.mark.parametrize(("cause", "line"), FAILED)
def test_every_failure_has_its_word(cause: str, line: str) -> None:
    failure = failure_of(split_line(line).message)
    assert failure is not None and failure.cause == cause


def test_every_word_is_proven_by_a_line() -> None:
    assert {cause for cause, _line in FAILED} == set(CAUSES)


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        pair
        for pair in FAILED
        if failure_of(split_line(pair[1]).message)[1] == NAMES  # type: ignore[index]
    ],
)
def test_the_line_that_names_the_cause_wins_over_what_follows(cause: str, line: str) -> None:
    parser = StartupParser().feed_all(
        [
            *start_lines("0.5.18")[:-1],
            "[2026-11-30 10:04:00 TP3] Scheduler hit an exception: Traceback (most recent call last):",
            '  File "/opt/sglang/lib/python3.12/site-packages/sglang/srt/x.py", line 7, in run',
            line,
            "[2026-11-30 10:04:01] Received sigquit from a child process. It usually means the child "
            "failed.",
            "sglang-kimi.service: Main process exited, code=killed, status=9/KILL",
            "sglang-kimi.service: Failed with result 'signal'.",
        ]
    )
    assert parser.state == "failed"
    assert parser.cause == (cause, split_line(line).message)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-30 10:00:00 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1",
        "[2026-11-30 10:00:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=60, "
        "self.soft=True)",
        "[2026-11-30 10:00:00 TP0] retract_decode: aborted last request 7f due to OOM",
        "[2026-11-30 10:00:00 TP0] Not enough host memory for request 7f",
        "[2026-11-30 10:00:00 TP0] The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        "[2026-11-30 10:00:00] SIGTERM received. signum=15 frame=None. Draining requests and shutting down...",
        "[2026-11-30 10:00:00] Gracefully exiting... Remaining number of requests 2. Remaining requests remaining_rids=['7f'].",
        "[2026-11-30 10:00:00] Gracefully exiting... remaining number of requests 2",
        "[2026-11-30 10:00:00] Signal SIGTERM received while health check failed. Force exiting.",
        "[2026-11-30 10:00:00] Schedulers still alive 15s after ShutdownReq, killing them before they released: [7]",
        "sglang-kimi.service: Main process exited, code=exited, status=0/SUCCESS",
        "/opt/x.py:7: UserWarning: Only CUDA supports this currently.",
        '[2026-11-30 10:00:00] INFO:     127.0.0.1:4 - "GET /health HTTP/1.1" 200 OK',
        "Started sglang-kimi.service - SGLang server kimi.",
    ],
)
def test_harmless_lines_are_no_failure(line: str) -> None:
    assert failure_of(split_line(line).message) is None


def test_an_exception_alone_does_not_end_a_start() -> None:
    parser = StartupParser().feed_all(
        [
            "[2026-11-30 10:00:00] server_args={}",
            "ImportError: no module named fancy",
        ]
    )
    assert parser.state == "starting"
    parser.feed(READY)
    assert (parser.state, parser.cause) == ("ready", (None, None))


def test_what_was_raised_and_caught_before_is_not_the_cause() -> None:
    parser = StartupParser().feed_all(
        [
            "ImportError: no module named fancy",
            "[2026-11-30 10:04:00 TP3] Scheduler hit an exception: Traceback (most recent call last):",
            "KeyError: 'model.layers.3'",
            "[2026-11-30 10:04:00 TP4] Scheduler hit an exception: Traceback (most recent call last):",
            "KeyError: 'model.layers.4'",
        ]
    )
    assert parser.cause == ("exception", "KeyError: 'model.layers.3'")


@pytest.mark.parametrize(
    ("last", "phase"),
    [
        ("server_args", "arguments"),
        ("Init parallel begin", "parallel"),
        ("type=KimiK25", "device_pool"),
        ("Capture target verify CUDA graph begin", "graphs"),
        ("Load weight begin", "weights"),  # of the draft, after the target's graphs
        ("max_total_num_tokens", "host_pool"),
        ("fired up", "serving"),
    ],
)
def test_a_failure_keeps_the_phase_it_came_in(last: str, phase: str) -> None:
    lines = start_lines("0.5.23", ranks=1)
    count = max(number for number, line in enumerate(lines) if last in line) + 1
    parser = StartupParser().feed_all(lines[:count])
    parser.feed("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    # Other ranks go on for a while.
    parser.feed_all(line for line in lines[count : count + 2] if line != READY)
    assert (parser.cause[0], parser.facts()["phase"]) == ("device_out_of_memory", phase)


def test_every_remedy_names_what_to_do_and_every_result_has_a_cause() -> None:
    assert all(len(cause.remedy) > 30 for cause in CAUSES.values())
    assert {*RESULTS.values(), *UNTOLD} - {None} <= set(CAUSES)
    assert remedy_for("never heard of") == remedy_for(None) == CAUSES["exit"].remedy


UNIT = "sglang-kimi.service"
MEMCG = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
    "oom_memcg=/{slice},task_memcg=/{slice}/{unit},task=python,pid={pid},uid=990"
)
KILLED = "Killed process {pid} (sglang::schedul) total-vm:91kB, anon-rss:81kB, UID:990"


@pytest.mark.parametrize("scope", ["Memory cgroup out of memory", "Out of memory"])
def test_the_kernel_tells_whom_it_killed(scope: str) -> None:
    chosen = MEMCG.format(slice="sglang.slice", unit=UNIT, pid=4711)
    killed = f"{scope}: {KILLED.format(pid=4711)}"
    assert kernel_failure([chosen, "other", killed], UNIT) == ("host_oom_kill", killed)
    assert kernel_failure([chosen], UNIT) == ("host_oom_kill", chosen)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [f"Out of memory: {KILLED.format(pid=4711)}"],
        [
            MEMCG.format(slice="sglang.slice", unit="sglang-other.service", pid=4711),
            f"Out of memory: {KILLED.format(pid=4711)}",
        ],
        [
            MEMCG.format(slice="sglang.slice", unit=f"not-{UNIT}", pid=4711),
            f"Memory cgroup out of memory: {KILLED.format(pid=4711)}",
        ],
    ],
)
def test_whom_else_the_kernel_killed_does_not_matter(lines: list[str]) -> None:
    assert kernel_failure(lines, UNIT) is None


def test_the_kernel_tells_of_a_lost_gpu() -> None:
    line = "NVRM: Xid (PCI:0000:41:00): 79, pid=4711, name=python, GPU has fallen off the bus."
    assert kernel_failure([line], UNIT) == ("gpu_lost", line)

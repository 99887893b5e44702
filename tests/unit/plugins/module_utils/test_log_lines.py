# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine printed in each release, and what the parser makes of it."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_lines import (
    CAUSES,
    GB,
    GIB,
    StartupParser,
    failure_of,
    split_line,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN
from hypothesis import given, settings
from hypothesis import strategies as st

READY = "[2026-11-30 10:05:00] The server is fired up and ready to roll!"


def minor(version: str) -> int:
    return int(version.split(".")[2])


def start_lines(version: str, ranks: int = 2, draft: bool = True, host: bool = True) -> list[str]:
    """A start of an MLA model with an EAGLE-3 draft in the words of one release: 1,000 tokens and
    2 GiB on the device, 4,001 tokens and 8 GB (draft 0.5 GB) on the host, per rank."""
    release = minor(version)
    lines: list[str] = []

    def say(second: int, message: str, every: bool = True) -> None:
        for rank in range(ranks if every else 1):
            label = f" TP{rank}" if ranks > 1 else ""
            lines.append(f"[2026-11-30 10:{second // 60:02d}:{second % 60:02d}{label}] {message}")

    def load(second: int, kind: str, size: str) -> None:
        elapsed = "elapsed=40.00 s, " if release >= 9 else ""
        dtype = "dtype=torch.bfloat16, " if release <= 9 else "quant=fp8, fmt=e4m3, "
        say(second, "Load weight begin. avail mem=90.00 GB")
        say(
            second + 40,
            f"Load weight end. {elapsed}type={kind}, {dtype}avail mem=30.00 GB, "
            f"mem usage={size} GB.",
        )

    def pool(sizes: str) -> None:
        dtype = "dtype: torch.bfloat16, " if release >= 13 else ""
        say(120, f"KV Cache is allocated. {dtype}#tokens: 1000, {sizes}")
        say(121, "Memory pool end. avail mem=20.00 GB")

    def capture(name: str, seconds: str, every: bool) -> None:
        if release >= 14:
            say(150, f"Capture {name} CUDA graph begin. backend=full, bs=[1], avail mem=20.00 GB")
            say(
                160,
                f"Capture {name} CUDA graph end. elapsed={seconds} s, mem usage=1.00 GB, "
                "avail mem=19.00 GB.",
                every,
            )
        else:
            old = "cuda graph" if name == "target verify" else f"{name} cuda graph"
            say(
                150, f"Capture {old} begin. This can take up to several minutes. avail mem=20.00 GB"
            )
            say(
                160,
                f"Capture {old} end. Time elapsed: {seconds} s. mem usage=1.00 GB. "
                "avail mem=19.00 GB.",
                every,
            )

    args = "ServerArgs(tp_size=2)" if release <= 18 else "{'tp_size': 2}"
    lines.append(f"[2026-11-30 10:00:00] server_args={args}")
    say(5, "Init parallel begin." if release >= 21 else "Init torch distributed begin.")
    load(10, "KimiK25ForConditionalGeneration", "60.00")
    pool("KV size: 2.00 GB")
    capture("target verify", "10.00", True)
    if draft:
        load(60, "LlamaForCausalLMEagle3", "1.00")
        pool("K size: 0.05 GB, V size: 0.05 GB")
        capture("draft decode" if release >= 14 else "draft", "2.50", False)
    say(
        170,
        "max_total_num_tokens=1000, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=48, context_len=4096, available_gpu_mem=18.50 GB",
        False,
    )
    if host:
        if release >= 17:
            say(180, "Allocating kv hierarchical KV host pool: 4001 tokens, 8.00 GB host memory.")
            if draft:
                say(
                    181,
                    "Allocating draft hierarchical KV host pool: 4001 tokens, 0.50 GB host memory.",
                )
        else:
            say(180, "Allocating 8.00 GB host memory for hierarchical KV cache.")
            if draft and release >= 11:
                say(181, "Allocating 0.50 GB host memory for hierarchical KV cache.")
        if draft and 11 <= release <= 18:
            say(182, "HiCache draft KV registered: MHATokenToKVPool (host 4001 slots)")
    lines.append(READY)
    return lines


@pytest.mark.parametrize("version", KNOWN)
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_a_start_of_every_release_gives_the_same_numbers(version: str, ranks: int) -> None:
    facts = StartupParser().feed_all(start_lines(version, ranks)).facts()
    assert facts["state"] == "ready"
    assert facts["max_total_num_tokens"] == 1000
    assert facts["context_tokens"] == 4096
    assert facts["max_running_requests"] == 48
    assert facts["device_bytes_per_rank"] == 2 * GIB
    assert facts["weights_bytes_per_rank"] == 60 * GIB
    assert facts["avail_after_bytes"] == int(18.5 * GIB)
    assert facts["host_bytes_per_rank"] == 8 * GB
    assert facts["load_s"] == 80.0
    assert facts["graphs_s"] == 12.5
    assert facts["ready_s"] == 300.0
    release = minor(version)
    assert facts["host_tokens"] == (4001 if release >= 11 else None)
    assert facts["draft_host_bytes_per_rank"] == (GB // 2 if release >= 11 else 0)
    assert facts["draft_host_tokens"] == (4001 if release >= 11 else 0)


@pytest.mark.parametrize("version", KNOWN)
def test_a_complete_log_without_host_pools_proves_that_there_are_none(version: str) -> None:
    facts = StartupParser().feed_all(start_lines(version, host=False, draft=False)).facts()
    assert (facts["host_tokens"], facts["host_bytes_per_rank"]) == (0, 0)


def test_a_log_whose_begin_is_gone_is_unknown_not_zero() -> None:
    lines = [
        "[2026-11-30 11:00:00 TP0] Decode batch, #running-req: 3, #token: 900, token usage: 0.90, "
        "cuda graph: True, gen throughput (token/s): 91.00, #queue-req: 0",
        READY,
    ]
    facts = StartupParser().feed_all(lines).facts()
    assert facts["state"] == "ready"
    for name in (
        "max_total_num_tokens",
        "device_bytes_per_rank",
        "host_tokens",
        "host_bytes_per_rank",
        "draft_host_tokens",
    ):
        assert facts[name] is None, name


def test_a_pool_too_small_to_print_is_unknown_but_its_tokens_are_not() -> None:
    facts = (
        StartupParser()
        .feed_all(
            [
                "[2026-11-30 10:00:00 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 512, "
                "KV size: 0.00 GB",
                "[2026-11-30 10:00:01 TP0] Allocating kv hierarchical KV host pool: 2064 tokens, 0.00 GB "
                "host memory.",
            ]
        )
        .facts()
    )
    assert facts["device_bytes_per_rank"] is None
    assert (facts["host_tokens"], facts["host_bytes_per_rank"]) == (2064, None)


def test_sliding_window_pools_count_together_and_the_draft_apart() -> None:
    parser = StartupParser().feed_all(
        [
            "[2026-11-30 10:00:00 TP1] Full KV Cache is allocated. dtype: torch.bfloat16, "
            "#tokens: 4000, K size: 4.00 GB, V size: 2.00 GB",
            "[2026-11-30 10:00:00 TP1] SWA KV Cache is allocated. dtype: torch.bfloat16, "
            "#tokens: 3200, K size: 1.00 GB, V size: 0.50 GB",
            "[2026-11-30 10:00:00 TP1] Memory pool end. avail mem=9.00 GB",
            "[2026-11-30 10:00:00 TP1] KV Cache is allocated. dtype: torch.bfloat16, "
            "#tokens: 4000, K size: 0.25 GB, V size: 0.25 GB",
            "[2026-11-30 10:00:01 TP1] Allocating full hierarchical KV host pool: 8001 tokens, "
            "12.00 GB host memory.",
            "[2026-11-30 10:00:01 TP1] Allocating swa hierarchical KV host pool: 6401 tokens, "
            "3.00 GB host memory.",
            "[2026-11-30 10:00:01 TP1] Allocating draft_swa hierarchical KV host pool: 8001 tokens, "
            "1.00 GB host memory, packed MTP KV layers: target_layers=4, draft_layers=1, "
            "total_layers=5.",
        ]
    )
    facts = parser.facts(detail=True)
    assert facts["device_bytes_per_rank"] == int(7.5 * GIB)
    assert (facts["host_tokens"], facts["host_bytes_per_rank"]) == (8001, 15 * GB)
    assert facts["draft_host_bytes_per_rank"] == GB
    assert facts["ranks"][0]["rank"] == "TP1"
    assert facts["ranks"][0]["draft_device_bytes"] == GIB // 2


def test_pools_of_indexer_and_state_belong_to_the_target() -> None:
    facts = (
        StartupParser()
        .feed_all(
            [
                "[2026-11-30 10:00:00 TP0] Allocating 90.00 GB host memory for hierarchical KV cache.",
                "[2026-11-30 10:00:09 TP0] Allocating 18.00 GB host memory for DSA indexer "
                "(layout=page_first).",
                "[2026-11-30 10:00:12 TP0] Allocating 1.00 GB host memory for hierarchical KV cache.",
            ]
        )
        .facts()
    )
    assert facts["host_bytes_per_rank"] == 108 * GB
    assert facts["draft_host_bytes_per_rank"] == GB


def test_the_smallest_group_decides_how_many_tokens_fit() -> None:
    lines = [
        f"[2026-11-30 10:00:00 DP{dp} TP{dp} EP{dp}] max_total_num_tokens={n}, context_len=8192, "
        "max_running_requests=9, available_gpu_mem=3.00 GB"
        for dp, n in ((0, 5000), (1, 4800))
    ]
    assert StartupParser().feed_all(lines).facts()["max_total_num_tokens"] == 4800


def test_a_new_run_in_the_same_log_begins_anew() -> None:
    old = [line.replace("=1000,", "=777,") for line in start_lines("0.5.9", host=False)]
    unit = "Starting sglang-kimi.service - SGLang server kimi..."
    parser = StartupParser().feed_all([*old, unit, *start_lines("0.5.18")[:-1]])
    assert parser.state == "starting"
    assert parser.facts()["max_total_num_tokens"] == 1000
    parser.feed_all([*start_lines("0.5.18")[:4]])
    assert parser.facts()["max_total_num_tokens"] is None


def test_weights_in_progress_are_counted() -> None:
    parser = StartupParser()
    assert parser.progress() == {"shards_done": None, "shards_total": None}
    parser.feed("Loading safetensors checkpoint shards:  59% Completed | 38/64 [02:40<01:50]")
    assert parser.progress() == {"shards_done": 38, "shards_total": 64}
    parser.feed("Multi-thread loading shards: 100% Completed | 64/64 [03:00<00:00, 2.9s/it]")
    assert parser.progress() == {"shards_done": 64, "shards_total": 64}


@pytest.mark.parametrize(
    ("text", "rank", "message"),
    [
        ("[2026-11-30 10:00:00] hello", "", "hello"),
        (
            "[2026-11-30 10:00:00.123 DP0 PP1 ATTN_CP2 MOE_DP3 TP4 EP5] x",
            "DP0 PP1 ATTN_CP2 MOE_DP3 TP4 EP5",
            "x",
        ),
        ("[10:00:00 TP3] x", "TP3", "x"),
        ("[2026-11-30 TP1] x", "TP1", "x"),
        ("2026-11-30T10:00:00+0000 gpu-01 python[77]: [2026-11-30 10:00:00 TP1] x", "TP1", "x"),
        (
            "Nov 30 10:00:00 gpu-01 python[77]: Traceback (most recent call last):",
            "",
            "Traceback (most recent call last):",
        ),
        ("[full] total=1, available=2", "", "[full] total=1, available=2"),
        ("", "", ""),
    ],
)
def test_prefixes(text: str, rank: str, message: str) -> None:
    line = split_line(text)
    assert (line.rank, line.message) == (rank, message)


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
        if pair[0] not in ("exception", "child_died", "exit", "start_timeout")
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


TEXT = st.one_of(
    st.text(max_size=200),
    st.sampled_from(start_lines("0.5.23") + start_lines("0.5.2") + [line for _c, line in FAILED]),
)
CUT = st.tuples(TEXT, st.integers(0, 300), st.integers(0, 300)).map(
    lambda parts: parts[0][parts[1] :] + parts[0][: parts[2]]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(TEXT, CUT), max_size=30))
def test_cut_shuffled_and_garbled_lines_never_raise(lines: list[str]) -> None:
    facts = StartupParser().feed_all(lines).facts(detail=True)
    assert facts["state"] in ("absent", "starting", "ready", "failed")
    assert facts["cause"] is None or facts["cause"] in CAUSES


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 22).map(lambda position: KNOWN[position]), st.randoms())
def test_the_order_of_the_ranks_does_not_matter(version: str, random: st.DataObject) -> None:
    def by_rank(lines: list[str]) -> list[list[str]]:
        return [[line for line in lines if f" TP{rank}]" in line] for rank in range(8)]

    lines = start_lines(version, ranks=8)
    queues = [queue for queue in by_rank(lines) if queue]
    mixed = []
    while queues:
        queue = random.choice(queues)  # type: ignore[attr-defined]
        mixed.append(queue.pop(0))
        queues = [queue for queue in queues if queue]
    mixed.append(READY)
    expected = StartupParser().feed_all(lines).facts()
    got = StartupParser().feed_all(mixed).facts()
    assert {**got, "ready_s": None} == {**expected, "ready_s": None}

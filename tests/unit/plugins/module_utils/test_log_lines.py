# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine printed in each release, and what the parser makes of it."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.causes import CAUSES
from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_lines import (
    GB,
    GIB,
    StartupParser,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.startup_log import (
    READY,
    minor,
    start_lines,
)
from hypothesis import given, settings
from hypothesis import strategies as st


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


# --- each wording of each line, with the numbers that it must give --------------------------------

TP = "[2026-11-30 10:00:30 TP0] "
# (releases, line, what the rank says of it in detail)
ROWS = [
    ("-0.5.8", "Init torch distributed ends. mem usage=1.50 GB", {"init_s": None}),
    (
        "0.5.9-20",
        "Init torch distributed ends. elapsed=3.25 s, mem usage=1.50 GB",
        {"init_s": 3.25},
    ),
    ("0.5.21-", "Init parallel ends. elapsed=4.50 s", {"init_s": 4.5}),
    (
        "-0.5.8",
        "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=50.00 GB, "
        "mem usage=30.25 GB.",
        {"weights_bytes": int(30.25 * GIB), "avail_bytes": 50 * GIB, "load_s": None},
    ),
    (
        "0.5.9",
        "Load weight end. elapsed=41.50 s, type=LlamaForCausalLM, dtype=torch.bfloat16, "
        "avail mem=50.00 GB, mem usage=30.25 GB.",
        {"weights_bytes": int(30.25 * GIB), "avail_bytes": 50 * GIB, "load_s": 41.5},
    ),
    (
        "0.5.10-",
        "Load weight end. elapsed=41.50 s, type=LlamaForCausalLM, avail mem=50.00 GB, "
        "mem usage=30.25 GB.",
        {"weights_bytes": int(30.25 * GIB), "avail_bytes": 50 * GIB, "load_s": 41.5},
    ),
    (
        "0.5.10- quantized",
        "Load weight end. elapsed=41.50 s, type=LlamaForCausalLM, quant=fp8, fmt=e4m3, "
        "avail mem=50.00 GB, mem usage=30.25 GB.",
        {"weights_bytes": int(30.25 * GIB), "avail_bytes": 50 * GIB, "load_s": 41.5},
    ),
    (
        "0.5.18- with overlap",
        "Load weight end. Committed real weights after CUDA graph capture in 12.50 s (capture "
        "overlap window 9.00 s, startup overlap total 30.00 s)",
        {"load_s": 12.5, "weights_bytes": None},
    ),
    (
        "-0.5.12 GQA",
        "KV Cache is allocated. #tokens: 7000, K size: 1.25 GB, V size: 1.00 GB",
        {"device_tokens": 7000, "device_bytes": int(2.25 * GIB)},
    ),
    (
        "-0.5.12 MLA",
        "KV Cache is allocated. #tokens: 7000, KV size: 2.25 GB",
        {"device_tokens": 7000, "device_bytes": int(2.25 * GIB)},
    ),
    (
        "0.5.13-16",
        "KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 7000, KV size: 2.25 GB",
        {"device_tokens": 7000, "device_bytes": int(2.25 * GIB)},
    ),
    (
        "0.5.17- sliding window",
        "SWA KV Cache is allocated. dtype: torch.bfloat16, #tokens: 5600, K size: 1.25 GB, "
        "V size: 1.00 GB",
        {"swa_tokens": 5600, "device_bytes": int(2.25 * GIB)},
    ),
    (
        "0.5.17- other label",
        "MiniMax MSA-v1 main NVFP4 KV Cache is allocated. dtype: torch.uint8, #tokens: 7000, "
        "KV size: 2.25 GB",
        {"device_tokens": 7000, "device_bytes": int(2.25 * GIB)},
    ),
    (
        "0.5.18- reserved only",
        "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 9000, K size: 9.00 GB, "
        "V size: 9.00 GB",
        {"device_tokens": None, "device_bytes": None},
    ),
    (
        "all",
        "Use sliding window memory pool. full_layer_tokens=7000, swa_layer_tokens=5600",
        {"swa_tokens": 5600},
    ),
    (
        "0.5.23 all layers",
        "Use sliding window memory pool (all SWA). swa_layer_tokens=5600",
        {"swa_tokens": 5600},
    ),
    (
        "-0.5.16",
        "SWAKVPool mem usage: 7.50 GB, swa size: 5600, full size: 7000",
        {"swa_tokens": 5600, "device_bytes": None},
    ),
    (
        "0.5.16 resized",
        "Post-capture KV sizing: max_total_num_tokens=6800, free memory=4.00 GB",
        {"max_total_num_tokens": 6800},
    ),
    (
        "0.5.17- resized",
        "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 6800, "
        "KV size: 2.25 GB, avail mem=4.00 GB",
        {"device_tokens": 6800, "device_bytes": int(2.25 * GIB), "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.17- resized windows",
        "Post-capture KV sizing: full_layer_tokens=6800, swa_layer_tokens=5440",
        {"swa_tokens": 5440},
    ),
    (
        "0.5.17- no window",
        "Post-capture KV sizing: full_layer_tokens=6800, swa_layer_tokens=0",
        {"swa_tokens": None},
    ),
    (
        "0.5.22- resized draft",
        "Post-capture KV sizing: draft KV cache allocated. dtype: torch.bfloat16, #tokens: 6800, "
        "KV size: 0.25 GB",
        {"draft_tokens": 6800, "draft_device_bytes": GIB // 4, "device_bytes": None},
    ),
    (
        "0.5.2",
        "Mamba Cache is allocated. conv_state size: 0.50GB, ssm_state size: 3.25GB ",
        {"state_slots": None, "state_bytes": int(3.75 * GIB), "device_bytes": None},
    ),
    (
        "0.5.3-",
        "Mamba Cache is allocated. max_mamba_cache_size: 96, conv_state size: 0.50GB, "
        "ssm_state size: 3.25GB ",
        {"state_slots": 96, "state_bytes": int(3.75 * GIB)},
    ),
    (
        "0.5.3- speculative",
        "Mamba Cache is allocated. max_mamba_cache_size: 96, conv_state size: 0.50GB, "
        "ssm_state size: 3.25GB intermediate_ssm_state_cache size: 1.00GB "
        "intermediate_conv_window_cache size: 0.25GB ",
        {"state_slots": 96, "state_bytes": 5 * GIB},
    ),
    ("all", "Memory pool end. avail mem=5.50 GB", {"avail_bytes": int(5.5 * GIB)}),
    (
        "-0.5.13",
        "Capture cuda graph end. Time elapsed: 20.50 s. mem usage=1.25 GB. avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.6-13",
        "Capture piecewise CUDA graph end. Time elapsed: 20.50 s. mem usage=1.25 GB. "
        "avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.9-13 other device",
        "Capture npu graph end. Time elapsed: 20.50 s. mem usage=1.25 GB. avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.14-",
        "Capture target prefill CUDA graph end. elapsed=20.50 s, mem usage=1.25 GB, "
        "avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.14- step",
        "Capture draft extend CUDA graph end. step=1, elapsed=20.50 s, mem usage=1.25 GB, "
        "avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.16- single",
        "Capture single-CG draft extend end. elapsed=20.50 s, mem usage=1.25 GB, "
        "avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "0.5.22-",
        "Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=20.50 s, mem usage=1.25 GB, "
        "avail mem=4.00 GB.",
        {"graphs_s": 20.5, "avail_bytes": 4 * GIB},
    ),
    (
        "all",
        "max_total_num_tokens=7000, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=40, context_len=4096, available_gpu_mem=4.50 GB",
        {"max_total_num_tokens": 7000, "avail_bytes": int(4.5 * GIB)},
    ),
    (
        "all, CPU",
        "max_total_num_tokens=7000, chunked_prefill_size=-1, max_prefill_tokens=16384, "
        "max_running_requests=40, context_len=4096, available_cpu_mem=4.50 GB",
        {"max_total_num_tokens": 7000, "avail_bytes": int(4.5 * GIB)},
    ),
    (
        "-0.5.16",
        "Allocating 6.50 GB host memory for hierarchical KV cache.",
        {"host_bytes": 6_500_000_000, "host_tokens": None},
    ),
    (
        "0.5.10-22",
        "Allocating 6.50 GB host memory for hierarchical Mamba cache (layout=layer_first).",
        {"host_pools": [{"pool": "state", "tokens": None, "bytes": 6_500_000_000}]},
    ),
    (
        "0.5.23",
        "Allocating 6.50 GB host memory for hierarchical Mamba cache (192 state slots, "
        "layout=layer_first).",
        {"host_pools": [{"pool": "state", "tokens": 192, "bytes": 6_500_000_000}]},
    ),
    (
        "0.5.11-12",
        "Allocating 6.50 GB host memory for NSA indexer (layout=page_first).",
        {"indexer_bytes": 6_500_000_000, "host_bytes": 6_500_000_000},
    ),
    (
        "0.5.18-",
        "Allocating 6.50 GB host memory for DSA indexer (layout=page_first), packed MTP layers: "
        "target_layers=60, draft_layers=1, total_layers=61.",
        {"indexer_bytes": 6_500_000_000, "host_bytes": 6_500_000_000},
    ),
    (
        "0.5.15-",
        "Allocating 6.50 GB host memory for MiniMax sparse index-K (layout=page_first).",
        {"indexer_bytes": 6_500_000_000},
    ),
    (
        "0.5.23",
        "Allocating 6.50 GB host memory for MiniMax NVFP4 index cache (layout=page_first).",
        {"indexer_bytes": 6_500_000_000},
    ),
    (
        "0.5.12-",
        "Allocating 6.50 GB host memory for V4 paged pool 'swa' (layers=61, pages=70, "
        "item_bytes=150000).",
        {"host_pools": [{"pool": "paged_swa", "tokens": None, "bytes": 6_500_000_000}]},
    ),
    (
        "0.5.13-",
        "Allocating 6.50 GB host memory for V4 state pool 'c4' (layers=61, pages=70, "
        "state_page_bytes=9000, layout=page_first).",
        {"host_pools": [{"pool": "state_c4", "tokens": None, "bytes": 6_500_000_000}]},
    ),
    (
        "0.5.17-",
        "Allocating kv hierarchical KV host pool: 14016 tokens, 6.50 GB host memory.",
        {"host_tokens": 14016, "host_bytes": 6_500_000_000},
    ),
    (
        "0.5.18- packed",
        "Allocating kv hierarchical KV host pool: 14016 tokens, 6.50 GB host memory, packed MTP KV "
        "layers: target_layers=60, draft_layers=1, total_layers=61.",
        {"host_tokens": 14016, "host_bytes": 6_500_000_000},
    ),
    (
        "0.5.17- draft",
        "Allocating draft hierarchical KV host pool: 14016 tokens, 0.50 GB host memory.",
        {"draft_host_tokens": 14016, "draft_host_bytes": 500_000_000, "host_bytes": None},
    ),
    (
        "0.5.17- sliding window",
        "Allocating swa hierarchical KV host pool: 11200 tokens, 0.50 GB host memory.",
        {"swa_host_tokens": 11200, "host_tokens": None, "host_bytes": 500_000_000},
    ),
    (
        "0.5.20-",
        "MLATokenToKVPoolHost dummy mode: allocator-only, size=14016 tokens, saving 6.50 GB host "
        "memory",
        {"host_tokens": 14016, "host_bytes": 0},
    ),
]


@pytest.mark.parametrize(
    ("line", "expected"), [(row[1], row[2]) for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_a_line_gives_its_numbers(line: str, expected: dict[str, object]) -> None:
    rank = StartupParser().feed_all([TP + line]).facts(detail=True)["ranks"][0]
    assert {name: rank[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (
            "HiCache auto-sizing: ratio 2.000 -> 1.375; 81.0 GiB host memory per rank (fraction "
            "0.80, 8 ranks on this host), host pools 79.5 GiB.",
            "auto_ratio",
            1.375,
        ),
        ("Post-capture KV sizing: max_running_requests 48 -> 31", "max_running_requests", 31),
    ],
)
def test_a_line_gives_a_number_of_the_server(line: str, name: str, value: float) -> None:
    assert StartupParser().feed_all([TP + line]).facts()[name] == value


@pytest.mark.parametrize(
    "line",
    [
        "Sync fixed-size HiCache host token capacity from 14016 to 13952.",
        "HiCache draft KV registered: MHATokenToKVPool (host 13952 slots)",
    ],
)
def test_slots_of_a_host_pool_by_a_line_of_their_own(line: str) -> None:
    pool = "Allocating 6.50 GB host memory for hierarchical KV cache."
    for lines in ([pool, line], [line, pool]):
        facts = StartupParser().feed_all(TP + text for text in lines).facts()
        assert facts["host_tokens"] == 13952


@pytest.mark.parametrize(
    "line",
    [
        "KV Cache skipped (no-op pool). Logical #tokens: 7000, physical K/V size: ~4.0 KB placeholder",
        "max_total_tokens=131072 is larger than the profiled value -5. Use the profiled value instead.",
        "Prefill batch. #new-seq: 1, #new-token: 9, #cached-token: 1, token usage: 0.00, #queue-req: 0, ",
        "Prefill batch [7], #new-seq: 1, #new-token: 9, input throughput (token/s): 5.26, cuda graph: False",
        "Decode batch, #running-req: 1, #full token: 9, full token usage: 0.25, mamba num: 3, accept len: 3.0",
        "The available memory for KV cache is 17.67 GB.",
        "HiCache memory headroom: host 190.0 GiB, cgroup 170.0 GiB",
        "Reserving 2.00 GB of the KV budget for post-sizing multimodal allocations",
        "Post-capture KV sizing: KV-canary per-forward workspace 0.25 GB",
    ],
)
def test_lines_that_tell_of_no_pool(line: str) -> None:
    assert StartupParser().feed_all([TP + line]).facts(detail=True)["ranks"] == []


def test_pools_that_few_models_have_are_left_out() -> None:
    facts = StartupParser().feed_all(start_lines("0.5.23", draft=False)).facts()
    rare = {"swa_tokens", "swa_host_tokens", "state_slots", "state_bytes_per_rank"}
    assert not set(facts) & (rare | {"draft_tokens", "indexer_bytes_per_rank", "auto_ratio"})
    assert StartupParser().feed_all(start_lines("0.5.23")).facts()["draft_tokens"] == 1000


def test_the_limits_are_in_the_detail() -> None:
    facts = StartupParser().feed_all(start_lines("0.5.23")).facts(detail=True)
    assert facts["limits"] == {
        "chunked_prefill_size": 8192,
        "max_prefill_tokens": 16384,
        "max_running_requests": 48,
        "context_len": 4096,
    }


def test_a_reserved_pool_gets_its_size_after_the_graphs() -> None:
    reserved = "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 9000, KV size: 9.00 GB"
    parser = StartupParser().feed_all(
        TP + text
        for text in (
            reserved,
            "Memory pool end. avail mem=9.00 GB",
            reserved,
            "Memory pool end. avail mem=9.00 GB",
            "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 6800, "
            "KV size: 2.25 GB, avail mem=4.00 GB",
            "Post-capture KV sizing: draft KV cache allocated. dtype: torch.bfloat16, "
            "#tokens: 6800, KV size: 0.25 GB",
        )
    )
    rank = parser.facts(detail=True)["ranks"][0]
    assert (rank["device_tokens"], rank["device_bytes"]) == (6800, int(2.25 * GIB))
    assert (rank["draft_tokens"], rank["draft_device_bytes"]) == (6800, GIB // 4)


def test_sliding_window_pools_without_labels() -> None:
    parser = StartupParser().feed_all(
        TP + text
        for text in (
            "Use sliding window memory pool. full_layer_tokens=7000, swa_layer_tokens=5600",
            "KV Cache is allocated. #tokens: 5600, K size: 4.00 GB, V size: 2.00 GB",
            "KV Cache is allocated. #tokens: 7000, K size: 1.00 GB, V size: 0.50 GB",
            "SWAKVPool mem usage: 7.50 GB, swa size: 5600, full size: 7000",
            "Memory pool end. avail mem=9.00 GB",
        )
    )
    rank = parser.facts(detail=True)["ranks"][0]
    assert (rank["device_tokens"], rank["swa_tokens"]) == (7000, 5600)
    assert rank["device_bytes"] == int(7.5 * GIB)


def test_structured_lines_of_eight_ranks_count_once() -> None:
    def start(second: int, text: str) -> list[str]:
        return [
            f"worker-1  | 2026-11-30T10:00:{second}.{rank}Z  INFO memory_pool.__init__: {text}"
            for rank in range(8)
        ]

    parser = StartupParser().feed_all(
        [
            *start(10, "KV Cache is allocated. #tokens: 7000, KV size: 2.25 GB"),
            *start(11, "Memory pool end. avail mem=9.00 GB"),
            *start(12, "Allocating 6.50 GB host memory for hierarchical KV cache."),
            *start(13, "Allocating 0.50 GB host memory for hierarchical KV cache."),
        ]
    )
    facts = parser.facts()
    assert facts["device_bytes_per_rank"] == int(2.25 * GIB)
    assert facts["host_bytes_per_rank"] == 6_500_000_000
    assert facts["draft_host_bytes_per_rank"] == 500_000_000


def test_the_clock_that_jumped_gives_no_time() -> None:
    lines = ["[2026-11-30 10:00:00] server_args={}", "[2026-11-30 09:00:00] " + READY[22:]]
    facts = StartupParser().feed_all(lines).facts()
    assert (facts["state"], facts["ready_s"]) == ("ready", None)
    lines = [
        TP + "Load weight begin. avail mem=9.00 GB",
        "[2026-11-30 09:00:00 TP0] Load weight end. type=X, avail mem=5.00 GB, mem usage=4.00 GB.",
    ]
    assert StartupParser().feed_all(lines).facts()["load_s"] is None


@pytest.mark.parametrize(
    ("entry", "done"),
    [
        (
            "\rLoading shards:   0% Completed | 0/64 [00:00<?]\rLoading shards:  50% Completed | 32/64 [",
            32,
        ),
        ("\x1b[32mLoading shards:  50% Completed | 32/64 [00:09\x1b[0m", 32),
        ("Loading shards: 100% Completed | 64/64 [00:19]\n" + TP + "Memory pool end.", 64),
    ],
)
def test_the_last_state_of_a_progress_bar_counts(entry: str, done: int) -> None:
    parser = StartupParser()
    parser.feed(entry)
    assert parser.progress()["shards_done"] == done


# --- anything at all ------------------------------------------------------------------------------

KNOWN_LINES = [*start_lines("0.5.23"), *start_lines("0.5.2"), *(TP + row[1] for row in ROWS)]
TEXT = st.one_of(st.text(max_size=200), st.sampled_from(KNOWN_LINES))
CUT = st.tuples(TEXT, TEXT, st.integers(0, 300), st.integers(0, 300)).map(
    lambda parts: parts[0][parts[2] :] + parts[1][: parts[3]]
)


def spoil(parts: tuple[str, int, str]) -> str:
    text, position, character = parts
    return text[:position] + character + text[position + 1 :]


GARBLED = st.tuples(TEXT, st.integers(0, 200), st.sampled_from("0-9. =,\r\n\x1b\x00é")).map(spoil)
ENTRIES = st.lists(st.one_of(TEXT, CUT, GARBLED), max_size=30)


def numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


@settings(max_examples=300, deadline=None)
@given(ENTRIES)
def test_whatever_comes_gives_no_error_and_no_absurd_number(entries: list[str]) -> None:
    facts = StartupParser().feed_all(entries).facts(detail=True)
    assert facts["state"] in ("absent", "starting", "ready", "failed")
    assert facts["cause"] is None or facts["cause"] in CAUSES
    # A petabyte for each of the lines.
    assert all(0 <= number < 31 * 2**50 for number in numbers(facts))
    for name in ("context_tokens", "max_total_num_tokens", "host_tokens", "draft_tokens"):
        assert (facts.get(name) or 0) < 10**11


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

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flag data and the refusals built on it, sampled where versions differ."""

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.flags import (
    FlagTable,
    flags_of,
    versions_with,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version

FLAG_COUNTS = {"0.5.1.post3": 200, "0.5.9": 331, "0.5.10.post1": 354, "0.5.18": 488, "0.5.23": 531}


def table(text: str) -> FlagTable:
    return flags_of(Version.parse(text))


def refusals(text: str, arguments: str) -> list[str]:
    return table(text).accepts(["--model-path", "/m", *arguments.split()])


@pytest.mark.parametrize(("text", "count"), FLAG_COUNTS.items())
def test_every_flag_of_a_version_is_there(text: str, count: int) -> None:
    assert sum(1 for _flag in table(text)) == count


def test_tables_are_shared_and_unknown_versions_use_the_nearest() -> None:
    assert table("0.5.23+double") is table("0.5.23")
    assert table("0.7.0").version == "0.5.23"


@pytest.mark.parametrize(
    ("text", "name", "default"),
    [
        ("0.5.17", "--hicache-ratio", 2.0),
        ("0.5.18", "--hicache-ratio", None),
        ("0.5.13.post1", "--hicache-mem-layout", "layer_first"),
        ("0.5.14", "--hicache-mem-layout", "page_first"),
        ("0.5.1.post3", "--hicache-write-policy", "write_through_selective"),
        ("0.5.21", "--hicache-host-memory-fraction", 0.8),
    ],
)
def test_defaults_follow_the_version(text: str, name: str, default: object) -> None:
    flag = table(text).resolve(name)
    assert flag is not None
    assert flag.default == default


def test_choices_follow_the_version() -> None:
    assert refusals("0.5.3.post3", "--kv-cache-dtype bf16") != []
    assert refusals("0.5.4.post3", "--kv-cache-dtype bf16") == []
    assert refusals("0.5.4.post3", "--reasoning-parser kimi_k2") != []
    assert refusals("0.5.5.post3", "--reasoning-parser kimi_k2") == []
    assert refusals("0.5.11", "--speculative-algorithm UNO") != []
    assert refusals("0.5.12.post1", "--speculative-algorithm UNO") == []


def test_aliases_resolve_to_the_spelling_of_the_version() -> None:
    flag = table("0.5.23").resolve("tensor-parallel-size")
    assert flag is not None
    assert (flag.name, flag.dest, flag.takes_value) == ("--tp-size", "tp_size", True)
    old = table("0.5.9").resolve("--tp-size")
    assert old is not None
    assert old.name == "--tensor-parallel-size"
    assert table("0.5.22").resolve("--enable-hicache") is None
    assert table("0.5.23").resolve("--tp") is None


def test_versions_with_a_flag() -> None:
    assert versions_with("--disable-hicache-numa-detect") == ("0.5.8.post1", "0.5.9")
    assert versions_with("--cuda-graph-max-bs")[-1] == "0.5.19"
    assert versions_with("--tp-size") == KNOWN
    assert versions_with("--no-such-flag") == ()


def test_a_usual_command_line_is_accepted_by_all_versions() -> None:
    line = (
        "--tp 8 --host 127.0.0.1 --port=30000 --trust-remote-code --mem-fraction-static 0.9 "
        "--enable-hierarchical-cache --hicache-ratio 2 --served-model-name kimi-k2.5 "
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path /d --dist-timeout 3600"
    )
    assert {text: refusals(text, line) for text in KNOWN} == {text: [] for text in KNOWN}


def test_abbreviations_work_only_while_unique() -> None:
    assert refusals("0.5.23", "--enable-metrics-for-all") == []
    [problem] = refusals("0.5.20", "--cuda-graph-max-bs 64")
    assert problem.startswith("ambiguous option: --cuda-graph-max-bs could match ")
    assert "--cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill" in problem
    assert refusals("0.5.19", "--cuda-graph-max-bs 64") == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--tp_size 8 --bogus", "unrecognized arguments: --tp_size 8 --bogus"),
        ("--port x", "argument --port: invalid int value: 'x'"),
        ("--tp-size 2.0", "argument --tp-size/--tensor-parallel-size: invalid int value: '2.0'"),
        ("--hicache-ratio two", "argument --hicache-ratio: invalid float value: 'two'"),
        ("--port", "argument --port: expected one argument"),
        ("--port --enable-metrics", "argument --port: expected one argument"),
        ("--enable-metrics=1", "argument --enable-metrics: ignored explicit argument '1'"),
        (
            "--cuda-graph-bs-decode",
            "argument --cuda-graph-bs-decode: expected at least one argument",
        ),
        (
            "--hicache-io-backend dma",
            "argument --hicache-io-backend: invalid choice: 'dma' "
            "(choose from 'direct', 'kernel', 'kernel_ascend')",
        ),
        (
            "--default-chat-template-kwargs {",
            "argument --default-chat-template-kwargs: invalid loads value: '{'",
        ),
    ],
)
def test_refusals_speak_like_argparse(arguments: str, problem: str) -> None:
    assert refusals("0.5.23", arguments) == [problem]


def test_every_bad_value_is_reported_at_once() -> None:
    problems = refusals("0.5.23", "--port x --hicache-ratio y --bogus")
    assert len(problems) == 3


def test_model_path_is_required_unless_a_config_file_may_give_it() -> None:
    missing = "the following arguments are required: --model-path/--model"
    assert table("0.5.23").accepts([]) == [missing]
    assert table("0.5.23").accepts(["--config", "/etc/x.yaml"]) == []
    assert table("0.5.23").accepts(["--config=/etc/x.yaml"]) == [missing]


def test_counts_take_suffixes_since_0_5_10() -> None:
    assert refusals("0.5.9", "--context-length 256k") != []
    values = table("0.5.10.post1").parse(
        ["--model", "/m", "--context-length", "256k", "--max-total-tokens", "1.5M"]
    )
    assert values.problems == []
    assert values.values["context_length"] == 256_000
    assert values.values["max_total_tokens"] == 1_500_000
    assert table("0.5.23").parse(["--max-total-tokens=4Ki"]).values["max_total_tokens"] == 4096
    assert len(refusals("0.5.23", "--max-total-tokens 1.5Ki")) == 1
    assert len(refusals("0.5.23", "--max-total-tokens 4K")) == 1


def test_lists_negative_numbers_and_switches_are_read() -> None:
    line = "--cuda-graph-bs-decode 1 2 4 --chunked-prefill-size -1 --no-dllm-fdfo"
    parsed = table("0.5.23").parse(["--model-path", "/m", *line.split(), "--disable-cuda-graph"])
    assert parsed.problems == []
    assert parsed.values["cuda_graph_bs_decode"] == [1, 2, 4]
    assert parsed.values["chunked_prefill_size"] == -1
    assert parsed.values["dllm_fdfo"] is False
    assert parsed.values["disable_cuda_graph"] is True
    assert parsed.values["port"] == 30000

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of every version: order, spelling, what cannot be said, and what users add."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.arguments import (
    build_arguments,
    text_of,
    to_argv,
    value_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.flags import flags_of
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.engine_case import (
    EAGLE3,
    HEADLINE,
    capacity,
    facts,
    wishes,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def argv_of(
    version: str = "0.5.23",
    plan: dict[str, Any] | None = None,
    host: dict[str, Any] | None = None,
    **changes: Any,
) -> list[str]:
    arguments, findings = build_arguments(
        wishes(**changes), plan or capacity(), host or facts(), Version.parse(version)
    )
    assert findings == []
    return to_argv(arguments)


def findings_of(version: str = "0.5.23", **changes: Any) -> list[dict[str, Any]]:
    return build_arguments(wishes(**changes), capacity(), facts(), Version.parse(version))[1]


def after(argv: list[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_the_headline_in_its_stable_order() -> None:
    plan = capacity("ratio", ratio=4.37)
    assert argv_of(plan=plan, host=facts(topology="SYS"), **HEADLINE) == [
        *("--config", "/run/credentials/sglang-kimi.service/secrets.yaml"),
        *("--model-path", "/srv/models/kimi-k2.5"),
        *("--served-model-name", "kimi-k2.5"),
        "--trust-remote-code",
        *("--host", "127.0.0.1"),
        *("--port", "30000"),
        *("--tp-size", "8"),
        *("--mem-fraction-static", "0.87"),
        "--enable-hierarchical-cache",
        *("--hicache-ratio", "4.37"),
        *("--speculative-algorithm", "EAGLE3"),
        *("--speculative-draft-model-path", "/srv/models/draft"),
        *("--speculative-num-steps", "3"),
        *("--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", "4"),
        *("--tool-call-parser", "kimi_k2"),
        *("--reasoning-parser", "kimi_k2"),
        "--disable-custom-all-reduce",
        *("--cuda-graph-max-bs-decode", "32"),
        *("--log-level", "info"),
        "--enable-metrics",
        "--enable-cache-report",
    ]


@pytest.mark.parametrize("version", [text for text in KNOWN if Version.parse(text) >= "0.5.5"])
def test_the_headline_is_accepted_by_every_version_that_can_run_it(version: str) -> None:
    argv = argv_of(version, capacity("ratio", ratio=2.5), **HEADLINE)
    assert flags_of(Version.parse(version)).accepts(argv) == []


def test_an_argument_names_the_variable_behind_it() -> None:
    arguments, _findings = build_arguments(
        wishes(tp_size=4), capacity(), facts(), Version.parse("0.5.23")
    )
    assert {"flag": "--tp-size", "values": ["4"], "source": "sglang_tp_size"} in arguments
    assert value_of(arguments, "--absent", "--tp-size") == "4"
    assert value_of(arguments, "--enable-metrics") == ""
    assert value_of(arguments, "--absent") is None


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("0.5.13.post1", "--cuda-graph-max-bs"),
        ("0.5.14", "--cuda-graph-max-bs-decode"),
        ("0.5.20", "--cuda-graph-max-bs-decode"),
    ],
)
def test_the_graph_limit_has_the_name_of_its_version(version: str, flag: str) -> None:
    assert after(argv_of(version, cuda_graph_max_bs=16), flag) == "16"


def test_graphs_are_turned_off_without_the_deprecated_flag() -> None:
    assert "--disable-cuda-graph" in argv_of("0.5.13.post1", disable_cuda_graph=True)
    argv = argv_of("0.5.14", disable_cuda_graph=True)
    assert after(argv, "--cuda-graph-backend-decode") == "disabled"
    assert after(argv, "--cuda-graph-backend-prefill") == "disabled"
    assert "--disable-cuda-graph" not in argv


def test_dp_attention_moves_to_its_own_size() -> None:
    change = {"enable_dp_attention": True, "dp_size": 4, "tp_size": 8}
    old = argv_of("0.5.21", **change)
    assert after(old, "--dp-size") == "4"
    assert "--enable-dp-attention" in old
    new = argv_of("0.5.22", **change)
    assert after(new, "--attn-dp-size") == "4"
    assert "--dp-size" not in new


@pytest.mark.parametrize(
    ("version", "spoken"),
    [
        ("0.5.13.post1", ["--enable-flashinfer-allreduce-fusion"]),
        ("0.5.14", ["--flashinfer-allreduce-fusion-backend", "auto"]),
    ],
)
def test_fusion_is_asked_for_where_the_hardware_has_it(version: str, spoken: list[str]) -> None:
    host = facts(capability="10.0", topology="NVLINK")
    argv = argv_of(version, host=host, tp_size=8)
    start = argv.index(spoken[0])
    assert argv[start : start + len(spoken)] == spoken


@pytest.mark.parametrize(
    ("capability", "topology", "tp_size"),
    [
        ("12.0", "NVLINK", 8),
        ("8.0", "NVLINK", 8),
        ("9.0", "SYS", 8),
        ("9.0", None, 8),
        ("9.0", "NVLINK", 1),
        (None, "NVLINK", 8),
    ],
)
def test_fusion_is_left_alone_elsewhere(
    capability: str | None, topology: str | None, tp_size: int
) -> None:
    argv = argv_of(host=facts(capability=capability, topology=topology), tp_size=tp_size)
    assert not any("allreduce-fusion" in word for word in argv)


def test_fusion_can_be_forbidden_since_the_flag_exists() -> None:
    flag = "--enforce-disable-flashinfer-allreduce-fusion"
    assert flag in argv_of("0.5.10.post1", allreduce_fusion="off")
    assert flag not in argv_of("0.5.9", allreduce_fusion="off")


@pytest.mark.parametrize(
    ("wish", "topology", "tp_size", "off"),
    [
        ("auto", "NODE", 8, True),
        ("auto", "NODE", 2, False),
        ("auto", "NVLINK", 8, False),
        ("auto", None, 8, False),
        ("off", "NVLINK", 8, True),
        ("on", "NODE", 8, False),
    ],
)
def test_custom_all_reduce(wish: str, topology: str | None, tp_size: int, off: bool) -> None:
    argv = argv_of(host=facts(topology=topology), custom_all_reduce=wish, tp_size=tp_size)
    assert ("--disable-custom-all-reduce" in argv) is off


def test_overlap_is_the_default_and_says_nothing() -> None:
    assert "--disable-overlap-schedule" not in argv_of()
    assert "--disable-overlap-schedule" in argv_of(overlap_schedule=False)


@pytest.mark.parametrize(
    ("plan", "spoken"),
    [
        (capacity("off"), []),
        (capacity("ratio", ratio=4.0), ["--enable-hierarchical-cache", "--hicache-ratio", "4.0"]),
        (capacity("size", size_gb=26), ["--enable-hierarchical-cache", "--hicache-size", "26"]),
        (capacity("engine_auto"), ["--enable-hierarchical-cache"]),
        (
            capacity("engine_auto", fraction=0.98),
            ["--enable-hierarchical-cache", "--hicache-host-memory-fraction", "0.98"],
        ),
    ],
)
def test_the_host_tier_is_what_was_planned(plan: dict[str, Any], spoken: list[str]) -> None:
    argv = argv_of(plan=plan)
    found = [word for word in argv if "hicache" in word or "hierarchical" in word]
    assert found == [word for word in spoken if word.startswith("--")]
    assert all(word in argv for word in spoken)


def test_settings_of_hicache_need_a_host_tier() -> None:
    change = {
        "hicache_write_policy": "write_back",
        "hicache_io_backend": "direct",
        "hicache_mem_layout": "page_first_direct",
    }
    assert not any("hicache" in word for word in argv_of(**change))
    argv = argv_of(plan=capacity("ratio", ratio=2.0), **change)
    assert after(argv, "--hicache-write-policy") == "write_back"
    assert after(argv, "--hicache-io-backend") == "direct"
    assert after(argv, "--hicache-mem-layout") == "page_first_direct"


@pytest.mark.parametrize(
    ("mode", "source"), [("auto", "sglang_hicache_mode"), ("ratio", "sglang_hicache_ratio")]
)
def test_the_ratio_belongs_to_whoever_chose_it(mode: str, source: str) -> None:
    arguments, _findings = build_arguments(
        wishes(hicache_mode=mode), capacity("ratio", ratio=3.0), facts(), Version.parse("0.5.23")
    )
    assert [entry["source"] for entry in arguments if entry["flag"] == "--hicache-ratio"] == [
        source
    ]


def test_a_draft_without_speculation_is_not_loaded() -> None:
    assert not any("speculative" in word for word in argv_of(model_draft_path="/srv/draft"))
    assert "--speculative-draft-model-path" in argv_of(**EAGLE3)


def test_what_a_version_cannot_say_is_refused_by_name() -> None:
    finding = findings_of("0.5.6.post2", **EAGLE3, speculative_draft_attention_backend="triton")[0]
    assert (finding["id"], finding["severity"]) == ("ARG-001", "refuse")
    assert finding["variable"] == "sglang_speculative_draft_attention_backend"
    assert "0.5.7" in finding["text"]


def test_secrets_never_reach_the_command_line() -> None:
    argv = argv_of(secrets_present=True)
    assert argv[:2] == ["--config", "/run/credentials/sglang-kimi.service/secrets.yaml"]
    assert not any("api-key" in word for word in argv)
    assert "--config" not in argv_of(secrets_present=False)


# --- what users add


def test_extra_arguments_of_every_kind() -> None:
    argv = argv_of(
        extra_args={
            "--sleep-on-idle": None,
            "skip_server_warmup": True,
            "--enable-mixed-chunk": False,
            "cuda-graph-bs-prefill": [1, 2, 4],
            "preferred_sampling_params": {"top_p": 0.9, "min_p": 0.1},
            "weight-version": "two words",
        }
    )
    assert argv[argv.index("--enable-cache-report") + 1 :] == [
        "--sleep-on-idle",
        *("--cuda-graph-bs-prefill", "1", "2", "4"),
        *("--preferred-sampling-params", '{"min_p": 0.1, "top_p": 0.9}'),
        "--skip-server-warmup",
        *("--weight-version", "two words"),
    ]
    assert flags_of(Version.parse("0.5.23")).accepts(argv) == []


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("tp", "sglang_tp_size"),
        ("--tensor-parallel-size", "sglang_tp_size"),
        ("tensor_parallel_size", "sglang_tp_size"),
        ("--cuda-graph-max-bs", "sglang_cuda_graph_max_bs"),
        ("enable-hicache", "sglang_hicache_mode"),
        ("speculative-draft-model", "sglang_model_draft_path"),
        ("--config", "sglang_api_key_file"),
        ("--api-key", "sglang_api_key_file"),
        ("admin_api_key", "sglang_admin_api_key_file"),
        ("disable-overlap-schedule", "sglang_overlap_schedule"),
        ("enable-flashinfer-allreduce-fusion", "sglang_allreduce_fusion"),
    ],
)
def test_a_managed_flag_is_refused_with_its_variable(name: str, variable: str) -> None:
    arguments, findings = build_arguments(
        wishes(extra_args={name: "1"}), capacity(), facts(), Version.parse("0.5.23")
    )
    assert [(entry["id"], entry["variable"]) for entry in findings] == [("ARG-002", variable)]
    assert variable in findings[0]["remedy"]
    assert all(entry["source"] != "sglang_extra_args" for entry in arguments)


def test_an_ambiguous_prefix_lists_what_it_could_mean() -> None:
    finding = findings_of(extra_args={"speculative-ngram": 1})
    assert [entry["id"] for entry in finding] == ["ARG-003"]
    assert "--speculative-ngram-capacity" in finding[0]["text"]


def test_a_unique_prefix_is_written_in_full() -> None:
    assert after(argv_of(extra_args={"max-loaded": 7}), "--max-loaded-loras") == "7"


@pytest.mark.parametrize(
    ("version", "name", "value", "spoken"),
    [
        (
            "0.5.20",
            "--piecewise-cuda-graph-tokens",
            [1, 2],
            ["--cuda-graph-bs-prefill", "1", "2"],
        ),
        (
            "0.5.13.post1",
            "--piecewise-cuda-graph-tokens",
            [1, 2],
            ["--piecewise-cuda-graph-tokens", "1", "2"],
        ),
        ("0.5.23", "--stream-output", None, ["--incremental-streaming-output"]),
        # A new name on a version that has the old one, and a name that changed twice.
        ("0.5.4.post3", "incremental-streaming-output", None, ["--stream-output"]),
        ("0.5.9", "dsa_decode_backend", "fa3", ["--nsa-decode-backend", "fa3"]),
        ("0.5.3.post3", "dsa_decode_backend", "fa3", ["--nsa-decode", "fa3"]),
        ("0.5.23", "nsa-decode", "fa3", ["--dsa-decode-backend", "fa3"]),
        (
            "0.5.23",
            "--enable-breakable-cuda-graph",
            True,
            ["--cuda-graph-backend-prefill", "breakable"],
        ),
        ("0.5.23", "nsa_decode_backend", "fa3", ["--dsa-decode-backend", "fa3"]),
        (
            "0.5.23",
            "--disable-piecewise-cuda-graph",
            True,
            ["--cuda-graph-backend-prefill", "disabled"],
        ),
    ],
)
def test_renamed_flags_get_the_name_of_the_version(
    version: str, name: str, value: Any, spoken: list[str]
) -> None:
    argv = argv_of(version, extra_args={name: value})
    assert argv[-len(spoken) :] == spoken
    assert flags_of(Version.parse(version)).accepts(argv) == []


def test_unknown_flags_are_refused_with_the_versions_that_have_them() -> None:
    gone, never = findings_of(extra_args={"--torchao-config": "x", "--warp-speed": 9})
    assert (gone["id"], never["id"]) == ("ARG-004", "ARG-004")
    assert "0.5.17" in gone["text"]
    assert "no known version" in never["text"]


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("--enable-ep-moe", "sglang_ep_size"),
        ("enable-beta-spec", "sglang_overlap_schedule"),
        ("disable_hicache_numa_detect", "sglang_numa_bind"),
    ],
)
def test_what_is_said_otherwise_now_is_refused_with_what_replaces_it(
    name: str, instead: str
) -> None:
    [finding] = findings_of(extra_args={name: True})
    assert finding["id"] == "ARG-004"
    assert instead in finding["remedy"]


def test_a_value_in_the_name_is_refused() -> None:
    secret, own = findings_of(extra_args={"--max-lora-rank=8": True, "--api-key=planted": True})
    assert [secret["id"], own["id"]] == ["ARG-002", "ARG-007"]
    assert "planted" not in str([own, secret])


def test_a_newer_release_may_have_a_flag_that_is_not_known() -> None:
    assert argv_of("0.5.99", extra_args={"--warp-speed": 9})[-2:] == ["--warp-speed", "9"]


def test_two_spellings_of_one_flag_are_refused() -> None:
    finding = findings_of(extra_args={"--sleep-on-idle": True, "sleep_on_idle": True})
    assert [entry["id"] for entry in finding] == ["ARG-006"]


def test_values_that_begin_with_a_dash_reach_the_parser_as_values() -> None:
    argv = argv_of(extra_args={"weight-version": "-beta", "prefill-max-requests": -1})
    assert "--weight-version=-beta" in argv
    assert after(argv, "--prefill-max-requests") == "-1"
    parsed = flags_of(Version.parse("0.5.23")).parse(argv)
    assert parsed.problems == []
    assert parsed.values["weight_version"] == "-beta"
    assert [entry["id"] for entry in findings_of(extra_args={"lora-paths": ["a", "-b"]})] == [
        "ARG-005"
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4.0"),
        (4.37, "4.37"),
        (0.1 + 0.2, "0.3"),
        (8, "8"),
        (True, "true"),
        ("x", "x"),
        ({"b": 1, "a": [True]}, '{"a": [true], "b": 1}'),
        ("é", "é"),
    ],
)
def test_values_as_text(value: Any, text: str) -> None:
    assert text_of(value) == text


_CHOICES = {
    "tp_size": st.sampled_from([1, 2, 8]),
    "pp_size": st.sampled_from([1, 2]),
    "dp_size": st.sampled_from([1, 2, 4]),
    "enable_dp_attention": st.booleans(),
    "context_length": st.none() | st.integers(1, 10**6),
    "mem_fraction_static": st.none() | st.floats(0.1, 0.99),
    "page_size": st.sampled_from([None, 1, 64]),
    "kv_cache_dtype": st.sampled_from(["auto", "fp8_e5m2"]),
    "attention_backend": st.sampled_from([None, "triton", "flashinfer"]),
    "tool_call_parser": st.sampled_from([None, "kimi_k2", "qwen25"]),
    "overlap_schedule": st.booleans(),
    "cuda_graph_max_bs": st.none() | st.integers(1, 512),
    "disable_cuda_graph": st.booleans(),
    "allreduce_fusion": st.sampled_from(["auto", "on", "off"]),
    "custom_all_reduce": st.sampled_from(["auto", "on", "off"]),
    "dist_timeout_s": st.none() | st.integers(1, 10**5),
    "watchdog_timeout_s": st.none() | st.integers(1, 10**5),
    "speculative_algorithm": st.sampled_from([None, "EAGLE3", "NEXTN"]),
}


@settings(deadline=None, max_examples=30)
@given(
    version=st.sampled_from(KNOWN),
    change=st.fixed_dictionaries(_CHOICES),
    plan=st.sampled_from(
        [capacity("off"), capacity("ratio", ratio=1.5), capacity("size", size_gb=40)]
    ),
)
def test_no_version_ever_gets_a_flag_it_does_not_know(
    version: str, change: dict[str, Any], plan: dict[str, Any]
) -> None:
    arguments, findings = build_arguments(wishes(**change), plan, facts(), Version.parse(version))
    assert findings == []
    assert flags_of(Version.parse(version)).accepts(to_argv(arguments)) == []


@pytest.mark.parametrize("version", ["0.5.2", "0.5.10", "0.5.23"])
def test_prefill_and_decode_each_get_their_part(version: str) -> None:
    backend = {"disaggregation_transfer_backend": "nixl", "disaggregation_ib_device": "mlx5_0"}
    prefill = argv_of(version, disaggregation_mode="prefill", **backend)
    assert after(prefill, "--disaggregation-mode") == "prefill"
    assert after(prefill, "--disaggregation-transfer-backend") == "nixl"
    assert after(prefill, "--disaggregation-bootstrap-port") == "8998"
    assert after(prefill, "--disaggregation-ib-device") == "mlx5_0"
    decode = argv_of(version, disaggregation_mode="decode", **backend)
    assert after(decode, "--disaggregation-mode") == "decode"
    assert after(decode, "--disaggregation-transfer-backend") == "nixl"
    assert "--disaggregation-bootstrap-port" not in decode


def test_a_whole_server_hears_nothing_of_prefill_and_decode() -> None:
    argv = argv_of(disaggregation_transfer_backend="nixl", disaggregation_bootstrap_port=9000)
    assert not [word for word in argv if "disaggregation" in word]


def test_a_transfer_backend_of_another_version_is_refused() -> None:
    asked = {"disaggregation_mode": "decode", "disaggregation_transfer_backend": "mori"}
    assert flags_of(Version.parse("0.5.23")).accepts(argv_of("0.5.23", **asked)) == []
    (refusal,) = flags_of(Version.parse("0.5.2")).accepts(argv_of("0.5.2", **asked))
    assert "--disaggregation-transfer-backend" in refusal and "mori" in refusal

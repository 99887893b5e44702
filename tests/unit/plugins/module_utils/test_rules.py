# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule has a case that fires it and a healthy neighbour that does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.arguments import (
    build_arguments,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.environment import (
    build_environment,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.rules import (
    RULES,
    check_rules,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.engine_case import (
    EAGLE3,
    HEADLINE,
    capacity,
    facts,
    wishes,
)

KIMI = {"architecture": "KimiK25ForConditionalGeneration", "heads": 64}
OTHER = {"architecture": "LlamaForCausalLM", "heads": 64}
RATIO = capacity("ratio", ratio=2.0)


@dataclass(frozen=True)
class At:
    """One situation: variables by their short names, a version, a host and a host tier."""

    change: dict[str, Any] = field(default_factory=dict)
    version: str = "0.5.23"
    host: dict[str, Any] = field(default_factory=facts)
    plan: dict[str, Any] = field(default_factory=capacity)

    def findings(self) -> list[dict[str, Any]]:
        wished = wishes(**self.change)
        version = Version.parse(self.version)
        arguments, _refused = build_arguments(wished, self.plan, self.host, version)
        environment = build_environment(wished, self.plan, self.host, version)
        return check_rules(wished, arguments, environment, self.host, version)

    def ids(self) -> set[str]:
        return {entry["id"] for entry in self.findings()}


def gpus(count: int = 8, capability: str | None = "12.0", **more: Any) -> dict[str, Any]:
    return facts(gpus=count, capability=capability, **more)


def draft(**shape: Any) -> dict[str, Any]:
    return facts(model=KIMI, draft=shape)


def running(*argv: str) -> dict[str, Any]:
    return facts(server={"argv": ["python", "-m", "sglang.launch_server", *argv]})


def system(**engine: Any) -> dict[str, Any]:
    driver = {"loaded": engine.pop("driver", None)}
    return {"engine": engine, "gpu": {"driver": driver}}


def nodes(count: int = 2, **change: Any) -> dict[str, Any]:
    return {"tp_size": 8, "nnodes": count, "dist_init_addr": "10.0.0.1:20000", **change}


def extra(
    name: str,
    value: Any = True,
    plan: dict[str, Any] | None = None,
    version: str = "0.5.23",
    host: dict[str, Any] | None = None,
    **change: Any,
) -> At:
    """A situation with one extra argument."""
    wished = {"extra_args": {name: value}, **change}
    return At(wished, version, host or facts(), plan or capacity())


STEP = facts(model={"architecture": "Step3p5ForCausalLM"})
HYBRID = facts(model={"attention": "hybrid"})
SIZE = capacity("size", size_gb=20)
FUSION = {"allreduce_fusion": "on"}
EXTRA_RADIX = {"extra_args": {"--disable-radix-cache": True}}
DP4 = {"enable_dp_attention": True, "dp_size": 4, "tp_size": 8}
TOPK2 = {**EAGLE3, "speculative_eagle_topk": 2, "speculative_num_draft_tokens": 8}
IPC = {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": 1}

#: rule: (fires, healthy neighbour)
CASES: dict[str, tuple[At, At]] = {
    "ENG-001": (
        At({"attention_backend": "cutlass_mla"}, "0.5.20"),
        At({"attention_backend": "cutlass_mla"}, "0.5.19"),
    ),
    "ENG-002": (
        At({"attention_backend": "cutlass_mla"}, "0.5.99"),
        At({"attention_backend": "triton"}, "0.5.99"),
    ),
    "ENG-003": (At(version="0.5.24"), At(version="0.5.23+double")),
    "ENG-004": (At(version="0.5.10"), At(version="0.5.10.post1")),
    "ENG-005": (
        At({"environment": {"HF_TOKEN": "planted"}}),
        At({"environment": {"TOKENIZERS_PARALLELISM": 1}}),
    ),
    "ENG-006": (
        At({"extra_args": {"ssl-keyfile-password": "planted"}}),
        At({"extra_args": {"ssl-keyfile": "/etc/ssl/key.pem"}}),
    ),
    "ENG-007": (At({"context_length": "256k"}), At({"context_length": "256Ki"})),
    "ENG-008": (
        At({"environment": {"SGL_FORCE_SHUTDOWN": 1}}),
        At({"environment": {"SGL_FORCE_SHUTDOWN": 0}}),
    ),
    "ENG-009": (
        At({"environment": {"SGLANG_ENABLE_SPEC_V2": 1}}, "0.5.14"),
        At({"environment": {"SGLANG_ENABLE_SPEC_V2": 1, "MY_OWN": 1}}, "0.5.13.post1"),
    ),
    "ENG-010": (
        At({"pcie_all_reduce": True, "keep_alive_s": 30}, "0.5.20"),
        At({"pcie_all_reduce": True, "keep_alive_s": 30}, "0.5.21"),
    ),
    "ENG-011": (
        At({"extra_args": {"--config=/etc/sglang.yaml": True}}),
        At({"extra_args": {"weight-version": "config=3"}}),
    ),
    "ENG-012": (
        At(host=running("--config=/etc/sglang.yaml")),
        At(host=running("--config", "/etc/sglang.yaml")),
    ),
    "ENG-101": (At({"host": "0.0.0.0"}), At({"host": "0.0.0.0", "secrets_present": True})),
    "ENG-102": (
        At({"host": "10.0.0.1", "secrets_present": True, "secret_names": ["admin-api-key"]}),
        At({"host": "::1", "secrets_present": True, "secret_names": ["admin-api-key"]}),
    ),
    "ENG-103": (
        At({"secrets_present": True, "secret_names": ["api-key", "admin-api-key"]}, "0.5.7"),
        At({"secrets_present": True, "secret_names": ["api-key"]}, "0.5.7"),
    ),
    "ENG-104": (At({"served_model_name": "kimi:k2.5"}), At({"served_model_name": "kimi-k2.5"})),
    "ENG-105": (
        At({"trust_remote_code": True, "model_path": "org/name", "offline": False}),
        At({"trust_remote_code": True, "model_path": "/srv/name", "offline": False}),
    ),
    "ENG-106": (
        At({"model_path": "org/name"}),
        At({"model_path": "org/name", "offline": False}),
    ),
    "ENG-107": (
        At(version="0.5.8.post1", host=facts(model=KIMI)),
        At(version="0.5.8.post1", host=facts(model=OTHER)),
    ),
    "ENG-108": (
        At(host=system(cuda="13.0", driver="570.133.20")),
        At(host=system(cuda="13.0", driver="580.82.07")),
    ),
    "ENG-109": (
        At(version="0.5.11", host=system(glibc="2.31")),
        At(version="0.5.10.post1", host=system(glibc="2.31")),
    ),
    "ENG-110": (At({"log_level": "warning"}), At({"log_level": "info"})),
    "ENG-111": (
        At({"log_requests": True}),
        At({"log_requests": True, "log_requests_level": 1}),
    ),
    "ENG-201": (At(FUSION, "0.5.14"), At(FUSION, "0.5.14", gpus(capability="10.0"))),
    "ENG-202": (At(FUSION, "0.5.13.post1"), At({}, "0.5.13.post1")),
    "ENG-203": (
        At({"allreduce_fusion": "off"}, "0.5.9", gpus(capability="9.0")),
        At({"allreduce_fusion": "off"}, "0.5.10.post1", gpus(capability="9.0")),
    ),
    "ENG-204": (
        At({"custom_all_reduce": "on", "tp_size": 4}),
        At({"custom_all_reduce": "on", "tp_size": 4}, host=gpus(topology="NVLINK")),
    ),
    "ENG-205": (
        At({"tp_size": 4, "pp_size": 2}, host=gpus(4)),
        At({"tp_size": 4, "pp_size": 2, "nnodes": 2}, host=gpus(4)),
    ),
    "ENG-206": (
        At({"tp_size": 3}, host=facts(model={"heads": 64})),
        At({"tp_size": 4}, host=facts(model={"heads": 64})),
    ),
    "ENG-207": (At({**DP4, "dp_size": 3}), At(DP4)),
    "ENG-208": (At({"enable_dp_attention": True}), At(DP4)),
    "ENG-209": (
        At({"tp_size": 2}, host={"gpu": {"devices": [{"mig": True}, {"mig": True}]}}),
        At({"tp_size": 2}, host={"gpu": {"devices": [{"mig": False}, {"mig": None}]}}),
    ),
    "ENG-210": (
        At({"environment": {**IPC, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}),
        At({"environment": {**IPC, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}}),
    ),
    "ENG-211": (At(nodes(dist_init_addr="")), At(nodes())),
    "ENG-212": (At(nodes(dist_init_addr="127.0.0.1:20000")), At(nodes())),
    "ENG-213": (At(nodes(node_rank=2)), At(nodes(node_rank=1))),
    "ENG-214": (At(nodes(3)), At(nodes(4))),
    "ENG-215": (At(nodes(dp_size=2)), At(nodes(dp_size=2, enable_dp_attention=True))),
    "ENG-216": (
        At({"environment": {"NCCL_CUMEM_ENABLE": 1}}, "0.5.8.post1"),
        At({"environment": {"NCCL_CUMEM_ENABLE": 1}}, "0.5.9"),
    ),
    "ENG-217": (
        At({"extra_args": {"enable-nccl-nvls": True}}),
        At({"extra_args": {"enable-nccl-nvls": True}}, host=gpus(topology="NVLINK")),
    ),
    "ENG-218": (
        At({"pcie_all_reduce": True}, host=gpus(topology="NVLINK")),
        At({"pcie_all_reduce": True}),
    ),
    "ENG-219": (At({"disaggregation_mode": "decode"}), At({})),
    "ENG-220": (
        At({"disaggregation_mode": "prefill", "disaggregation_bootstrap_port": 30000}),
        At({"disaggregation_mode": "decode", "disaggregation_bootstrap_port": 30000}),
    ),
    "ENG-221": (
        At({"disaggregation_mode": "prefill", "host": "127.0.0.1"}),
        At({"disaggregation_mode": "prefill", "host": "0.0.0.0"}),
    ),
    "ENG-301": (
        At({"speculative_algorithm": "EAGLE3"}, host=facts(model=KIMI)),
        At(
            {"speculative_algorithm": "EAGLE3"},
            host=facts(model={"architecture": "DeepseekV3ForCausalLM"}),
        ),
    ),
    "ENG-302": (At({**EAGLE3, "speculative_num_draft_tokens": None}), At(EAGLE3)),
    "ENG-303": (
        At(TOPK2, "0.5.10.post1"),
        At({**TOPK2, "overlap_schedule": False}, "0.5.10.post1"),
    ),
    "ENG-304": (At(TOPK2, "0.5.12.post1"), At(TOPK2, "0.5.13.post1")),
    "ENG-305": (At({**EAGLE3, "speculative_num_draft_tokens": 6}), At(EAGLE3)),
    "ENG-306": (
        At(EAGLE3, "0.5.9", facts(model=KIMI)),
        At(EAGLE3, "0.5.10.post1", facts(model=KIMI)),
    ),
    "ENG-307": (
        At(EAGLE3, "0.5.11", draft(architecture="Eagle3DeepseekV2ForCausalLM")),
        At(EAGLE3, "0.5.12.post1", draft(architecture="Eagle3DeepseekV2ForCausalLM")),
    ),
    "ENG-308": (
        At({**EAGLE3, "pp_size": 2}),
        At({**EAGLE3, "speculative_algorithm": "EAGLE", "pp_size": 2}),
    ),
    "ENG-310": (At(EAGLE3, "0.5.6.post2"), At(EAGLE3, "0.5.7")),
    "ENG-311": (
        At({**DP4, "speculative_algorithm": "NGRAM"}),
        At({**DP4, **EAGLE3}),
    ),
    "ENG-312": (
        At({**EAGLE3, "attention_backend": "trtllm_mla"}, host=draft(attention="gqa")),
        At({**EAGLE3, "attention_backend": "trtllm_mla"}, host=draft(attention="mla")),
    ),
    "ENG-313": (
        At({**TOPK2, "decode_attention_backend": "trtllm_mha"}),
        At({**EAGLE3, "decode_attention_backend": "trtllm_mha"}),
    ),
    "ENG-314": (
        At({**TOPK2, "page_size": 64, "attention_backend": "flashmla"}),
        At({**TOPK2, "page_size": 64, "attention_backend": "triton"}),
    ),
    "ENG-315": (At(EAGLE3), At({**EAGLE3, "max_running_requests": 48})),
    "ENG-316": (
        At({**EAGLE3, "pp_size": 2, "extra_args": {"enable-multi-layer-eagle": True}}),
        At({**EAGLE3, "extra_args": {"enable-multi-layer-eagle": True}}),
    ),
    "ENG-317": (At(EAGLE3, "0.5.10.post1", plan=RATIO), At(EAGLE3, "0.5.11", plan=RATIO)),
    "ENG-401": (At(EXTRA_RADIX, plan=RATIO), At(EXTRA_RADIX)),
    "ENG-402": (
        At({"extra_args": {"enable-lmcache": True}}, plan=RATIO),
        At({"extra_args": {"enable-lmcache": True}}),
    ),
    "ENG-403": (
        At({"attention_backend": "fa3"}, "0.5.13.post1", plan=RATIO),
        At(
            {"attention_backend": "fa3", "hicache_io_backend": "direct"},
            "0.5.13.post1",
            plan=RATIO,
        ),
    ),
    "ENG-404": (
        At({"kv_cache_dtype": "nvfp4"}, plan=RATIO),
        At({"kv_cache_dtype": "fp8_e4m3"}, plan=RATIO),
    ),
    "ENG-405": (
        At({"kv_cache_dtype": "fp8_e4m3"}, host=facts(model=KIMI)),
        At({"kv_cache_dtype": "fp8_e4m3"}, host=facts(model=KIMI, capability="10.0")),
    ),
    "ENG-406": (
        At({"hicache_host_memory_fraction": 1.2}),
        At({"hicache_host_memory_fraction": 1.0}),
    ),
    "ENG-407": (
        At({"hicache_mem_layout": "page_first", "hicache_io_backend": "direct"}, plan=RATIO),
        At({"hicache_mem_layout": "page_first", "hicache_io_backend": "kernel"}, plan=RATIO),
    ),
    "ENG-408": (
        At(version="0.5.14", plan=capacity("ratio", ratio=1.0)),
        At(version="0.5.14", plan=RATIO),
    ),
    "ENG-409": (
        At(version="0.5.15.post1", plan=capacity("ratio", ratio=0.5)),
        At(version="0.5.15.post1", plan=RATIO),
    ),
    "ENG-410": (
        At(
            host=facts(model={"architecture": "DeepseekV4ForCausalLM"}),
            plan=capacity("size", size_gb=20),
        ),
        At(host=facts(model={"architecture": "DeepseekV4ForCausalLM"}), plan=RATIO),
    ),
    "ENG-411": (
        At({"extra_args": {"hicache-host-memory-mode": "buffer_only"}}),
        At(
            {
                "extra_args": {"hicache-host-memory-mode": "buffer_only"},
                "hicache_storage_backend": "file",
            },
            plan=RATIO,
        ),
    ),
    "ENG-412": (At({"mem_fraction_static": 1.0}), At({"mem_fraction_static": 0.9})),
    "ENG-413": (extra("enable-unified-cache-external-linker", plan=RATIO), At(plan=RATIO)),
    "ENG-414": (
        extra("hicache-host-memory-mode", "buffer_only", RATIO, hicache_write_policy="write_back"),
        extra("hicache-host-memory-mode", "cache", RATIO, hicache_write_policy="write_back"),
    ),
    "ENG-415": (
        extra("enable-unified-memory", plan=RATIO, version="0.5.20"),
        extra("enable-unified-memory", plan=RATIO, version="0.5.21"),
    ),
    "ENG-416": (
        extra("dcp-size", 2, RATIO, host=facts(model={"attention": "gqa"})),
        extra("dcp-size", 2, RATIO, host=facts(model={"attention": "mla"})),
    ),
    "ENG-417": (
        extra("dcp-size", 2, RATIO, **EAGLE3),
        extra("dcp-size", 2, RATIO, speculative_algorithm="DSPARK"),
    ),
    "ENG-418": (
        extra("dcp-size", 2, RATIO, version="0.5.22", hicache_storage_backend="file"),
        extra("dcp-size", 2, RATIO, version="0.5.23", hicache_storage_backend="file"),
    ),
    "ENG-419": (
        extra("enable-int8-mamba-checkpoint", plan=RATIO),
        extra("enable-int8-mamba-checkpoint"),
    ),
    "ENG-420": (extra("dllm-algorithm", "LowConfidence", RATIO), At(plan=RATIO)),
    "ENG-421": (
        At(
            {"hicache_storage_backend": "mooncake", "hicache_mem_layout": "layer_first"}, plan=RATIO
        ),
        At({"hicache_storage_backend": "file", "hicache_mem_layout": "layer_first"}, plan=RATIO),
    ),
    "ENG-422": (
        At({"cuda_graph_backend_prefill": "full"}, plan=RATIO),
        At({"cuda_graph_backend_prefill": "disabled"}, plan=RATIO),
    ),
    "ENG-423": (
        extra("swa-full-tokens-ratio", 0.5, RATIO, host=STEP),
        extra("swa-full-tokens-ratio", 0.5, host=STEP),
    ),
    "ENG-424": (
        At({"hicache_size_gb": 20}, "0.5.17", HYBRID, SIZE),
        At({"hicache_size_gb": 20}, "0.5.18", HYBRID, SIZE),
    ),
    "ENG-425": (
        At({"hicache_mode": "ratio", "hicache_host_memory_fraction": 0.7}),
        At({"hicache_mode": "engine_auto", "hicache_host_memory_fraction": 0.7}),
    ),
    "ENG-426": (
        At({"hicache_storage_backend": "file"}),
        At({"hicache_storage_backend": "file"}, plan=RATIO),
    ),
    "ENG-501": (
        At({"reasoning_parser": "kimi_k2"}, "0.5.4.post3"),
        At({"reasoning_parser": "kimi_k2"}, "0.5.5.post3"),
    ),
    "ENG-502": (
        At({"tool_call_parser": "qwen25"}, host=facts(model=KIMI)),
        At({"tool_call_parser": "qwen25"}, host=facts(model=OTHER)),
    ),
    "ENG-503": (
        At({"reasoning_parser": "deepseek-r1"}, host=facts(model=KIMI)),
        At({"reasoning_parser": "kimi_k2"}, host=facts(model=KIMI)),
    ),
    "ENG-504": (
        At({"attention_backend": "trtllm_mla"}),
        At({"attention_backend": "trtllm_mla"}, host=gpus(capability="10.0")),
    ),
    "ENG-505": (
        At({"decode_attention_backend": "fa3"}),
        At({"decode_attention_backend": "fa3"}, host=gpus(capability="9.0")),
    ),
}


def test_every_rule_has_a_case_and_a_place() -> None:
    assert list(CASES) == [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires(rule: str) -> None:
    fires, _healthy = CASES[rule]
    [found] = [entry for entry in fires.findings() if entry["id"] == rule]
    assert found["severity"] in ("refuse", "warn", "advise")
    assert found["text"]
    assert found["remedy"]
    assert "{" not in found["text"] + found["remedy"]
    assert "planted" not in str(found)


@pytest.mark.parametrize("rule", CASES)
def test_its_healthy_neighbour_does_not(rule: str) -> None:
    _fires, healthy = CASES[rule]
    assert rule not in healthy.ids()


@pytest.mark.parametrize("version", [text for text in KNOWN if Version.parse(text) >= "0.5.10"])
def test_the_headline_is_refused_nowhere(version: str) -> None:
    case = At(HEADLINE, version, facts(model=KIMI), capacity("ratio", ratio=2.4))
    assert [entry for entry in case.findings() if entry["severity"] == "refuse"] == []


UNKNOWN: list[dict[str, Any]] = [
    {},
    {"gpu": None, "model": None, "draft": None, "engine": None, "server": None},
    {"gpu": {"devices": None, "driver": None}, "server": {"startup": None}},
    {
        "gpu": {
            "devices": [{"compute_capability": None, "mig": None}],
            "driver": {"loaded": None},
            "topology": None,
        },
        "model": {"architecture": None, "heads": None, "context_tokens": None},
        "draft": {"architecture": None, "attention": None},
        "engine": {"cuda": None},
        "server": {"startup": {"max_total_num_tokens": None}},
    },
]


@pytest.mark.parametrize("host", UNKNOWN)
@pytest.mark.parametrize("change", [{}, HEADLINE, DP4, FUSION, TOPK2])
def test_what_is_not_known_fires_nothing_by_itself(
    host: dict[str, Any], change: dict[str, Any]
) -> None:
    for version in ("0.5.1.post3", "0.5.9", "0.5.13.post1", "0.5.23"):
        known = At(change, version, facts(gpus=0, topology=None)).ids()
        assert At(change, version, host).ids() - {"ENG-205"} <= known


def test_ids_are_unique_and_in_order() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    assert {rule.severity for rule in RULES} == {"refuse", "warn", "advise"}


@pytest.mark.parametrize(
    ("version", "engine", "fires"),
    [
        ("0.5.9", {"cuda": "12.9", "driver": "520.61"}, True),
        ("0.5.9", {"cuda": "12.9", "driver": "570.133.20"}, False),
        # Nothing is installed yet: what the version is built for counts.
        ("0.5.23", {"driver": "570.133.20"}, True),
        ("0.5.9", {"driver": "570.133.20"}, False),
        ("0.5.3.post3", {"driver": "470.57"}, False),
        ("0.5.23", {}, False),
    ],
)
def test_a_driver_too_old_for_the_engine(version: str, engine: dict[str, Any], fires: bool) -> None:
    assert ("ENG-108" in At(version=version, host=system(**engine)).ids()) is fires


def test_the_cuda_that_is_asked_for_counts_until_an_engine_is_installed() -> None:
    host = system(driver="570.133.20")
    assert "ENG-108" not in At({"engine_cuda": 12}, "0.5.19", host).ids()
    assert "ENG-108" in At({"engine_cuda": 13}, "0.5.9", host).ids()


@pytest.mark.parametrize(
    ("engine", "fires"),
    [
        ({"glibc": "2.35"}, False),
        ({"glibc": "2.34"}, False),
        ({"glibc": "2.31"}, True),
        ({"glibc": "2.9"}, True),
        ({"glibc": None}, False),
        # The packages that are installed know better than the version.
        ({"glibc": "2.31", "glibc_needed": "2.28"}, False),
        ({"glibc": "2.35", "glibc_needed": "2.38"}, True),
    ],
)
def test_a_c_library_too_old_for_the_engine(engine: dict[str, Any], fires: bool) -> None:
    assert ("ENG-109" in At(host=system(**engine)).ids()) is fires


def test_a_finding_names_the_variable_that_nothing_listens_to() -> None:
    [finding] = [
        entry
        for entry in At({"keep_alive_s": 30, "pcie_all_reduce": True}, "0.5.9").findings()
        if entry["id"] == "ENG-010"
    ]
    assert finding["variable"] == "sglang_pcie_all_reduce"
    assert "read from 0.5.21 on" in finding["text"]
    assert "sglang_keep_alive_s needs SGLANG_TIMEOUT_KEEP_ALIVE" in finding["text"]

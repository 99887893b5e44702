# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment by version, topology and wish; a secret never gets in."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.environment import (
    Environment,
    build_environment,
    secret_names,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.nccl import (
    PROFILES,
    profile_name,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.engine_case import (
    EAGLE3,
    capacity,
    facts,
    wishes,
)


def built(
    version: str = "0.5.23", host: dict[str, Any] | None = None, **changes: Any
) -> Environment:
    return build_environment(
        wishes(**changes), capacity(), host or facts(gpus=0, topology=None), Version.parse(version)
    )


def values(environment: Environment) -> dict[str, str]:
    return {name: entry["value"] for name, entry in environment.items()}


def test_home_path_and_caches_belong_to_the_instance() -> None:
    assert values(built(instance="blue", engine_path="/opt/e")) == {
        "HOME": "/var/lib/sglang/blue",
        "PATH": "/opt/e/bin:/usr/local/cuda/bin:"
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONUNBUFFERED": "1",
        "XDG_CACHE_HOME": "/var/cache/sglang/blue",
        "HF_HOME": "/var/cache/sglang/blue/huggingface",
        "SGLANG_CACHE_DIR": "/var/cache/sglang/blue/sglang",
        "SGLANG_DG_CACHE_DIR": "/var/cache/sglang/blue/deep_gemm",
        "TRITON_CACHE_DIR": "/var/cache/sglang/blue/triton",
        "TORCHINDUCTOR_CACHE_DIR": "/var/cache/sglang/blue/inductor",
        "CUDA_CACHE_PATH": "/var/cache/sglang/blue/cuda",
        "FLASHINFER_WORKSPACE_BASE": "/var/cache/sglang/blue",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def test_every_variable_has_a_reason() -> None:
    environment = built(host=facts(topology="SYS"), tp_size=8, environment={"A": 1})
    assert all(entry["reason"] for entry in environment.values())
    assert environment["A"] == {"value": "1", "reason": "sglang_environment"}


def test_an_online_server_may_ask_the_hub() -> None:
    assert not any(name.endswith("_OFFLINE") for name in built(offline=False))


@pytest.mark.parametrize("version", KNOWN)
def test_overlapped_speculation_is_asked_for_only_where_it_is_read(version: str) -> None:
    wanted = "0.5.4" <= Version.parse(version) < "0.5.14"
    assert ("SGLANG_ENABLE_SPEC_V2" in built(version, **EAGLE3)) is wanted
    assert "SGLANG_ENABLE_SPEC_V2" not in built(version)
    assert "SGLANG_ENABLE_SPEC_V2" not in built(version, **EAGLE3, overlap_schedule=False)


@pytest.mark.parametrize(
    ("topology", "profile"),
    [
        ("NVLINK", "nvlink"),
        ("PIX", "pcie_switch"),
        ("PXB", "pcie_switch"),
        ("PHB", "pcie"),
        ("NODE", "pcie"),
        ("SYS", "pcie_multi_socket"),
        ("?", "none"),
        (None, "none"),
    ],
)
def test_the_profile_follows_the_worst_link(topology: str | None, profile: str) -> None:
    host = facts(topology=topology)
    assert profile_name(wishes(tp_size=8), host) == profile
    assert profile_name(wishes(tp_size=1), host) == "none"
    assert profile_name(wishes(tp_size=8), {}) == "none"
    wished = {name: value for name, (value, _reason) in PROFILES[profile].items()}
    assert wished.items() <= values(built(host=host, tp_size=8)).items()


def test_a_profile_can_be_chosen_and_each_value_overridden() -> None:
    chosen = values(built(nccl_profile="pcie_multi_socket", environment={"NCCL_MIN_NCHANNELS": 4}))
    assert chosen["NCCL_P2P_LEVEL"] == "SYS"
    assert chosen["NCCL_MIN_NCHANNELS"] == "4"


def test_several_nodes_keep_infiniband() -> None:
    host = facts(topology="SYS")
    assert "NCCL_IB_DISABLE" in built(host=host, tp_size=8)
    several = values(built(host=host, tp_size=8, nnodes=2))
    assert "NCCL_IB_DISABLE" not in several
    assert (several["NCCL_P2P_LEVEL"], several["NCCL_IB_TIMEOUT"]) == ("SYS", "22")
    chosen = built(host=host, tp_size=8, nnodes=2, environment={"NCCL_IB_TIMEOUT": 20})
    assert chosen["NCCL_IB_TIMEOUT"]["value"] == "20"
    alone = built(host=host, tp_size=8, nnodes=2, nccl_profile="none")
    assert not any(name.startswith("NCCL_") for name in alone)


@pytest.mark.parametrize("name", PROFILES)
def test_every_value_of_a_profile_has_its_reason(name: str) -> None:
    assert all(value and len(reason) > 20 for value, reason in PROFILES[name].values())


@pytest.mark.parametrize(
    ("change", "name", "since", "value"),
    [
        ({"pcie_all_reduce": True}, "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "0.5.21", "1"),
        ({"numa_bind": "off"}, "SGLANG_AUTO_NUMA_BIND", "0.5.10", "0"),
        ({"numa_bind": "on"}, "SGLANG_AUTO_NUMA_BIND", "0.5.10", "1"),
        ({"hugepage_size": "1GB"}, "SGLANG_HUGEPAGE_SIZE", "0.5.13", "1GB"),
        ({"warmup_timeout_s": 900}, "SGLANG_WARMUP_TIMEOUT", "0.5.5", "900"),
        ({"keep_alive_s": 75}, "SGLANG_TIMEOUT_KEEP_ALIVE", "0.5.10", "75"),
        ({"request_waiting_timeout_s": 60}, "SGLANG_REQ_WAITING_TIMEOUT", "0.5.9", "60"),
        ({"request_running_timeout_s": 600}, "SGLANG_REQ_RUNNING_TIMEOUT", "0.5.9", "600"),
        ({}, "SGLANG_CACHE_DIR", "0.5.11", "/var/cache/sglang/kimi/sglang"),
    ],
)
def test_what_a_version_does_not_read_is_not_said_to_it(
    change: dict[str, Any], name: str, since: str, value: str
) -> None:
    for text in KNOWN:
        found = values(built(text, **change)).get(name)
        assert found == (value if Version.parse(text) >= since else None)
    assert name not in built() or not change


def test_nodes_meet_on_the_interface_that_is_named() -> None:
    environment = values(built(socket_interface="ib0"))
    assert (environment["NCCL_SOCKET_IFNAME"], environment["GLOO_SOCKET_IFNAME"]) == ("ib0", "ib0")
    assert "NCCL_SOCKET_IFNAME" not in built()


def test_the_user_has_the_last_word() -> None:
    wished = {"PATH": "/bin", "FLAG": True, "OFF": False, "F": 0.5, "HF_HUB_OFFLINE": None}
    environment = values(built(environment=wished))
    assert environment["PATH"] == "/bin"
    assert (environment["FLAG"], environment["OFF"], environment["F"]) == ("1", "0", "0.5")
    assert "HF_HUB_OFFLINE" not in environment


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("HF_TOKEN", True),
        ("HUGGING_FACE_HUB_TOKEN", True),
        ("OPENAI_API_KEY", True),
        ("apikey", True),
        ("DB_PASSWORD", True),
        ("CLIENT_SECRET_2", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("SGLANG_MAX_TOKENS", False),
        ("NCCL_DEBUG", False),
    ],
)
def test_secrets_are_recognised_and_left_out(name: str, secret: bool) -> None:
    change = {name: "planted-value"}
    assert bool(secret_names(wishes(environment=change))) is secret
    assert ("planted-value" in str(built(environment=change))) is not secret

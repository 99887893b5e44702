# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The short form of the facts: small, and nothing lost that a decision needs."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._facts import (
    COMMON,
    DETAIL,
    KEPT_OF_ODD_GPUS,
    devices,
    shorten,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    RECORDINGS,
    facts_of,
)

UNIT = "sglang-kimi.service"
LIMIT_BYTES = 5000
GIB = 1 << 30
HOSTS = sorted(path.name for path in RECORDINGS.iterdir())


def loaded_host() -> dict[str, Any]:
    """The headline host as large as it gets: all that NVML tells, HiCache, a memory cgroup."""
    facts = facts_of("headline", detail=True)
    facts["gpu"].update(source="nvml", cuda_version="13.0")
    for device in facts["gpu"]["devices"]:
        del device["unknown"]
        device.update(
            persistence=True,
            utilization_percent=100,
            vbios="98.02.81.00.07",
            retired_pending=False,
            remapped_pending=False,
            remapped_failure=False,
            xids=[],
        )
    facts["memory"]["cgroup"]["limits"] = [
        {
            "path": "/system.slice/sglang-kimi.service",
            "limit_bytes": 430 * GIB,
            "current_bytes": 391_118_233_600,
            "reclaimable_bytes": 17_238_511_616,
        }
    ]
    facts["memory"]["cgroup"]["headroom_bytes"] = 87_825_711_104
    server = facts["server"]
    server["argv"] += ["--enable-hierarchical-cache", "--hicache-ratio", "3.75"]
    server["argv"] += ["--hicache-write-policy", "write_through", "--context-length", "159300"]
    server["tier_fingerprint"] = "0a1b2c3d4e5f6071"
    server["startup"].update(
        host_tokens=597_376,
        host_bytes_per_rank=41_995_532_288,
        draft_host_tokens=597_376,
        draft_host_bytes_per_rank=2_447_052_800,
    )
    server["info"].update(hicache_ratio=3.75)
    return facts


def test_an_eight_gpu_host_that_serves_stays_below_5_kb() -> None:
    short = shorten(loaded_host(), UNIT)
    assert len(json.dumps(short)) < LIMIT_BYTES, {k: len(json.dumps(v)) for k, v in short.items()}
    assert len(json.dumps(short, separators=(",", ":"))) < LIMIT_BYTES


@pytest.mark.parametrize("host", HOSTS)
def test_recorded_hosts_stay_below_5_kb(host: str) -> None:
    assert len(json.dumps(facts_of(host))) < LIMIT_BYTES


def test_shortening_leaves_the_facts_alone() -> None:
    facts = loaded_host()
    before = copy.deepcopy(facts)
    shorten(facts, UNIT)
    assert facts == before


@pytest.mark.parametrize("host", HOSTS)
def test_what_a_decision_needs_of_a_gpu_is_the_same_in_both_forms(host: str) -> None:
    whole, short = (facts_of(host, detail=detail) for detail in (True, False))
    assert len(devices(whole)) == len(devices(short))
    for one, other in zip(devices(whole), devices(short)):
        kept = set(one) - set(DETAIL["gpu.devices"]) - {"processes", "unknown"}
        assert {key: other.get(key) for key in kept} == {key: one[key] for key in kept}


def test_what_gpus_have_in_common_is_said_once() -> None:
    gpu = facts_of("headline")["gpu"]
    assert set(gpu["common"]) == {*COMMON} - {"state_reason", "processes", "unknown"}
    assert gpu["common"]["name"] == "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert all(not set(device) & {"name", "state"} for device in gpu["devices"])
    assert [device["name"] for device in devices({"gpu": gpu})] == [gpu["common"]["name"]] * 8


def test_processes_of_the_instance_are_one_number_and_strangers_stay() -> None:
    facts = facts_of("headline", detail=True)
    own = facts["gpu"]["devices"][0]["processes"][0]
    stranger = {"pid": 7, "memory_bytes": GIB, "unit": "other.service"}
    unsized = {"pid": 8, "memory_bytes": None, "unit": UNIT}
    facts["gpu"]["devices"][0]["processes"] = [own, stranger, unsized]
    first, second = devices(shorten(facts, UNIT))[:2]
    assert first["processes"] == [stranger, unsized]
    assert (second["processes"], second["instance_bytes"]) == ([], own["memory_bytes"] + (1 << 20))


def test_an_odd_gpu_keeps_its_address() -> None:
    for device in devices(facts_of("odd-gpus")):
        kept = {*KEPT_OF_ODD_GPUS} if device["state"] != "ok" else set()
        assert set(DETAIL["gpu.devices"]) & set(device) == kept


def test_gpus_of_two_kinds_each_say_their_own() -> None:
    facts = facts_of("headline", detail=True)
    for device in facts["gpu"]["devices"][:4]:
        device["name"] = "NVIDIA L40S"
    short = shorten(facts, UNIT)
    assert "name" not in short["gpu"]["common"]
    assert [device["name"] for device in devices(short)].count("NVIDIA L40S") == 4


def test_a_model_leaves_out_what_says_nothing() -> None:
    draft = facts_of("headline")["draft"]
    assert None not in draft.values() and [] not in draft.values()
    assert (draft["present"], draft["layers"], draft["attention"]) == (True, 1, "gqa")
    absent = facts_of("gb10")["model"]
    assert absent["present"] is False and absent["reason"]


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"gpu": {"reason": "RuntimeError: x"}, "model": {"reason": "x"}, "server": None},
        {"gpu": {"devices": []}, "draft": None},
        {"gpu": {"devices": [{"index": 0, "name": "A"}]}},
    ],
)
def test_parts_that_failed_stay_as_they_are(facts: dict[str, Any]) -> None:
    short = shorten(facts, UNIT)
    assert [device.get("name") for device in devices(short)] == ["A"] * len(devices(facts))
    assert {key: short[key] for key in facts if key != "gpu"} == {
        key: value for key, value in facts.items() if key != "gpu"
    }
    assert "common" not in short.get("gpu", {})

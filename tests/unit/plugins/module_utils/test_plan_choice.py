# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the variables about the host tier may say together, and what a refusal tells."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.fingerprint import (
    tier_fingerprint,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    host,
    ids,
    wishes,
)

HICACHE = "--enable-hierarchical-cache"


@pytest.mark.parametrize(
    ("changes", "number", "variable"),
    [
        ({"hicache_mode": "ratio"}, "HIC-002", "sglang_hicache_ratio"),
        ({"hicache_mode": "size"}, "HIC-002", "sglang_hicache_size_gb"),
        ({"hicache_ratio": 2.0}, "HIC-003", "sglang_hicache_ratio"),
        ({"hicache_mode": "off", "hicache_size_gb": 10}, "HIC-003", "sglang_hicache_size_gb"),
        (
            {"hicache_mode": "ratio", "hicache_ratio": 2.0, "hicache_size_gb": 10},
            "HIC-001",
            "sglang_hicache_size_gb",
        ),
        ({"hicache_mode": "ratio", "hicache_ratio": 0}, "HIC-004", "sglang_hicache_ratio"),
        (
            {"hicache_mode": "engine_auto", "hicache_host_memory_fraction": 1.2},
            "HIC-006",
            "sglang_hicache_host_memory_fraction",
        ),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], number: str, variable: str) -> None:
    capacity = plan_capacity(host("0.5.23"), wishes(**changes))
    refused = [entry for entry in capacity["findings"] if entry["severity"] == "refuse"]
    assert number in {entry["id"] for entry in refused}
    assert variable in {entry["variable"] for entry in refused}
    assert capacity["host"]["bytes_node"] == 0


@pytest.mark.parametrize("mode", ["auto", "ratio", "size", "engine_auto", "off"])
def test_a_ratio_and_a_size_together_are_one_error(mode: str) -> None:
    asked = wishes(hicache_mode=mode, hicache_ratio=2.0, hicache_size_gb=10)
    capacity = plan_capacity(host("0.5.23"), asked)
    (said,) = [entry for entry in capacity["findings"] if entry["severity"] == "refuse"]
    assert said["id"] == "HIC-001"
    assert "sglang_hicache_ratio is 2.0 and sglang_hicache_size_gb is 10" in said["text"]
    assert capacity["host"]["bytes_node"] == 0


def test_an_unknown_mode_is_refused_with_the_known_ones() -> None:
    capacity = plan_capacity(host("0.5.23"), wishes(hicache_mode="automatic"))
    (said,) = [entry for entry in capacity["findings"] if entry["severity"] == "refuse"]
    assert said["id"] == "HIC-008"
    assert "auto, ratio, size, engine_auto, off" in said["text"]


@pytest.mark.parametrize(("version", "refused"), [("0.5.20", True), ("0.5.21", False)])
def test_the_engine_sizes_its_pools_since_0_5_21(version: str, refused: bool) -> None:
    capacity = plan_capacity(host(version), wishes(hicache_mode="engine_auto"))
    assert ("HIC-005" in ids(capacity, "refuse")) is refused


def test_a_fraction_beside_a_ratio_has_no_effect() -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=2.0, hicache_host_memory_fraction=0.5)
    capacity = plan_capacity(host("0.5.23"), asked)
    assert "HIC-007" in ids(capacity, "warn")
    assert capacity["host"]["certainty"] == "certain"


def test_off_is_off_without_a_word() -> None:
    capacity = plan_capacity(host("0.5.18"), wishes(hicache_mode="off", context_length=100_000))
    assert capacity["host"]["mode"] == "off"
    assert capacity["tokens"]["in_reach"] == 159_300
    assert capacity["findings"] == []
    assert capacity["options"][0]["title"] == "HiCache, ratio 4.62"


def test_a_ratio_too_large_is_refused_with_every_term() -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=5.0, hicache_headroom_gib=2)

    capacity = plan_capacity(host("0.5.18"), asked)

    assert capacity["host"]["certainty"] == "no"
    assert capacity["host"]["ratio"] == 5.0
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "RAM-002"]
    # 796,501 x 70,272 x 8 = 417.0 GiB
    for term in (
        "417.0 GiB",
        "384.0 GiB",
        "396.0 GiB available",
        "10.0 GiB reserve",
        "2.0 GiB headroom",
        "8 ranks",
    ):
        assert term in said["text"]
    assert said["remedy"].endswith("the largest certain ratio is 4.60")
    assert said["variable"] == "sglang_hicache_ratio"


@pytest.mark.parametrize(
    ("changes", "variable"),
    [
        ({"hicache_budget_gib": 100}, "sglang_hicache_budget_gib"),
        ({"hicache_ratio_max": 2.5}, "sglang_hicache_ratio_max"),
    ],
)
def test_a_refusal_names_the_variable_that_bounds(changes: dict[str, Any], variable: str) -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=3.0, **changes)
    capacity = plan_capacity(host("0.5.18"), asked)
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "RAM-002"]
    assert said["variable"] == variable
    assert variable in said["text"]


def test_what_starts_only_with_luck_is_warned_about() -> None:
    capacity = plan_capacity(host("0.5.20"), wishes(hicache_mode="ratio", hicache_ratio=4.0))
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "RAM-005"]
    assert said["severity"] == "warn"
    assert "44.78 GB" in said["text"]
    # 386 GiB / 15 = 27.63 GB
    assert "27.63 GB" in said["text"]
    assert "2.46" in said["remedy"]


@pytest.mark.parametrize(
    ("ratio", "number", "severity"),
    [(0.9, "RAM-003", "refuse"), (1.2, "RAM-004", "warn"), (1.5, None, None)],
)
def test_a_host_tier_that_hardly_adds(ratio: float, number: str | None, severity: str) -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=ratio, context_length=100_000)
    capacity = plan_capacity(host("0.5.23"), asked)
    assert ids(capacity, severity) == ({number} if number else set())


def test_auto_warns_below_one_and_a_half() -> None:
    capacity = plan_capacity(host("0.5.18", available_gib=120), wishes())
    # 110 GiB / (8 x 70,272 x 159,300) = 1.318
    assert capacity["host"]["ratio"] == 1.31
    assert "RAM-004" in ids(capacity, "warn")


def test_auto_lets_the_engine_size_its_pools_where_that_holds_more() -> None:
    capacity = plan_capacity(host("0.5.23", tokens=300_000), wishes())
    # By ratio 27.63 GB per rank in any order, by the engine 51.81 x 0.98 x 0.95 = 48.2 GB, but
    # never more than twice the device pool: 42.2 GB.
    assert capacity["host"]["mode"] == "engine_auto"
    assert capacity["host"]["tokens"] == 600_001
    assert capacity["host"]["fraction"] == 0.98


def test_a_larger_reserve_than_the_engines_lowers_its_fraction() -> None:
    asked = wishes(hicache_reserve_gib=100)
    capacity = plan_capacity(host("0.5.23", tokens=324_288), asked)
    # 296 GiB of 386 x 0.95 are 0.807
    assert capacity["host"]["fraction"] == 0.807
    assert capacity["host"]["bytes_node"] <= 296 * GIB


def test_a_given_fraction_is_kept() -> None:
    asked = wishes(hicache_mode="engine_auto", hicache_host_memory_fraction=0.5)
    tier = plan_capacity(host("0.5.23"), asked)["host"]
    assert tier["fraction"] == 0.5
    assert tier["certainty"] == "certain"


def running(version: str, *flags: str, available_gib: float, shmem_gib: float) -> dict[str, Any]:
    """Facts of a server that runs with a host tier."""
    memory = {"instance": {"shmem_bytes": int(shmem_gib * GIB)}}
    argv = ["python", "--tp-size", "8", HICACHE, *flags]
    return host(version, argv=argv, available_gib=available_gib, memory=memory)


def proven(facts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The same facts, with a unit that says it was planned from these wishes."""
    facts["server"]["tier_fingerprint"] = tier_fingerprint(wishes(**changes))
    return facts


@pytest.mark.parametrize(
    ("available_gib", "said"),
    [(15.0, None), (36.0, "RAM-009"), (9.0, "RAM-008")],
    ids=["1 % more would fit", "7 % more would fit", "it would no longer fit"],
)
def test_a_proven_ratio_is_kept_whatever_the_neighbours_do(
    available_gib: float, said: str | None
) -> None:
    # 4.55 takes 379.5 GiB; one hundredth more takes 0.834 GiB, and 10 GiB are kept free.
    flags = ("--hicache-ratio", "4.55")
    facts = proven(running("0.5.18", *flags, available_gib=available_gib, shmem_gib=379.5))
    capacity = plan_capacity(facts, wishes())
    assert capacity["host"]["ratio"] == 4.55
    found = {entry["id"] for entry in capacity["findings"]} & {"RAM-008", "RAM-009"}
    assert found == ({said} if said else set())


@pytest.mark.parametrize(
    ("changes", "ratio"),
    [
        ({"hicache_replan": True}, 4.86),
        ({"hicache_ratio_max": 3.0}, 3.0),
        ({"hicache_reserve_gib": 20}, 4.74),
    ],
)
def test_a_proven_ratio_is_planned_again_when_that_is_asked_for(
    changes: dict[str, Any], ratio: float
) -> None:
    flags = ("--hicache-ratio", "4.55")
    facts = proven(running("0.5.18", *flags, available_gib=36.0, shmem_gib=379.5))
    assert plan_capacity(facts, wishes(**changes))["host"]["ratio"] == ratio


def test_a_ratio_that_nobody_proved_is_planned_again() -> None:
    flags = ("--hicache-ratio", "4.55")
    facts = running("0.5.18", *flags, available_gib=36.0, shmem_gib=379.5)
    assert plan_capacity(facts, wishes())["host"]["ratio"] == 4.86


def test_the_engines_own_sizing_is_kept_as_it_runs() -> None:
    flags = ("--hicache-host-memory-fraction", "0.9")
    facts = proven(running("0.5.23", *flags, available_gib=218, shmem_gib=178))
    tier = plan_capacity(facts, wishes())["host"]
    assert (tier["mode"], tier["fraction"]) == ("engine_auto", 0.9)


def test_auto_takes_a_size_where_a_ratio_must_leave_room_for_a_prediction() -> None:
    """A size holds what it says; a ratio of a predicted pool may turn out larger."""
    capacity = plan_capacity(host("0.5.18", tokens=None), wishes(mem_fraction_static=0.85))
    assert capacity["device"]["origin"] == "predicted"
    assert capacity["host"]["mode"] == "size"
    assert capacity["host"]["certainty"] == "certain"
    assert capacity["options"][0]["variables"] == {"sglang_hicache_mode": "auto"}


def test_a_proven_size_is_kept() -> None:
    facts = proven(running("0.5.18", "--hicache-size", "40", available_gib=36, shmem_gib=298))
    tier = plan_capacity(facts, wishes())["host"]
    assert (tier["mode"], tier["size_gb"]) == ("size", 40)


def test_a_server_without_a_host_pool_gets_none_because_ram_became_free() -> None:
    facts = proven(host("0.5.18", argv=["python", "--tp-size", "8"]))
    capacity = plan_capacity(facts, wishes())
    assert capacity["host"]["mode"] == "off"
    assert "RAM-009" in [entry["id"] for entry in capacity["findings"]]
    assert plan_capacity(facts, wishes(hicache_replan=True))["host"]["mode"] == "ratio"


@pytest.mark.parametrize("state", ["failed", "inactive", "activating"])
def test_the_log_of_a_start_that_ended_measures_nothing_for_other_flags(state: str) -> None:
    facts = host("0.5.18")
    facts["server"].update(active_state=state, main_pid=None, argv=None)
    device = plan_capacity(facts, wishes(mem_fraction_static=0.85))["device"]
    assert device["origin"] == "predicted"

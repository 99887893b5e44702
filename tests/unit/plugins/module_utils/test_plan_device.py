# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of the device tier: measured, declared, predicted, unknown."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.pool_rules import (
    default_mem_fraction,
)
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    GROUPED_MODEL,
    MIB,
    SMALL_DRAFT,
    drafting,
    host,
    ids,
    wishes,
)

RUNNING = [
    "python", "-m", "sglang.launch_server", "--model-path", "/models/one", "--tp-size=8",
    "--mem-fraction-static", "0.85",
]  # fmt: skip
SAME = {"model_path": "/models/one", "mem_fraction_static": 0.85}


def device(facts: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = plan_capacity(facts, asked)["device"]
    return found


def test_a_run_of_the_same_configuration_is_measured() -> None:
    found = device(host(argv=RUNNING), wishes(**SAME))
    assert (found["tokens"], found["origin"], found["error_percent"]) == (159_300, "measured", None)


def test_server_info_measures_as_well() -> None:
    facts = host(tokens=None)
    facts["server"]["info"] = {"max_total_num_tokens": 240_000, "tp_size": 8}
    assert device(facts, wishes())["tokens"] == 240_000


def test_server_info_of_another_parallelism_does_not() -> None:
    facts = host(tokens=None)
    facts["server"]["info"] = {"max_total_num_tokens": 240_000, "tp_size": 4}
    assert device(facts, wishes())["origin"] == "predicted"


def test_a_higher_fraction_is_predicted_from_the_measured_pool() -> None:
    found = device(host(argv=RUNNING), wishes(**{**SAME, "mem_fraction_static": 0.90}))

    # 5 % of 96,863 MiB free before load, at 70,272 B per token: 72,267 tokens more.
    before_load = (97_887 - 1_024) * MIB
    assert found["tokens"] == 159_300 + int(0.05 * before_load) // 70_272
    assert found["origin"] == "predicted"
    assert found["error_percent"] < 2


def test_a_smaller_kv_format_is_predicted_from_the_measured_pool() -> None:
    found = device(host(argv=RUNNING), wishes(**SAME, kv_cache_dtype="fp8_e4m3"))
    assert (found["tokens"], found["origin"]) == (318_600, "predicted")


@pytest.mark.parametrize(
    "changes",
    [
        {"tp_size": 4},
        {"model_path": "/models/two"},
        {"model_draft_path": "/models/draft", "speculative_algorithm": "EAGLE3"},
        {"pp_size": 2},
    ],
)
def test_another_configuration_is_predicted_from_scratch(changes: dict[str, Any]) -> None:
    model = {**GROUPED_MODEL, "weights_bytes": 160 * 10**9}
    facts = host(argv=RUNNING, model=model, draft=SMALL_DRAFT)
    found = device(facts, wishes(**{**SAME, **changes}))
    assert found["origin"] == "predicted"
    assert "no run of this configuration" in found["reason"]


def test_a_prediction_by_hand() -> None:
    model = {**GROUPED_MODEL, "weights_bytes": 160 * 10**9}
    found = device(host(tokens=None, model=model), wishes(mem_fraction_static=0.8))

    # 0.8 x 96,863 MiB - 20e9 B of weights, at 1 head x 256 x 32 x 2 = 16,384 B per token.
    rest = int(0.8 * 96_863 * MIB) - 20 * 10**9
    assert found["tokens"] == rest // 16_384
    assert found["error_percent"] == round(100 * 1.5 * GIB / rest, 1)


def test_a_multimodal_model_reserves_its_cache_since_0_5_18() -> None:
    asked = wishes(mem_fraction_static=0.85)
    before = device(host("0.5.17", tokens=None), asked)["tokens"]
    after = device(host("0.5.18", tokens=None), asked)["tokens"]
    assert before - after in (100 * MIB // 70_272, 100 * MIB // 70_272 + 1)


def test_a_draft_counts_since_0_5_14_as_if_its_layer_were_the_targets() -> None:
    asked = drafting(mem_fraction_static=0.85)
    draft = {**SMALL_DRAFT, "weights_bytes": 8 * 10**9}
    before = device(host("0.5.13.post1", tokens=None, draft=draft), asked)["tokens"]
    after = device(host("0.5.14", tokens=None, draft=draft), asked)["tokens"]

    rest = int(0.85 * 96_863 * MIB) - 547 * 10**9 // 8
    assert before == rest // 70_272
    # 70,272 x 62 / 61 = 71,424 B per token, and 1 GB of draft weights per rank.
    assert after == (rest - 10**9) // 71_424


def test_an_upgrade_across_that_change_is_not_taken_as_measured() -> None:
    facts = host("0.5.14", draft=SMALL_DRAFT)
    facts["server"]["info"] = {"version": "0.5.13.post1"}
    assert device(facts, drafting())["origin"] == "predicted"
    facts["server"]["info"] = {"version": "0.5.15.post1"}
    assert device(facts, drafting())["origin"] == "measured"


def test_measured_weights_are_better_than_files() -> None:
    facts = host(tokens=None, startup={"weights_bytes_per_rank": 70 * GIB})
    found = device(facts, wishes(mem_fraction_static=0.85))
    rest = int(0.85 * 96_863 * MIB) - 70 * GIB - 100 * MIB
    assert found["tokens"] == rest // 70_272


def test_weights_that_leave_nothing_are_refused() -> None:
    capacity = plan_capacity(host(tokens=None), wishes(tp_size=4, mem_fraction_static=0.9))

    assert capacity["device"]["tokens"] is None
    assert "DEV-001" in ids(capacity, "refuse")
    assert capacity["host"]["mode"] == "off"
    assert capacity["options"] == []


@pytest.mark.parametrize("page", [1, 16, 64])
def test_a_cap_is_declared_and_cut_to_pages(page: int) -> None:
    facts = host("0.5.23", tokens=None, gpus=0)
    found = device(facts, wishes(max_total_tokens=1_000, page_size=page))
    assert (found["tokens"], found["origin"]) == (1_000 // page * page, "declared")


def test_a_cap_below_a_measured_pool_lowers_it() -> None:
    facts = host(argv=RUNNING)
    capped = device(facts, wishes(**SAME, max_total_tokens="100k"))
    assert (capped["tokens"], capped["origin"]) == (100_000, "declared")
    idle = device(facts, wishes(**SAME, max_total_tokens=500_000))
    assert (idle["tokens"], idle["origin"]) == (159_300, "measured")


def test_a_pool_measured_under_a_cap_says_nothing_without_it() -> None:
    facts = host(tokens=50_000, argv=[*RUNNING, "--max-total-tokens", "50000"])
    assert device(facts, wishes(**SAME))["origin"] == "predicted"
    assert device(facts, wishes(**SAME, max_total_tokens=50_000))["origin"] == "measured"


def test_nothing_to_go_on_is_unknown_and_names_the_variable() -> None:
    capacity = plan_capacity(host(tokens=None, gpus=0), wishes())

    assert capacity["device"]["tokens"] is None
    assert capacity["requests"] == {"context_tokens": 32_768, "device": None, "in_reach": None}
    assert capacity["host"]["mode"] == "off"
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "HIC-012"]
    assert said["variable"] == "sglang_max_total_tokens"


def test_empty_facts_make_a_plan_of_unknowns() -> None:
    capacity = plan_capacity({}, wishes())
    assert capacity["engine_version"] == "0.5.23"
    assert capacity["device"]["tokens"] is None
    assert capacity["limits"] == []
    assert "HIC-011" in ids(capacity, "warn")


def test_the_longest_request_fits_the_device_tier() -> None:
    capacity = plan_capacity(host(), wishes())
    assert capacity["longest_request_tokens"] == 159_300
    assert "DEV-003" in ids(capacity, "warn")
    assert capacity["requests"]["device"] == 4

    short = plan_capacity(host(), wishes(context_length="128k"))
    assert short["longest_request_tokens"] == 128_000
    assert "DEV-003" not in ids(short)


def test_the_default_fraction_of_the_engine() -> None:
    arguments: dict[str, Any] = {"chunked_prefill_tokens": None, "graph_batch": None}
    # 512 + 1.5 x 8,192 + 1,024 + 2 x 512 = 14,848 MiB of 97,887: 0.848, less the vision tower.
    plain = default_mem_fraction(97_887 * MIB, 8, 8, multimodal=False, **arguments)
    vision = default_mem_fraction(97_887 * MIB, 8, 8, multimodal=True, **arguments)
    assert plain == 0.848
    assert round(vision, 2) == 0.77
    # 512 + 1.5 x 8,192 + 128 + 512 = 13,440 of 81,559; large GPUs keep at least 10 GiB.
    assert default_mem_fraction(81_559 * MIB, 1, 1, multimodal=False, **arguments) == 0.835
    small = {"chunked_prefill_tokens": 2_048, "graph_batch": 0}
    assert default_mem_fraction(81_559 * MIB, 1, 1, multimodal=False, **small) == 0.874

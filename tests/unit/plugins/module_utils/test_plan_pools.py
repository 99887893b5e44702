# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slots of host pools against what the engine itself reports, to the token and to the byte."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._plan.pools import Shape
from ansible_collections.llmops.sglang.plugins.module_utils._plan.setting import Parallel, Pool
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    MIB,
    WINDOW_MODEL,
    host,
    wishes,
)

#: 2 x 2 heads x 16 x 2 layers x 2 B = 256 B per token; on two ranks 128 B each.
TINY = {"attention": "gqa", "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 16}


def tiny(available_bytes: int, tokens: int = 100_000, version: str = "0.5.23") -> dict[str, Any]:
    """A host without a GPU whose available RAM is given to the byte."""
    return host(
        version,
        tokens=tokens,
        model=TINY,
        gpus=0,
        memory={"available_bytes": available_bytes},
    )


@pytest.mark.parametrize(
    ("device", "ratio", "page", "slots"),
    [
        (512, 4.0, 16, 2_064),
        (1_024, 4.0, 16, 4_112),
        (512, 1.5, 16, 784),
        (100_000, 40.0, 16, 4_000_016),
        (159_300, 4.37, 1, 696_142),
        (159_300, 2.4, 64, 382_336),
        (1_000, 1.01, 64, 1_024),
    ],
)
def test_slots_of_a_ratio_have_one_page_to_spare(
    device: int, ratio: float, page: int, slots: int
) -> None:
    asked = wishes(
        tp_size=1, page_size=page, hicache_mode="ratio", hicache_ratio=ratio, hicache_ratio_max=50.0
    )

    capacity = plan_capacity(tiny(400 * GIB, device), asked)

    assert capacity["host"]["tokens"] == slots


def test_old_versions_cut_to_whole_pages() -> None:
    asked = wishes(tp_size=1, page_size=64, hicache_mode="ratio", hicache_ratio=2.0)

    capacity = plan_capacity(tiny(100 * GIB, 1_000, "0.5.4.post3"), asked)

    assert capacity["host"]["tokens"] == 1_984
    assert capacity["tokens"]["in_reach"] == 1_984


def test_a_size_is_decimal_and_counts_the_target_pool_of_one_rank() -> None:
    asked = wishes(
        tp_size=2, page_size=16, hicache_mode="size", hicache_size_gb=1, hicache_ratio_max=None
    )

    capacity = plan_capacity(tiny(100 * GIB), asked)

    # 10^9 / 128 B = 7,812,500 tokens = 488,281 pages of 16, and one to spare.
    assert capacity["host"]["tokens"] == 488_282 * 16
    assert capacity["host"]["bytes_node"] == 2 * 488_282 * 16 * 128


@pytest.mark.parametrize(
    ("available_bytes", "tp", "certainty"),
    [
        # One rank: 4,000,016 x 256 B = 1,024,004,096 B.
        (10 * GIB + 1_024_004_096, 1, "certain"),
        (10 * GIB + 1_024_004_095, 1, "no"),
        # Two ranks of 512,002,048 B each: both ask first, or one pays for its peer as well.
        (10 * GIB + 1_000_004 * 1024, 2, "likely"),
        (10 * GIB + 1_000_003 * 1024, 2, "no"),
        (10 * GIB + 3 * 512_002_048, 2, "certain"),
        (10 * GIB + 3 * 512_002_048 - 1, 2, "likely"),
    ],
)
def test_the_engines_check_to_the_byte(available_bytes: int, tp: int, certainty: str) -> None:
    asked = wishes(
        tp_size=tp, page_size=16, hicache_mode="ratio", hicache_ratio=40, hicache_ratio_max=50
    )

    capacity = plan_capacity(tiny(available_bytes), asked)

    assert capacity["host"]["certainty"] == certainty


@pytest.mark.parametrize("tp", [1, 2])
def test_the_engines_own_sizing(tp: int) -> None:
    asked = wishes(
        tp_size=tp, page_size=16, hicache_mode="engine_auto", hicache_host_memory_fraction=0.8
    )

    capacity = plan_capacity(tiny(10 * GIB + 32 * MIB), asked)

    # 0.8 x 0.95 x 32 MiB / (100,016 tokens x 256 B) = 0.996 of the device pool.
    assert round(capacity["host"]["ratio"], 3) == 0.996
    assert capacity["host"]["tokens"] == 99_600
    assert capacity["tokens"]["in_reach"] == 100_000


def test_the_engines_own_sizing_refuses_without_ram() -> None:
    asked = wishes(tp_size=1, hicache_mode="engine_auto")
    capacity = plan_capacity(tiny(9 * GIB), asked)
    assert capacity["host"]["certainty"] == "no"


def test_a_size_below_the_device_pool_fails_in_old_versions() -> None:
    asked = wishes(tp_size=1, page_size=1, hicache_mode="size", hicache_size_gb=1)

    # 10^9 / 256 B = 3,906,250 tokens.
    old = plan_capacity(tiny(100 * GIB, 5_000_000, "0.5.14"), asked)
    new = plan_capacity(tiny(100 * GIB, 5_000_000, "0.5.15.post1"), asked)

    assert old["host"]["certainty"] == "no"
    assert "3,906,251 tokens" in old["findings"][0]["text"]
    assert new["host"]["certainty"] == "certain"
    assert {entry["id"] for entry in new["findings"]} == {"RAM-003"}


@pytest.mark.parametrize("page", [1, 16, 64])
def test_the_largest_size_fits_and_one_more_does_not(page: int) -> None:
    shape = Shape(page, True, (Pool("target", 70_272), Pool("draft", 4_096)), Parallel(tp=8))
    for max_slots in (page, 3 * page, 382_321, 1_000_000):
        size = shape.largest_size_gb(max_slots)
        assert shape.by_size(size or 0) <= max_slots or size is None
        assert shape.by_size((size or 0) + 1) > max_slots


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("padding", [False, True])
def test_the_largest_ratio_fits_and_one_hundredth_more_does_not(page: int, padding: bool) -> None:
    shape = Shape(page, padding, (Pool("target", 70_272),), Parallel())
    for device in (1_000, 159_300, 671_362):
        for max_slots in (device + 2 * page, 3 * device, 7 * device - 1):
            ratio = shape.largest_ratio(device, max_slots)
            assert ratio is not None
            assert shape.by_ratio(device, ratio) <= max_slots
            assert shape.by_ratio(device, round(ratio + 0.01, 2)) > max_slots


@pytest.mark.parametrize(("version", "mode"), [("0.5.17", "ratio"), ("0.5.18", "size")])
def test_no_size_is_chosen_where_each_pool_of_a_window_would_take_it_whole(
    version: str, mode: str
) -> None:
    facts = host(version, tokens=None, model=WINDOW_MODEL, gpus=1, available_gib=900)
    tier = plan_capacity(facts, wishes(tp_size=1))["host"]
    assert (tier["mode"], tier["certainty"]) == (mode, "certain")

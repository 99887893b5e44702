# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole hosts, each worked out by hand: other sizes, several instances, copies and stages."""

from __future__ import annotations

from typing import Any

import pytest
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


def sized(version: str, size_gb: int, **facts: Any) -> dict[str, Any]:
    """The host tier of a size per rank."""
    asked = wishes(hicache_mode="size", hicache_size_gb=size_gb)
    found = plan_capacity(host(version, tokens=1_000_000, **facts), asked)
    tier: dict[str, Any] = found["host"]
    return tier


def test_a_host_of_2_3_tib_takes_116_gb_for_each_of_8_ranks() -> None:
    # 8 x 116 = 928 GB of 2,290 GiB = 2,458.9 GB. Of a size the last rank needs
    # 7 x + 8 x <= 2,458.9, so 163.9 GB each: 163 is certain, 164 is not.
    assert round(sized("0.5.20", 116, available_gib=2_300)["bytes_node"] / 1e9) == 928
    assert sized("0.5.20", 116, available_gib=2_300)["certainty"] == "certain"
    assert sized("0.5.20", 163, available_gib=2_300)["certainty"] == "certain"
    assert sized("0.5.20", 164, available_gib=2_300)["certainty"] == "likely"
    # Before ranks shared, 2,458.9 / 8 = 307.3 GB each.
    assert sized("0.5.18", 307, available_gib=2_300)["certainty"] == "certain"
    assert sized("0.5.18", 308, available_gib=2_300)["certainty"] == "no"


def test_a_ratio_on_gpus_with_room_for_millions_of_tokens_is_cut_by_the_ram() -> None:
    facts = host("0.5.18", tokens=3_400_000, available_gib=2_900)
    asked = wishes(hicache_mode="ratio", hicache_ratio=2.5)

    capacity = plan_capacity(facts, asked)

    # 3.4 M x 2.5 x 70,272 x 8 = 4.78 TB of 2.89 TiB; 3,103.1 GB / (3.4 M x 562,176 B) = 1.62
    (said,) = [entry for entry in capacity["findings"] if entry["id"] == "RAM-002"]
    assert capacity["host"]["certainty"] == "no"
    assert "4450.3 GiB" in said["text"]
    assert "2890.0 GiB" in said["text"]
    assert "1.62" in said["remedy"]


@pytest.mark.parametrize(
    ("version", "page", "slots"),
    [
        # 100,010 x 2 = 200,020 tokens: 3,125 whole pages of 64, and from 0.5.5 on one to spare.
        ("0.5.4.post3", 64, 200_000),
        ("0.5.5.post3", 64, 200_064),
        ("0.5.5.post3", 1, 200_021),
        ("0.5.4.post3", 1, 200_020),
        ("0.5.23", 128, 200_064),
    ],
)
def test_pools_are_whole_pages(version: str, page: int, slots: int) -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=2.0, page_size=page)
    capacity = plan_capacity(host(version, tokens=100_010), asked)
    assert capacity["host"]["tokens"] == slots
    assert capacity["host"]["bytes_node"] == slots * 70_272 * 8


@pytest.mark.parametrize("available_gib", [0, 5, 10])
def test_a_room_below_zero_is_no_room(available_gib: int) -> None:
    capacity = plan_capacity(host("0.5.18", available_gib=available_gib), wishes())
    assert capacity["ram"]["usable_bytes"] == 0
    assert capacity["host"]["mode"] == "off"
    asked = wishes(hicache_mode="size", hicache_size_gb=1)
    assert (
        plan_capacity(host("0.5.18", available_gib=available_gib), asked)["host"]["certainty"]
        == "no"
    )


def test_swap_and_compressed_memory_are_no_ram() -> None:
    swap = {"swap_total_bytes": 512 * GIB, "swap_free_bytes": 512 * GIB}
    capacity = plan_capacity(host("0.5.18", memory=swap), wishes())
    assert capacity["ram"]["usable_bytes"] == 386 * GIB


def test_pipeline_stages_hold_their_layers_each() -> None:
    asked = wishes(tp_size=4, pp_size=2, hicache_mode="ratio", hicache_ratio=4.0)

    capacity = plan_capacity(host("0.5.18", tokens=300_000), asked)

    # Of 61 layers the first stage has 31: 576 x 31 x 2 = 35,712 B on each of its 4 ranks.
    assert capacity["bytes_per_token"]["target"] == 35_712
    assert capacity["ranks_per_node"] == 8
    assert capacity["host"]["bytes_node"] == 1_200_001 * 35_712 * 8
    assert capacity["tokens"]["in_reach"] == 1_200_000
    # 342.8 GB of 414.5 GB
    assert capacity["host"]["certainty"] == "certain"


def test_two_copies_hold_twice_the_tokens_in_twice_the_bytes() -> None:
    asked = wishes(tp_size=4, dp_size=2, hicache_mode="ratio", hicache_ratio=2.0)

    capacity = plan_capacity(host("0.5.18", tokens=100_000), asked)

    assert capacity["ranks_per_node"] == 8
    assert capacity["host"]["bytes_node"] == 200_001 * 70_272 * 8
    assert capacity["tokens"] == {"device": 200_000, "in_reach": 400_000}
    # Three requests of 32,768 in 100,000 tokens of each copy, six in 200,000.
    assert (capacity["requests"]["device"], capacity["requests"]["in_reach"]) == (6, 12)


def test_attention_without_sharing_holds_other_tokens_on_each_rank() -> None:
    asked = drafting(dp_size=8, enable_dp_attention=True, hicache_mode="ratio", hicache_ratio=2.0)

    capacity = plan_capacity(host("0.5.18", tokens=100_000, draft=SMALL_DRAFT), asked)

    # No head of the draft is split: 64 x 256 x 2 = 32,768 B.
    assert capacity["bytes_per_token"]["draft"] == 32_768
    assert capacity["host"]["bytes_node"] == 200_001 * (70_272 + 32_768) * 8
    assert capacity["tokens"] == {"device": 800_000, "in_reach": 1_600_000}
    assert capacity["longest_request_tokens"] == 100_000


def test_no_request_fits_where_the_device_tier_is_shorter_than_one() -> None:
    asked = wishes(hicache_mode="ratio", hicache_ratio=4.0)
    capacity = plan_capacity(host("0.5.18", tokens=20_000), asked)
    assert capacity["tokens"]["in_reach"] == 80_000
    assert (capacity["requests"]["device"], capacity["requests"]["in_reach"]) == (0, 0)


def neighbour(**changes: Any) -> dict[str, Any]:
    """Memory facts with another instance that was planned to pin 100 GiB."""
    plain = {"unit": "sglang-coder.service", "running": True, "host_bytes": 100 * GIB}
    return {"neighbours": [{**plain, "shmem_bytes": None, "rss_bytes": None, **changes}]}


@pytest.mark.parametrize(
    ("changes", "ratio"),
    [
        # 8 x 70,272 B x 159,300 = 89.56 GB for each time the device tier.
        ({"running": False}, 3.42),  # 286 GiB = 307.1 GB
        ({"shmem_bytes": 40 * GIB, "rss_bytes": 9 * GIB}, 3.90),  # 326 GiB = 350.0 GB
        ({"shmem_bytes": 100 * GIB, "rss_bytes": 30 * GIB}, 4.62),
        ({"shmem_bytes": 0, "rss_bytes": 130 * GIB}, 4.62),  # private memory before 0.5.17
    ],
    ids=["stopped", "still pinning", "there", "there in private memory"],
)
def test_what_another_instance_will_still_take_is_kept_free(
    changes: dict[str, Any], ratio: float
) -> None:
    capacity = plan_capacity(host("0.5.18", memory=neighbour(**changes)), wishes())
    assert capacity["host"]["ratio"] == ratio
    kept = capacity["ram"]["other_instances_bytes"]
    assert capacity["ram"]["usable_bytes"] == 386 * GIB - kept
    said = [entry["text"] for entry in capacity["findings"] if entry["id"] == "RAM-013"]
    assert all("sglang-coder.service" in text for text in said)
    assert len(said) == (1 if kept else 0)


def test_a_neighbour_of_unknown_size_is_said() -> None:
    unproven = neighbour(running=False, host_bytes=None)
    capacity = plan_capacity(host("0.5.18", memory=unproven), wishes())
    assert "RAM-014" in ids(capacity, "warn")
    assert capacity["ram"]["other_instances_bytes"] == 0
    assert capacity["host"]["ratio"] == 4.62


def two_kinds(**memory: Any) -> dict[str, Any]:
    """Four large GPUs on node 0, four small ones on node 1; nothing was measured yet."""
    facts = host("0.5.18", tokens=None, model=GROUPED_MODEL, memory=memory)
    for index, device in enumerate(facts["gpu"]["devices"]):
        device.update(uuid=f"GPU-{index}f3a", numa_node=index // 4)
        if index >= 4:
            device["memory_total_bytes"] = 32_768 * MIB
    return facts


@pytest.mark.parametrize(
    ("changes", "gpus"),
    [
        ({}, [0, 1, 2, 3]),
        ({"environment": {"CUDA_VISIBLE_DEVICES": "4,5,6,7"}}, [4, 5, 6, 7]),
        ({"environment": {"CUDA_VISIBLE_DEVICES": "GPU-6f3a,GPU-5,1,0"}}, [6, 5, 1, 0]),
        ({"environment": {"CUDA_VISIBLE_DEVICES": "0,1,9,2"}}, [0, 1]),
        ({"environment": {"CUDA_VISIBLE_DEVICES": ""}}, []),
        ({"extra_args": {"--base-gpu-id": 4}}, [4, 5, 6, 7]),
        ({"extra_args": {"base-gpu-id": 1, "gpu-id-step": 2}}, [1, 3, 5, 7]),
    ],
    ids=str,
)
def test_an_instance_is_planned_for_the_gpus_it_is_given(
    changes: dict[str, Any], gpus: list[int]
) -> None:
    asked = wishes(tp_size=4, mem_fraction_static=0.85, **changes)
    capacity = plan_capacity(two_kinds(), asked)
    assert capacity["gpus"] == gpus
    tokens = capacity["device"]["tokens"]
    if not gpus:
        assert tokens is None
        return
    # 131,072 / 4 B per token and rank; 95.6 or 32 GiB less 1 GiB, x 0.85, less 4 GB of weights.
    total = 32_768 * MIB if max(gpus) >= 4 else 97_887 * MIB
    assert tokens == (int((total - GIB) * 0.85) - 4 * 10**9) // 32_768


def test_gpus_named_by_uuid_are_counted_where_facts_have_none() -> None:
    facts = two_kinds()
    for device in facts["gpu"]["devices"]:
        del device["uuid"]
    asked = wishes(tp_size=4, environment={"CUDA_VISIBLE_DEVICES": "GPU-4,GPU-5"})
    assert len(plan_capacity(facts, asked)["gpus"]) == 2


@pytest.mark.parametrize(
    ("changes", "node"),
    [({}, 0), ({"extra_args": {"base-gpu-id": 4}}, 1), ({"extra_args": {"numa-node": [1] * 4}}, 1)],
    ids=["first GPUs", "last GPUs", "told by a flag"],
)
def test_ranks_on_one_of_two_nodes_have_only_its_memory(changes: dict[str, Any], node: int) -> None:
    nodes = [{"node": 0, "available_bytes": 120 * GIB}, {"node": 1, "available_bytes": 276 * GIB}]
    facts = two_kinds(numa=nodes)
    asked = wishes(tp_size=4, max_total_tokens=200_000, **changes)
    capacity = plan_capacity(facts, asked)
    # Half of the reserve on each node: 115 or 271 GiB / (4 x 32,768 B x 200,000 tokens)
    assert capacity["host"]["ratio"] == (4.71 if node == 0 else 8.0)
    assert [e["name"] for e in capacity["limits"] if e["name"].startswith("numa")] == [
        f"numa_{node}"
    ]

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capacity as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._render.plan_report import (
    capacity_table,
    plan_report,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    GIB,
    GROUPED_MODEL,
    SMALL_DRAFT,
    drafting,
    host,
    wishes,
)


def test_the_whole_screen() -> None:
    asked = drafting(mem_fraction_static=0.92)
    capacity = plan_capacity(host("0.5.18", draft=SMALL_DRAFT), asked)

    assert (
        plan_report("gpu-07", capacity)
        == """\
gpu-07   SGLang 0.5.18   8 ranks

KV    70,272 B per token and rank, 4,096 B for the draft
      device tier  159,300 tokens   10.4 GiB per rank  (measured)
      host tier    696,142 tokens   48.2 GiB per rank   385.7 GiB in all
                   ratio 4.37, starts: for certain
      4 requests of 32,768 tokens at once, 21 in reach
      longest single request 159,300 tokens
RAM   396.0 GiB available once stopped, 10.0 GiB kept free, 386.0 GiB usable
      bound by the host's available RAM, less what is kept free

More context in parallel: what would help
  #  change                             tokens in reach      RAM   starts
  1  HiCache, ratio 4.37                  696,141  x4.4  386 GiB  for certain
  2  HiCache, ratio 4.00                  637,200  x4.0  353 GiB  for certain
  3  fp8 KV + HiCache, ratio 4.37       1,392,282  x8.7  386 GiB  for certain
     answers change a little; on compute capability 12.x an MLA model may decode
     much slower, so measure it first
  4  fp8 KV cache                         318,600  x2.0    0 GiB  for certain
     answers change a little; on compute capability 12.x an MLA model may decode
     much slower, so measure it first

  Take the first:  sglang_hicache_mode: auto
                   then llmops.sglang.deploy

Findings
  warn    the model allows 262,144 tokens, the device tier holds 159,300: a
          longer request is refused, whatever the host tier holds (DEV-003)
          -> Set sglang_context_length to what fits, or enlarge the device tier
             [sglang_context_length]
"""
    )


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing known": ({}, wishes()),
    "two knobs": (
        host("0.5.23", draft=SMALL_DRAFT, startup={"avail_after_bytes": 16 * GIB}),
        drafting(mem_fraction_static=0.79),
    ),
    "with luck": (host("0.5.20"), wishes(hicache_mode="ratio", hicache_ratio=4.0)),
    "refused": (host("0.5.18"), wishes(hicache_mode="ratio", hicache_ratio=5.0)),
    "too little": (host("0.5.18", available_gib=20), wishes()),
    "predicted": (host("0.5.21", tokens=None), wishes(mem_fraction_static=0.9)),
    "no room": (host("0.5.21", tokens=None), wishes(tp_size=4, mem_fraction_static=0.9)),
    "declared": (host("0.5.23", tokens=None, gpus=0), wishes(tp_size=1, max_total_tokens=4_096)),
    "by size": (host("0.5.23"), wishes(hicache_mode="size", hicache_size_gb=20)),
    "by the engine": (host("0.5.23"), wishes(hicache_mode="engine_auto")),
    "huge": (
        host("0.5.23", tokens=9_000_000, available_gib=9_000, model=GROUPED_MODEL),
        wishes(dp_size=8),
    ),
    "a long cgroup path": (
        host(
            "0.5.23",
            memory={
                "cgroup": {
                    "version": 2,
                    "limits": [{"path": "/" + "very-long.slice/" * 8, "limit_bytes": 99 * GIB}],
                    "headroom_bytes": 90 * GIB,
                }
            },
        ),
        wishes(),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_a_terminal(case: str) -> None:
    capacity = plan_capacity(*CASES[case])
    for text in (plan_report("gpu-01", capacity), capacity_table(capacity)):
        assert all(len(line) <= 80 for line in text.splitlines()), text
        assert all(line == line.rstrip() for line in text.splitlines()), text
        assert text.isascii()
        assert "None" not in text


def test_luck_and_refusal_are_told_in_words() -> None:
    lucky = plan_report("gpu-01", plan_capacity(*CASES["with luck"]))
    assert "starts: with luck" in lucky
    refused = plan_report("gpu-01", plan_capacity(*CASES["refused"]))
    assert "ratio 5.00, starts: not" in refused
    assert "not offered: HiCache, ratio 5.00 needs 417.0 GiB" in refused


def test_nothing_is_recommended_that_is_not_certain() -> None:
    capacity = plan_capacity(
        host("0.5.18", tokens=200),
        wishes(kv_cache_dtype="fp8_e4m3", hicache_ratio_max=0.5, mem_fraction_static=0.5),
    )
    assert capacity["options"][0]["certainty"] == "likely"
    assert "Take the first" not in plan_report("gpu-01", capacity)


def test_the_error_of_a_prediction_is_shown() -> None:
    text = plan_report("gpu-01", plan_capacity(*CASES["predicted"]))
    assert "(predicted, +/- 7 %)" in text


def test_the_table_for_a_diff_holds_only_what_was_decided() -> None:
    one = plan_capacity(host("0.5.18", tokens=50_000, available_gib=396), wishes())
    other = plan_capacity(host("0.5.18", tokens=50_000, available_gib=399), wishes())

    # Free RAM differs, the ratio stands at its ceiling: nothing to do, nothing to show.
    assert capacity_table(one) == capacity_table(other)
    assert (
        capacity_table(one)
        == """\
SGLang: 0.5.18
device tier: 50,000 tokens
device tier, per rank: 3.51 GB
host tier: ratio 8.00
host tier, slots per rank: 400,001 tokens
host tier, per rank: 28.11 GB
host tier, on this node: 224.87 GB
tokens in reach: 400,000 tokens
requests of 32,768 tokens: 12
longest request: 50,000 tokens
"""
    )


def test_the_table_says_off_and_unknown() -> None:
    text = capacity_table(plan_capacity({}, wishes()))
    assert "host tier: off\n" in text
    assert "host tier, slots per rank: none\n" in text
    assert "device tier: unknown\n" in text


def test_the_table_names_each_mode() -> None:
    assert "host tier: size 20 GB per rank\n" in capacity_table(plan_capacity(*CASES["by size"]))
    by_engine = capacity_table(plan_capacity(*CASES["by the engine"]))
    assert "host tier: sized by SGLang, 0.98 of the RAM\n" in by_engine

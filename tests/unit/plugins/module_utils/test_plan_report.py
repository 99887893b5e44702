# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capacity as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.module_utils._plan.capacity import plan_capacity
from ansible_collections.llmops.sglang.plugins.module_utils._render.plan_report import (
    options_report,
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
  4  fp8 KV cache                         318,600  x2.0    0 GiB  for certain
  5  HiCache, ratio 4.37 + file store     696,141  x4.4  386 GiB  with luck
     3, 4: answers change a little; on compute capability 12.x an MLA model may
           decode much slower, so measure it first
     5: tokens in the store are not counted: whether they are found again is not
        certain

  The first gives  21 requests of 32,768 tokens at once, 4 on the GPUs alone
  How it adds up   159,300 device tokens x 4.37 = 696,142 slots per rank
                   8 ranks x (48.92 GB target + 2.85 GB draft) = 414.17 GB
                   <= 414.46 GB, what the host's available RAM leaves: 396.0 GiB
                     available once stopped - 10.0 GiB reserve
  What it costs    RAM: 385.7 GiB pinned on this node, 48.2 GiB by each rank;
                     nothing else can use it while the server runs
                   start: up to 277 s more to pin it, at the 1.5 GB/s of a slow
                     host (estimated, not measured here); a stop takes longer,
                     too
                   VRAM: copies between the tiers need buffers outside the
                     memory fraction; a fraction that just fits without a host
                     tier may run out of GPU memory with one
                   drafts: compare the accept length before and after prefixes
                     come back from RAM; on some versions it falls to a third
                     until the cache is flushed

  Take the first   sglang_hicache_mode: auto
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
    text = plan_report("gpu-01", plan_capacity(*CASES[case]))
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


def shown(*options: dict[str, Any]) -> list[str]:
    """Lines of the report about these options, each like a certain one but for what is given."""
    capacity = plan_capacity(host("0.5.18"), wishes())
    usual = {**capacity["options"][0], "note": None}
    ranked = [{**usual, "rank": rank, **one} for rank, one in enumerate(options, start=1)]
    return options_report({**capacity, "options": ranked}, []).splitlines()


def test_a_note_is_said_once_for_all_that_it_is_true_of() -> None:
    note = "measure it first, " * 5 + "then decide"
    lines = shown({}, {"note": note}, {"note": "other"}, {"note": note, "certainty": "likely"})
    assert [line for line in lines if "measure it first" in line][0].startswith("     2, 4: meas")
    assert "     3: other" in lines and sum("then decide" in line for line in lines) == 1


def test_a_long_title_goes_on_below_itself() -> None:
    lines = shown({"title": "HiCache, 49 GB per rank + a store that has a long name"})
    row = next(number for number, line in enumerate(lines) if line.startswith("  1  "))
    assert lines[row].startswith("  1  HiCache, 49 GB per rank + a store  ")
    assert lines[row + 1] == "     that has a long name"


def test_variables_are_copied_as_yaml() -> None:
    variables = {
        "sglang_enable_dp_attention": True,
        "sglang_kv_cache_dtype": "fp8_e4m3",
        "sglang_extra_args": {"enable-lmcache": True},
        "sglang_environment": {"WANDB_API_KEY": "local-planted-key", "SGLANG_X": "off"},
    }
    lines = [line[19:] for line in shown({"variables": variables})]
    start = lines.index("sglang_enable_dp_attention: true")
    settings = "\n".join(lines[start : lines.index("then llmops.sglang.deploy")])
    assert yaml.safe_load(settings) == {
        **variables,
        "sglang_environment": {"WANDB_API_KEY": "<redacted>", "SGLANG_X": "off"},
    }


def test_pools_that_only_some_models_have() -> None:
    capacity = plan_capacity(host("0.5.18"), wishes())
    device = {**capacity["device"], "swa_tokens": 127_440, "state_slots": 1_024}
    report = plan_report("gpu-01", {**capacity, "device": device})
    assert "      window pool  127,440 tokens\n      state slots  1,024\n" in report

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands before a message of the engine's log, and what is in one entry of the journal."""

from __future__ import annotations

import datetime

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.log_line import (
    split_line,
    split_lines,
)


@pytest.mark.parametrize(
    ("text", "rank", "message"),
    [
        ("[2026-11-30 10:00:00] hello", "", "hello"),
        (
            "[2026-11-30 10:00:00.123 DP0 PP1 ATTN_CP2 MOE_DP3 TP4 EP5] x",
            "DP0 PP1 ATTN_CP2 MOE_DP3 TP4 EP5",
            "x",
        ),
        ("[2026-11-30 10:00:00 TP3] x", "TP3", "x"),
        ("[2026-11-30 10:00:00 DP1 TP3] x", "DP1 TP3", "x"),
        ("[2026-11-30 10:00:00 TP3 EP3] x", "TP3 EP3", "x"),
        ("[2026-11-30 10:00:00 DP1 TP3 EP3] x", "DP1 TP3 EP3", "x"),
        ("[2026-11-30 10:00:00 PP1 TP0] x", "PP1 TP0", "x"),
        ("[2026-11-30 10:00:00 ATTN_CP5 TP5] x", "ATTN_CP5 TP5", "x"),
        (
            "[2026-11-30 10:00:00 DisaggregationMode.DECODE TP1] x",
            "DisaggregationMode.DECODE TP1",
            "x",
        ),
        ("2026-11-30T10:00:00.123456Z  INFO scheduler.init_model_worker: x", "", "x"),
        ("worker-2  | 2026-11-30T10:00:00.123456Z  WARN memory_pool.<module>: x", "", "x"),
        ("[10:00:00 TP3] x", "TP3", "x"),
        ("[2026-11-30 TP1] x", "TP1", "x"),
        ("2026-11-30T10:00:00+0000 gpu-01 python[77]: [2026-11-30 10:00:00 TP1] x", "TP1", "x"),
        (
            "Nov 30 10:00:00 gpu-01 python[77]: Traceback (most recent call last):",
            "",
            "Traceback (most recent call last):",
        ),
        ("[full] total=1, available=2", "", "[full] total=1, available=2"),
        ("", "", ""),
    ],
)
def test_prefixes(text: str, rank: str, message: str) -> None:
    line = split_line(text)
    assert (line.rank, line.message) == (rank, message)


@pytest.mark.parametrize(
    "text",
    [
        "[2026-11-30 10:00:07 TP1] x",
        "Nov 30 11:00:07 gpu-01 python[77]: [2026-11-30 10:00:07 TP1] x",
        "worker-2  | 2026-11-30T10:00:07.9Z  INFO scheduler.run: x",
    ],
)
def test_the_time_is_that_of_the_engine(text: str) -> None:
    assert split_line(text).at == datetime.datetime(2026, 11, 30, 10, 0, 7)


@pytest.mark.parametrize("stamp", ["2026-13-30 10:00:00", "2026-11-30", "10:00:00"])
def test_a_time_that_is_none_is_unknown(stamp: str) -> None:
    assert split_line(f"[{stamp} TP1] x")[:3] == ("TP1", None, "x")


def test_a_progress_bar_is_all_of_its_states() -> None:
    stack = "\rLoading:  50% | 1/2 [00:01<00:01]\rLoading: 100% | 2/2 [00:02<00:00]\n"
    messages = [line.message for line in split_lines(stack)]
    assert messages == ["Loading:  50% | 1/2 [00:01<00:01]", "Loading: 100% | 2/2 [00:02<00:00]"]


def test_a_message_behind_a_progress_bar_keeps_its_prefix() -> None:
    entry = "Loading: 100% | 2/2\r[2026-11-30 10:00:00 TP1] Load weight end."
    assert list(split_lines(entry))[-1][::2] == ("TP1", "Load weight end.")


def test_colours_are_taken_off() -> None:
    entry = "\x1b[1;31m[2026-11-30 10:00:00 TP1]\x1b[0m \x1b[38;5;196mx\x1b[m"
    assert [(line.rank, line.message) for line in split_lines(entry)] == [("TP1", "x")]


def test_only_a_structured_line_says_that_it_cannot_tell_its_rank() -> None:
    assert split_line("2026-11-30T10:00:00Z  INFO a.b: x").structured is True
    assert split_line("[2026-11-30 10:00:00] x").structured is False

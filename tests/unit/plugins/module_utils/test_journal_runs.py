# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A journal with several runs of a unit: which of them the numbers are of.

Each run has a pool of its own size. Beside what the collection reads stands what the search shows
that one would type.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.journal import read_startup
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import Redactor
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    record,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.startup_log import (
    start_lines,
)

UNIT = "sglang-kimi.service"
BY_HAND = (
    r"grep -i 'max_total_num_tokens\|kv cache\|available.*token\|token_pool\|mem.*fraction"
    r"\|avail mem\|max_running\|Capture\|alloc' | tail -20"
)


def run_of(tokens: int) -> list[str]:
    """A start with this many tokens, one rank."""
    return [
        line.replace("=1000,", f"={tokens},").replace("tokens: 1000,", f"tokens: {tokens},")
        for line in start_lines("0.5.18", ranks=1)
    ]


BATCHES = ["[2026-11-30 11:00:00] Decode batch, #running-req: 1, #token: 9, #queue-req: 0"] * 50
FULL = ["[2026-11-30 12:00:00] KV cache pool is full. Retract requests. #retracted_reqs: 1"] * 30
OLD = [*run_of(777), *BATCHES]
LOADING = 5  # lines of a start that has no pool yet


@pytest.mark.parametrize(
    ("current", "tokens", "by_hand"),
    [
        pytest.param([*run_of(888), *BATCHES], 888, {777, 888}, id="both runs in one answer"),
        pytest.param([*run_of(888), *FULL], 888, set(), id="later lines hide the start"),
        pytest.param(run_of(888)[:LOADING], None, {777}, id="a start without a pool"),
    ],
)
def test_the_numbers_are_of_the_current_run(
    tmp_path: Path, current: list[str], tokens: int | None, by_hand: set[int]
) -> None:
    entries = [("old", line) for line in OLD] + [("new", line) for line in current]
    journal = "".join(
        json.dumps({"MESSAGE": line, "_SYSTEMD_INVOCATION_ID": run}) + "\n" for run, line in entries
    )
    source = record(tmp_path, {"commands/journal.log": journal})
    startup = read_startup(source, Redactor(), UNIT, "new", False, False, 5)
    assert startup["max_total_num_tokens"] == tokens

    text = "".join(f"{line}\n" for _run, line in entries)
    shown = subprocess.run(
        ["sh", "-c", BY_HAND], input=text, check=True, capture_output=True, text=True
    ).stdout
    assert {n for n in (777, 888) if f"max_total_num_tokens={n}" in shown} == by_hand

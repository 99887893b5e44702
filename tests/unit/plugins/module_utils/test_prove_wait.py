# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a start: up, failed with its cause, given up by systemd, too late.

The journal is a file; a small journalctl in PATH reads it by cursor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.causes import CAUSES
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._prove import wait as waits
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import Client, Keys
from ansible_collections.llmops.sglang.plugins.module_utils._prove.wait import (
    StartFailed,
    Wait,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    STOPPED,
    UNIT,
    Stub,
    serving,
    unit_state,
)

JOURNALCTL = """#!{python}
import json, sys
wanted = [word.split("=", 1)[1] for word in sys.argv if word.startswith("_SYSTEMD_INVOCATION_ID=")]
after = [word.split("=", 1)[1] for word in sys.argv if word.startswith("--after-cursor=")]
assert "INVOCATION_ID=" + wanted[0] in sys.argv
start = int(after[0][2:]) if after else 0
try:
    lines = open("{folder}/" + wanted[0]).read().splitlines()
except FileNotFoundError:
    lines = []
for number, line in enumerate(lines[start:], start + 1):
    print(json.dumps({{"MESSAGE": line, "__CURSOR": "s=%d" % number}}))
"""
LOADED = [
    "[2026-11-30 20:00:01 TP0] Load weight begin. avail mem=90.00 GB",
    "[2026-11-30 20:00:09 TP0] Load weight end. elapsed=8.00 s, type=X, avail mem=60.00 GB, "
    "mem usage=30.00 GB.",
]
POOLED = [
    "[2026-11-30 20:00:10 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1000, "
    "KV size: 1.00 GB",
    "[2026-11-30 20:00:11 TP0] max_total_num_tokens=1000, chunked_prefill_size=8192, "
    "max_prefill_tokens=16384, max_running_requests=64, context_len=4096, "
    "available_gpu_mem=9.00 GB",
    "[2026-11-30 20:00:12 TP0] Allocating kv hierarchical KV host pool: 4016 tokens, "
    "4.00 GB host memory.",
]
READY = ["[2026-11-30 20:00:20] The server is fired up and ready to roll!"]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Append lines to the journal of an invocation."""
    tool = tmp_path / "bin/journalctl"
    tool.parent.mkdir()
    tool.write_text(JOURNALCTL.format(python=sys.executable, folder=tmp_path))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(waits, "_PAUSE_S", 0.01)
    # Half a second after the process of `unit_state` was started.
    monkeypatch.setattr(waits, "monotonic_s", lambda: 50.5)

    def append(*lines: str, invocation: str = "c0ffee") -> None:
        with (tmp_path / invocation).open("a") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    return append


@pytest.fixture
def server() -> Iterator[Stub]:
    with serving({}) as stub:
        yield stub


def wait_for(
    server: Stub,
    *states: UnitState | Callable[[], Any],
    timeline: list[dict[str, Any]] | None = None,
) -> Wait:
    """A wait that sees one state after the other; a function is called in between."""
    left = list(states)

    def read(unit: str) -> UnitState:
        assert unit == UNIT
        while callable(left[0]):
            left.pop(0)()  # type: ignore[operator]
        state = left.pop(0) if len(left) > 1 else left[0]
        assert isinstance(state, UnitState)
        return state

    return Wait(UNIT, Client(server.url, Keys()), timeline, read)


def test_it_returns_at_the_line_that_says_so(journal: Callable[..., None], server: Stub) -> None:
    journal(*LOADED)
    started = wait_for(
        server,
        unit_state(),
        unit_state(),
        lambda: journal(*POOLED),
        unit_state(),
        lambda: journal(*READY),
        unit_state(),
    ).until_ready(20)
    assert started is not None
    assert started.fired_up is True
    assert (started.invocation_id, started.startup["ready_s"]) == ("c0ffee", 19.0)
    assert started.startup["ranks"][0]["host_tokens"] == 4016
    assert [entry["text"] for entry in started.timeline] == [
        "weights loaded",
        "KV pool of 1,000 tokens",
        "host pool of 4,016 tokens per rank",
        "fired up",
    ]
    assert started.ready_s == started.timeline[-1]["at_s"]


def test_a_wait_in_parts_notes_each_phase_once(journal: Callable[..., None], server: Stub) -> None:
    journal(*LOADED)
    first = wait_for(server, unit_state())
    # There is something to show, so it does not wait to the end of its part.
    assert first.until_ready(600, part_s=500) is None
    assert [entry["text"] for entry in first.timeline] == ["weights loaded"]
    assert first.reached() == "it came as far as weights loaded"
    journal(*POOLED, *READY)
    started = wait_for(server, unit_state(), timeline=first.timeline).until_ready(600, part_s=0)
    assert started is not None
    assert started.timeline[0] == first.timeline[0]
    assert [entry["text"] for entry in started.timeline[1:]] == [
        "KV pool of 1,000 tokens",
        "host pool of 4,016 tokens per rank",
        "fired up",
    ]


def test_the_deadline_counts_from_the_start_of_the_process(
    journal: Callable[..., None], server: Stub
) -> None:
    journal(*LOADED)
    state = unit_state(started_s=50.5 - 100)
    with pytest.raises(StartFailed, match="not up after 90 s"):
        wait_for(server, state).until_ready(90, part_s=30)


def test_a_server_that_runs_already_is_taken_as_it_is(
    journal: Callable[..., None], server: Stub
) -> None:
    journal(*LOADED, *POOLED, *READY, "[2026-11-30 21:00:00] Decode batch")
    started = wait_for(server, unit_state()).until_ready(20)
    assert (started.fired_up, started.timeline, started.ready_s) == (True, [], 19.0)


def test_health_alone_is_never_enough(journal: Callable[..., None], server: Stub) -> None:
    journal(*LOADED, *POOLED)
    server.answers["/v1/models"] = {"data": []}
    with pytest.raises(StartFailed, match="as far as host pool of 4,016 tokens") as error:
        wait_for(server, unit_state()).until_ready(0.1)
    assert "sglang_start_timeout_s" in error.value.remedy
    assert server.asked == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "no weights are loaded yet"),
        (["Loading safetensors checkpoint shards:  59% Completed | 38/64 [00:09<"], "38 of 64"),
    ],
)
def test_a_start_that_takes_too_long_tells_how_far_it_came(
    journal: Callable[..., None], server: Stub, lines: list[str], expected: str
) -> None:
    journal(*lines)
    with pytest.raises(StartFailed, match=expected):
        wait_for(server, unit_state()).until_ready(0)


def test_a_journal_that_is_gone_leaves_the_answers(
    journal: Callable[..., None], server: Stub
) -> None:
    server.answers["/v1/models"] = {"data": []}
    started = wait_for(server, unit_state()).until_ready(5)
    assert started.fired_up is None


def test_a_terminal_line_ends_the_wait_with_cause_and_remedy(
    journal: Callable[..., None], server: Stub
) -> None:
    journal(*LOADED)
    wait = wait_for(
        server,
        unit_state(),
        lambda: journal(
            "[2026-11-30 20:00:12 TP0] Scheduler hit an exception: Traceback",
            "ValueError: Not enough host memory available. api_key='sk-abcdefgh'",
        ),
        unit_state(),
    )
    with pytest.raises(StartFailed) as error:
        wait.until_ready(60)
    assert error.value.cause == "host_memory_guard"
    assert error.value.line is not None
    assert error.value.line.startswith("ValueError: Not enough host memory available.")
    assert "sk-abcdefgh" not in error.value.line
    assert "sk-abcdefgh" not in str(error.value.startup)
    assert "sglang_hicache_ratio" in error.value.remedy


def test_a_start_that_systemd_tries_anew_has_failed(
    journal: Callable[..., None], server: Stub
) -> None:
    journal(*LOADED)
    journal(*POOLED, *READY, invocation="second")
    wait = wait_for(server, unit_state(), unit_state(invocation_id="second", restarts=1))
    with pytest.raises(StartFailed, match="main process"):
        wait.until_ready(60)


def test_a_process_that_ends_without_a_word_has_failed(
    journal: Callable[..., None], server: Stub
) -> None:
    ended = unit_state(
        main_pid=None, sub_state="auto-restart", active_state="activating", exit_code="1"
    )
    with pytest.raises(StartFailed, match="the main process exited with status 0") as error:
        wait_for(server, unit_state(), ended).until_ready(60)
    assert error.value.remedy == CAUSES["exit"].remedy


def test_the_last_lines_of_a_process_that_ended_are_read(
    journal: Callable[..., None], server: Stub
) -> None:
    wait = wait_for(
        server,
        unit_state(),
        unit_state(main_pid=None, active_state="failed", exit_code="1", exit_status=2),
    )
    journal("sglang serve: error: unrecognized arguments: --bogus")
    with pytest.raises(StartFailed) as error:
        wait.until_ready(60)
    assert error.value.cause == "arguments"


def test_a_unit_that_was_not_started_is_not_waited_for(
    journal: Callable[..., None], server: Stub
) -> None:
    with pytest.raises(StartFailed, match="is inactive"):
        wait_for(
            server, unit_state(active_state="inactive", main_pid=None, invocation_id=None)
        ).until_ready(60)


def test_one_look(journal: Callable[..., None], server: Stub) -> None:
    assert wait_for(server, STOPPED).look() is None
    journal(*LOADED)
    assert wait_for(server, unit_state()).look() is None
    journal(*POOLED, *READY)
    started = wait_for(server, unit_state()).look()
    assert started is not None
    assert started.fired_up is True

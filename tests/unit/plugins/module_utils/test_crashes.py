# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that ends by itself: the note that systemd writes, and what is made of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._layout import notes_file
from ansible_collections.llmops.sglang.plugins.module_utils._plan.crash_note import crash_note
from ansible_collections.llmops.sglang.plugins.module_utils._probe.crashes import read_crashes
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.plugins.module_utils._record.notes import (
    add_note,
    read_notes,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.live_host import FakeLive

CRASH = {"at": "2026-11-30T02:00:00Z", "who": "systemd", "outcome": "crashed", "result": "signal"}
CHANGE = {"at": "2026-11-30T01:00:00Z", "who": "ops on admin-01", "outcome": "proven"}


def write_note(folder: Path, jobs: str, status: int = 0, **ending: str) -> list[dict[str, Any]]:
    """Run the unit's command as systemd does after the end of a process; returns the diary."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    fake = tools / "systemctl"
    fake.write_text(f"#!/bin/sh\nprintf '%s' '{jobs}'\nexit {status}\n")
    fake.chmod(0o755)
    shell, *arguments = crash_note("kimi")
    diary = folder / "log" / "kimi.jsonl"
    place = arguments.index(notes_file("kimi"))
    arguments[place] = str(diary)
    said = {"INVOCATION_ID": "c0ffee", "SERVICE_RESULT": "signal", "EXIT_CODE": "killed"}
    said["EXIT_STATUS"] = "KILL"
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", **said, **ending}
    subprocess.run([shell.lstrip("-+"), *arguments], env=environment, check=True)
    return read_notes(diary)


def test_an_end_that_nobody_asked_for_is_a_line_in_the_diary(tmp_path: Path) -> None:
    (note,) = write_note(tmp_path, "")
    at = note.pop("at")
    assert len(at) == 20 and at.endswith("Z")
    assert note == {
        "who": "systemd",
        "outcome": "crashed",
        "invocation_id": "c0ffee",
        "result": "signal",
        "code": "killed",
        "status": "KILL",
    }
    # The launcher ended with 0 although a child had crashed, twice, as nobody had asked for.
    notes = write_note(tmp_path, "", SERVICE_RESULT="success", EXIT_CODE="exited", EXIT_STATUS="0")
    assert [note["result"] for note in notes] == ["signal", "success"]
    # systemd starts it anew, and it ends again.
    job = "  812 sglang-kimi.service start running\n"
    assert len(write_note(tmp_path, job)) == 3


@pytest.mark.parametrize("order", ["stop", "restart"])
def test_an_end_that_was_asked_for_is_none(tmp_path: Path, order: str) -> None:
    assert write_note(tmp_path, f"  812 sglang-kimi.service {order} running\n") == []


def test_whoever_cannot_ask_systemd_writes_nothing_and_fails_nothing(tmp_path: Path) -> None:
    assert write_note(tmp_path, "", status=1) == []


class Diary(FakeLive):
    """A host whose diary the reader's own command reads."""

    def command(self, name: str, argv: list[str], *more: Any, **named: Any) -> Any:
        if name == "crashes.txt":
            return Live().command(name, [*argv[:-1], self._at(argv[-1])], *more, **named)
        return super().command(name, argv, *more, **named)


def crashes_of(root: Path, *notes: dict[str, Any], journal: str = "") -> dict[str, Any] | None:
    host = Diary(root)
    host.say("journal-crash.log", journal)
    for note in notes:
        add_note(root / notes_file("kimi").lstrip("/"), note)
    return read_crashes(host, Redactor(), "kimi", 20)


def test_crashes_count_from_the_last_change_on(tmp_path: Path) -> None:
    assert crashes_of(tmp_path) is None
    assert crashes_of(tmp_path, CHANGE) is None
    last = {**CRASH, "at": "2026-11-30T04:00:00Z", "result": "oom-kill", "status": "9"}
    found = crashes_of(tmp_path, CRASH, CHANGE, {**CRASH, "at": "2026-11-30T03:00:00Z"}, last)
    assert found == {
        "count": 2,
        "since": "2026-11-30T03:00:00Z",
        "at": "2026-11-30T04:00:00Z",
        "result": "oom-kill",
        "status": "9",
        "cause": "host_oom_kill",
        "cause_line": None,
    }
    # A failure whose text speaks of crashes is a change all the same.
    spoken = {**CHANGE, "why": 'the diary says "outcome": "crashed"'}
    assert crashes_of(tmp_path, spoken) is None


def test_the_journal_of_that_run_tells_the_cause(tmp_path: Path) -> None:
    line = "torch.OutOfMemoryError: CUDA out of memory. api_key=hidden-word"
    found = crashes_of(
        tmp_path, {**CRASH, "invocation_id": "c0ffee"}, journal=f"starting\n{line}\nbye\n"
    )
    assert found is not None
    assert found["cause"] == "device_out_of_memory"
    assert "CUDA out of memory" in found["cause_line"]
    assert "hidden-word" not in json.dumps(found)


def test_a_diary_that_cannot_be_understood_tells_nothing(tmp_path: Path) -> None:
    host = FakeLive(tmp_path)
    host.put(notes_file("kimi"), "")
    for said in ("", "awk: cannot open\n", "2\nnot json\n{}\n", "x\n{}\n{}\n", "2\n[]\n[]\n"):
        host.say("crashes.txt", said)
        assert read_crashes(host, Redactor(), "kimi", 20) is None

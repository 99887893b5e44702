# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit, its journal and what the server says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.journal import (
    TAIL_LINES,
    read_startup,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils._probe.server import (
    flag_value,
    read_argv,
    read_server,
    read_unit,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live, Source
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)

UNIT = "sglang-kimi.service"
GIB = 1 << 30
CAPACITY = (
    "[2026-11-30 10:01:00 TP0] max_total_num_tokens=5000, max_running_requests=9, "
    "context_len=8192, available_gpu_mem=3.00 GB"
)
READY = "[2026-11-30 10:02:00] The server is fired up and ready to roll!"
GUARD = (
    "ValueError: Not enough host memory available. Requesting 61.20 GB but only have 44.90 GB "
    "free. Please reduce the size of the hierarchical cache."
)


def show(**values: Any) -> str:
    """What systemctl says of a running unit, with changes."""
    unit = {
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "running",
        "MainPID": 77,
        "InvocationID": "a1",
        "NRestarts": 0,
        "Result": "success",
        "ExecMainCode": 0,
        "ExecMainStatus": 0,
        "NeedDaemonReload": "no",
        **values,
    }
    return "".join(f"{name}={value}\n" for name, value in unit.items())


def server_of(source: Source) -> dict[str, Any]:
    redactor = Redactor()
    unit = read_unit(source, UNIT, 5)
    argv = read_argv(source, 77, redactor)
    return read_server(source, redactor, UNIT, "kimi", unit, argv, 30000, [], False, 5)


def recorded(folder: Path, journal: str = "", unit: str | None = None, **files: str) -> Any:
    """The server of a recording with this journal; C(files) by their name below http/."""
    return server_of(
        record(
            folder,
            {
                "commands/systemctl-show.txt": show() if unit is None else unit,
                "commands/journal.log": journal,
                **{f"http/{name}.json": text for name, text in files.items()},
            },
        )
    )


def test_the_headline_server() -> None:
    server = facts_of("headline")["server"]
    assert server["active_since"] == "2026-11-27T15:58:00Z"
    assert server["uptime_s"] == 273520
    assert server["restarts"] == 0 and server["exit_status"] is None
    assert server["startup"] == {
        "state": "ready",
        "cause": None,
        "cause_line": None,
        "max_total_num_tokens": 159300,
        "context_tokens": 262144,
        "max_running_requests": 48,
        "device_bytes_per_rank": int(10.43 * GIB),
        "host_tokens": 0,
        "host_bytes_per_rank": 0,
        "draft_host_tokens": 0,
        "draft_host_bytes_per_rank": 0,
        "weights_bytes_per_rank": int(63.70 * GIB),
        "avail_after_bytes": int(7.91 * GIB),
        "load_s": 279.3,
        "graphs_s": 94.4,
        "ready_s": 424.0,
    }
    assert server["loads"] == {"running": 3, "waiting": 1, "used_tokens": 61200}
    assert server["proven"]["device_tokens"] == 159300 and "unit" not in server["proven"]
    assert server["info"]["max_req_input_len"] == 159294


def test_ranks_in_detail() -> None:
    ranks = facts_of("headline", detail=True)["server"]["startup"]["ranks"]
    assert [rank["rank"] for rank in ranks] == [f"TP{number}" for number in range(8)]
    assert {rank["draft_device_bytes"] for rank in ranks} == {2 * int(0.30 * GIB)}
    assert [rank["max_total_num_tokens"] for rank in ranks] == [159300] + [None] * 7


def test_lines_as_journalctl_short_iso_prints_them() -> None:
    startup = facts_of("h200-nvlink")["server"]["startup"]
    assert startup["max_total_num_tokens"] == 1850000
    assert startup["host_tokens"] == 2035064
    assert startup["host_bytes_per_rank"] == 97_940_000_000
    assert startup["ready_s"] == 175.0


@pytest.mark.parametrize("form", ["cat", "json", "bytes"])
def test_every_form_of_the_journal(tmp_path: Path, form: str) -> None:
    def line(text: str) -> str:
        if form == "cat":
            return text
        message: Any = text if form == "json" else list(text.encode())
        return json.dumps({"MESSAGE": message, "_SYSTEMD_INVOCATION_ID": "a1"})

    foreign = json.dumps(
        {"MESSAGE": CAPACITY.replace("5000", "1"), "_SYSTEMD_INVOCATION_ID": "other"}
    )
    odd = ['{"MESSAGE": null}', "{", '{"MESSAGE": [300, "x"]}', "[1]", ""]
    journal = "\n".join([foreign, *odd, line(CAPACITY), line(READY)])
    startup = recorded(tmp_path, journal)["startup"]
    assert (startup["state"], startup["max_total_num_tokens"]) == ("ready", 5000)


def test_a_capacity_line_that_was_rotated_away_is_unknown_not_zero(tmp_path: Path) -> None:
    batch = "[2026-11-30 11:00:00 TP0] Decode batch, #running-req: 1, #token: 9, #queue-req: 0"
    server = recorded(tmp_path, batch, server_info='{"max_total_num_tokens": 5000}')
    assert server["startup"]["state"] == "ready"
    assert server["startup"]["max_total_num_tokens"] is None
    assert server["startup"]["host_tokens"] is None
    assert server["info"] == {"max_total_num_tokens": 5000}


@pytest.mark.parametrize(
    ("unit", "journal", "state", "cause"),
    [
        (show(), "", "starting", None),
        (show(), CAPACITY, "starting", None),
        (show(), f"{CAPACITY}\n{READY}", "ready", None),
        (show(), f"{CAPACITY}\n{GUARD}", "failed", "host_memory_guard"),
        (
            show(ActiveState="activating", SubState="auto-restart", MainPID=0),
            GUARD,
            "failed",
            "host_memory_guard",
        ),
        (
            show(ActiveState="failed", MainPID=0, Result="oom-kill"),
            CAPACITY,
            "failed",
            "host_oom_kill",
        ),
        (
            show(ActiveState="failed", MainPID=0, Result="exit-code"),
            f"{CAPACITY}\n{READY}\n{UNIT}: Main process exited, code=exited, status=1/FAILURE",
            "failed",
            "exit",
        ),
        (show(ActiveState="failed", MainPID=0, Result="exit-code"), "", "failed", None),
        (
            show(ActiveState="inactive", MainPID=0),
            f"{CAPACITY}\n{READY}\n{UNIT}: Main process exited, code=killed, status=9/KILL",
            "absent",
            None,
        ),
        (show(LoadState="not-found", ActiveState="inactive", MainPID=0), "", "absent", None),
    ],
)
def test_states(tmp_path: Path, unit: str, journal: str, state: str, cause: str | None) -> None:
    startup = recorded(tmp_path, journal, unit)["startup"]
    assert (startup["state"], startup["cause"]) == (state, cause)
    assert (startup["cause_line"] is not None) == (cause in ("host_memory_guard", "exit"))


def test_a_failed_unit(tmp_path: Path) -> None:
    server = recorded(
        tmp_path,
        GUARD,
        show(
            ActiveState="failed",
            MainPID=0,
            NRestarts=3,
            ExecMainCode=1,
            ExecMainStatus=137,
            NeedDaemonReload="yes",
            Result="exit-code",
        ),
    )
    assert (server["main_pid"], server["restarts"], server["exit_status"]) == (None, 3, 137)
    assert server["need_daemon_reload"] is True
    assert server["startup"]["cause_line"] == GUARD


def test_the_line_that_proves_a_failure_holds_no_secret(tmp_path: Path) -> None:
    line = "launch_server.py: error: unrecognized arguments: --api-key planted --x " + "y" * 900
    startup = recorded(tmp_path, line)["startup"]
    assert startup["cause"] == "arguments"
    assert "planted" not in startup["cause_line"] and len(startup["cause_line"]) == 300


class Journal(Live):
    """A live host whose journal is a list of lines."""

    def __init__(self, lines: list[str]) -> None:
        self.entries, self.read, self.calls = lines, 0, list[list[str]]()

    def lines(self, name: str, argv: list[str], timeout_s: float) -> Iterator[str]:
        self.calls.append(argv)
        tail = f"--lines={TAIL_LINES}" in argv
        for line in self.entries[-TAIL_LINES:] if tail else self.entries:
            self.read += 1
            yield line


def test_a_live_journal_is_read_from_its_start_and_only_to_the_ready_line() -> None:
    journal = Journal([CAPACITY, READY] + ["later"] * 100_000)
    startup = read_startup(journal, Redactor(), "a1", False, False, 5)
    assert startup["max_total_num_tokens"] == 5000
    assert journal.read == 2
    assert journal.calls[0][-3:] == ["_SYSTEMD_INVOCATION_ID=a1", "+", "INVOCATION_ID=a1"]


def test_the_end_of_a_run_that_ended_is_read_for_its_cause() -> None:
    journal = Journal([CAPACITY, READY] + ["later"] * 5000 + [GUARD])
    startup = read_startup(journal, Redactor(), "a1", True, False, 5)
    assert (startup["state"], startup["cause"]) == ("failed", "host_memory_guard")
    assert startup["max_total_num_tokens"] == 5000
    assert journal.read == 2 + TAIL_LINES


def test_a_live_journal_without_a_begin_is_not_read_for_ever() -> None:
    journal = Journal(["later"] * 200_000)
    startup = read_startup(journal, Redactor(), "a1", False, False, 5)
    assert startup["max_total_num_tokens"] is None
    assert journal.read < 60_000


def test_without_an_invocation_there_is_nothing_to_read() -> None:
    journal = Journal([GUARD])
    assert read_startup(journal, Redactor(), None, False, False, 5)["state"] == "absent"
    assert journal.calls == []


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        (
            '{"loads": [{"num_running_reqs": 2, "num_waiting_reqs": 1, "num_used_tokens": 9}, '
            '{"num_running_reqs": 3, "num_waiting_reqs": 0, "num_used_tokens": 1}]}',
            (5, 1, 10),
        ),
        ('[{"dp_rank": 0, "num_reqs": 4, "num_waiting_reqs": 1, "num_tokens": 70}]', (3, 1, 70)),
        ('{"loads": [{"num_running_reqs": 2}]}', (2, None, None)),
    ],
)
def test_loads_of_every_release(tmp_path: Path, text: str, loads: tuple[Any, ...]) -> None:
    assert tuple(recorded(tmp_path, loads=text)["loads"].values()) == loads


def test_loads_from_the_metrics() -> None:
    assert facts_of("h200-nvlink")["server"]["loads"] == {
        "running": 5,
        "waiting": 0,
        "used_tokens": 91000,
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"loads": []}', '{"loads": [1]}', "oops"])
def test_loads_that_cannot_be_read_are_unknown(tmp_path: Path, text: str) -> None:
    assert recorded(tmp_path, loads=text)["loads"] is None


def test_only_allowed_keys_of_the_server_come_through(tmp_path: Path) -> None:
    info = recorded(
        tmp_path,
        server_info=json.dumps(
            {
                "version": "0.5.18",
                "tp_size": 8,
                "api_key": "planted",
                "launch_command": "planted",
                "context_length": None,
                "attention_backend": {"odd": "planted"},
                "internal_states": [{"max_total_num_tokens": 7, "secret": "planted"}],
            }
        ),
    )["info"]
    assert info == {"version": "0.5.18", "tp_size": 8, "max_total_num_tokens": 7}


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        (["x", "--port", "1"], "1"),
        (["x", "--port=2"], "2"),
        (["--port", "1", "--port", "3"], "3"),
        (["x", "--port"], None),
        (["x"], None),
        (None, None),
    ],
)
def test_values_of_flags(argv: list[str] | None, value: str | None) -> None:
    assert flag_value(argv, "--port") == value

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit, its journal and what the server says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import (
    Live,
    Output,
    Source,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)
from hypothesis import given, settings
from hypothesis import strategies as st

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
    server = facts_of("headline", detail=True)["server"]
    assert server["active_since"] == "2026-11-27T15:58:00Z"
    assert server["uptime_s"] == 273520
    assert server["restarts"] == 0 and server["exit_status"] is None
    startup = server["startup"]
    assert len(startup.pop("ranks")) == 8 and startup.pop("limits")["context_len"] == 262144
    assert startup == {
        "state": "ready",
        "phase": "serving",
        "cause": None,
        "cause_line": None,
        "max_total_num_tokens": 159300,
        "context_tokens": 262144,
        "max_running_requests": 48,
        "device_bytes_per_rank": int(10.43 * GIB),
        "draft_tokens": 159300,
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


BATCH = "[2026-11-30 11:00:00 TP0] Decode batch, #running-req: 1, #token: 9, #queue-req: 0"


def test_a_capacity_line_that_was_rotated_away_is_unknown_not_zero(tmp_path: Path) -> None:
    startup = recorded(tmp_path, BATCH)["startup"]
    for name in ("max_total_num_tokens", "max_running_requests", "host_tokens"):
        assert startup[name] is None
    assert "from_server" not in startup


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"max_total_num_tokens": 5000}, {"max_total_num_tokens": 5000}),
        (
            {
                "max_running_requests": 48,
                "internal_states": [
                    {
                        "memory_usage": {
                            "weight": 60.25,
                            "kvcache": 2.5,
                            "token_capacity": 5000,
                            "token_capacity_swa": 4000,
                        }
                    }
                ],
            },
            {
                "max_total_num_tokens": 5000,
                "max_running_requests": 48,
                "swa_tokens": 4000,
                "weights_bytes_per_rank": int(60.25 * GIB),
                "device_bytes_per_rank": int(2.5 * GIB),
            },
        ),
    ],
)
def test_the_server_tells_what_was_rotated_away(
    tmp_path: Path, answer: dict[str, Any], expected: dict[str, int]
) -> None:
    startup = recorded(tmp_path, BATCH, server_info=json.dumps(answer))["startup"]
    assert {name: startup[name] for name in expected} == expected
    assert startup["from_server"] == sorted(expected)
    assert startup["state"] == "ready"
    assert startup["host_tokens"] is None


def test_what_the_journal_tells_is_not_asked_for(tmp_path: Path) -> None:
    startup = recorded(tmp_path, CAPACITY, server_info='{"max_total_num_tokens": 7}')["startup"]
    assert startup["max_total_num_tokens"] == 5000
    assert "from_server" not in startup


@pytest.mark.parametrize(
    "answer",
    [
        {"max_total_num_tokens": "many", "max_running_requests": None},
        {"max_total_num_tokens": -5, "max_running_requests": True},
        {"internal_states": ["odd"], "memory_usage": "odd"},
        {"memory_usage": {"weight": -1.0, "kvcache": 1e300, "token_capacity": [1]}},
    ],
)
def test_an_odd_answer_fills_nothing(tmp_path: Path, answer: dict[str, Any]) -> None:
    server = recorded(tmp_path, BATCH, server_info=json.dumps(answer))
    assert "from_server" not in server["startup"]


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
        (show(ActiveState="failed", MainPID=0, Result="exit-code"), "", "failed", "exit"),
        (show(ActiveState="failed", MainPID=0, Result="signal"), CAPACITY, "failed", "killed"),
        (show(ActiveState="failed", MainPID=0, Result="core-dump"), "", "failed", "killed"),
        (
            show(ActiveState="failed", MainPID=0, Result="timeout"),
            CAPACITY,
            "failed",
            "start_timeout",
        ),
        (
            show(ActiveState="failed", MainPID=0, Result="timeout"),
            f"{CAPACITY}\n{READY}",
            "failed",
            "stop_timeout",
        ),
        (show(ActiveState="failed", MainPID=0, Result="watchdog"), "", "failed", "watchdog"),
        (show(ActiveState="failed", MainPID=0, Result="resources"), "", "failed", "unit_setup"),
        (
            show(ActiveState="failed", MainPID=0, Result="start-limit-hit"),
            f"{CAPACITY}\n{UNIT}: Start request repeated too quickly.",
            "failed",
            "start_limit",
        ),
        (
            show(ActiveState="failed", MainPID=0, Result="start-limit-hit"),
            f"{CAPACITY}\n{GUARD}\n{UNIT}: Start request repeated too quickly.",
            "failed",
            "host_memory_guard",
        ),
        (
            show(ActiveState="failed", MainPID=0, Result="oom-kill"),
            f"{GUARD}\n{UNIT}: Failed with result 'exit-code'.",
            "failed",
            "host_memory_guard",
        ),
        (show(ActiveState="failed", MainPID=0, Result="something-new"), "", "failed", None),
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
    assert (startup["cause_line"] is not None) == (cause is not None)


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
        self.kernel: list[str] = []

    def lines(self, name: str, argv: list[str], timeout_s: float) -> Iterator[str]:
        self.calls.append(argv)
        entries = self.kernel if "_TRANSPORT=kernel" in argv else self.entries
        tail = f"--lines={TAIL_LINES}" in argv
        for line in entries[-TAIL_LINES:] if tail else entries:
            self.read += 1
            yield line


def test_a_live_journal_is_read_from_its_start_and_only_to_the_ready_line() -> None:
    journal = Journal([CAPACITY, READY] + ["later"] * 100_000)
    startup = read_startup(journal, Redactor(), UNIT, "a1", False, False, 5)
    assert startup["max_total_num_tokens"] == 5000
    assert journal.read == 2
    assert "--all" in journal.calls[0] and journal.calls[0][-3:] == [
        "_SYSTEMD_INVOCATION_ID=a1",
        "+",
        "INVOCATION_ID=a1",
    ]


def test_the_end_of_a_run_that_ended_is_read_for_its_cause() -> None:
    journal = Journal([CAPACITY, READY] + ["later"] * 5000 + [GUARD])
    startup = read_startup(journal, Redactor(), UNIT, "a1", True, False, 5)
    assert (startup["state"], startup["cause"]) == ("failed", "host_memory_guard")
    assert startup["max_total_num_tokens"] == 5000
    assert journal.read == 2 + TAIL_LINES


def test_a_live_journal_without_a_begin_is_not_read_for_ever() -> None:
    journal = Journal(["later"] * 200_000)
    startup = read_startup(journal, Redactor(), UNIT, "a1", False, False, 5)
    assert startup["max_total_num_tokens"] is None
    assert journal.read < 60_000


def test_without_an_invocation_there_is_nothing_to_read() -> None:
    journal = Journal([GUARD])
    assert read_startup(journal, Redactor(), UNIT, None, False, False, 5)["state"] == "absent"
    assert journal.calls == []


MEMCG = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/sglang.slice,"
    f"task_memcg=/sglang.slice/{UNIT},task=python,pid=4711,uid=990"
)
KILLED = "Memory cgroup out of memory: Killed process 4711 (sglang::schedul) total-vm:91kB"


def entry(message: str | None, second: int) -> str:
    return json.dumps(
        {"MESSAGE": message, "__REALTIME_TIMESTAMP": str(1_700_000_000 * 10**6 + second * 10**6)}
    )


@pytest.mark.parametrize(
    "end",
    [
        "[2026-11-30 10:01:00] Received sigquit from a child process. It usually means the child failed.",
        f"{UNIT}: Main process exited, code=killed, status=9/KILL",
        f"{UNIT}: Failed with result 'oom-kill'.",
    ],
)
def test_the_kernel_is_asked_where_the_log_does_not_tell(end: str) -> None:
    journal = Journal([entry(CAPACITY, 60), entry(end, 90)])
    journal.kernel = [entry("NVRM: loading", 1), entry(MEMCG, 80), entry(KILLED, 80)]
    startup = read_startup(journal, Redactor(), UNIT, "a1", True, False, 5)
    assert (startup["cause"], startup["cause_line"]) == ("host_oom_kill", KILLED)


def test_what_the_kernel_did_to_an_earlier_run_does_not_count() -> None:
    journal = Journal([entry(CAPACITY, 60), entry(f"{UNIT}: Failed with result 'signal'.", 90)])
    journal.kernel = [entry(MEMCG, 50), entry(KILLED, 50)]
    assert read_startup(journal, Redactor(), UNIT, "a1", True, False, 5)["cause"] == "killed"


def test_the_kernel_is_not_asked_where_the_log_tells() -> None:
    journal = Journal([entry(CAPACITY, 60), entry(GUARD, 90)])
    read_startup(journal, Redactor(), UNIT, "a1", True, False, 5)
    assert not any("_TRANSPORT=kernel" in call for call in journal.calls)


def test_a_message_that_is_too_long_still_tells_when_the_start_was() -> None:
    journal = Journal([entry(None, 0), entry(CAPACITY, 60), entry(READY, 90)])
    startup = read_startup(journal, Redactor(), UNIT, "a1", False, False, 5)
    assert startup["ready_s"] == 90.0


def test_a_message_of_many_lines_is_read_line_by_line() -> None:
    trace = f"[2026-11-30 10:01:00 TP3] Scheduler hit an exception: Traceback\n  File x\n{GUARD}\n"
    journal = Journal([entry(CAPACITY, 60), entry(trace, 90)])
    startup = read_startup(journal, Redactor(), UNIT, "a1", False, False, 5)
    assert (startup["cause"], startup["cause_line"]) == ("host_memory_guard", GUARD)


def test_a_message_with_colours_comes_as_bytes() -> None:
    message = json.dumps({"MESSAGE": list(f"\x1b[32m{CAPACITY}\x1b[0m\u00e9".encode()) + []})
    startup = read_startup(Journal([message]), Redactor(), UNIT, "a1", False, False, 5)
    assert startup["max_total_num_tokens"] == 5000


def test_a_field_that_came_twice_is_read_as_two_messages() -> None:
    message = json.dumps({"MESSAGE": ["first", list(CAPACITY.encode())]})
    startup = read_startup(Journal([message]), Redactor(), UNIT, "a1", False, False, 5)
    assert startup["max_total_num_tokens"] == 5000


PLANTED = "sk-planted0123456789"
SECRETS = st.sampled_from(
    [
        f"[2026-11-30 10:00:00] server_args=ServerArgs(api_key='{PLANTED}', port=30000)",
        f"[2026-11-30 10:00:00] server_args={{'admin_api_key': '{PLANTED}'}}",
        f"launch_server.py: error: unrecognized arguments: --api-key {PLANTED}",
        f"ValueError: Authorization: Bearer {PLANTED}",
        f"RuntimeError: {PLANTED}",
        f"OSError: http://user:{PLANTED}@hub/x is not a local folder",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SECRETS, st.integers(0, 40), st.text(max_size=9)), max_size=9))
def test_no_secret_leaves_with_the_start(lines: list[tuple[str, int, str]]) -> None:
    entries = [entry(text[cut:] + more, 9) for text, cut, more in lines]
    journal = Journal([entry(f"{UNIT}: Failed with result 'signal'.", 1), *entries])
    startup = read_startup(journal, Redactor([PLANTED]), UNIT, "a1", True, True, 5)
    assert PLANTED not in json.dumps(startup)


@pytest.mark.parametrize(
    ("name", "text", "loads"),
    [
        (
            "loads",
            '{"loads": [{"num_running_reqs": 2, "num_waiting_reqs": 1, "num_used_tokens": 9}, '
            '{"num_running_reqs": 3, "num_waiting_reqs": 0, "num_used_tokens": 1}]}',
            (5, 1, 10),
        ),
        (
            "get_load",
            '[{"dp_rank": 0, "num_reqs": 4, "num_waiting_reqs": 1, "num_tokens": 70}]',
            (3, 1, 70),
        ),
        ("loads", '{"loads": [{"num_running_reqs": 2}]}', (2, 0, None)),
    ],
)
def test_loads_of_every_release(
    tmp_path: Path, name: str, text: str, loads: tuple[Any, ...]
) -> None:
    assert tuple(recorded(tmp_path, **{name: text})["loads"].values()) == loads


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        ("0.5.6.post2", ["/get_load", "/metrics"]),
        ("0.5.18", ["/v1/loads", "/get_load", "/metrics"]),
        ("0.5.23", ["/v1/loads", "/metrics"]),
        ("odd", ["/v1/loads", "/get_load", "/metrics"]),
    ],
)
def test_only_the_endpoints_of_the_version_are_asked(version: str, asked: list[str]) -> None:
    host = Host(json.dumps({"version": version}))
    assert server_of(host)["loads"] is None
    assert [url for url in host.asked if "server_info" not in url] == asked


class Host(Live):
    """A live host with a server that only tells who it is."""

    def __init__(self, info: str) -> None:
        self.info, self.asked = info, list[str]()

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        return Output(show(), 0, None)

    def lines(self, name: str, argv: list[str], timeout_s: float) -> Iterator[str]:
        return iter(())

    def http_get(self, name: str, url: str, keys: Sequence[str]) -> str | None:
        path = url.partition(":30000")[2]
        self.asked.append(path)
        return self.info if path == "/server_info" else None


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


def test_a_secret_in_an_allowed_key_is_removed(tmp_path: Path) -> None:
    answer = json.dumps({"attention_backend": "sk-planted0123456789"})
    assert recorded(tmp_path, server_info=answer)["info"] == {"attention_backend": "<redacted>"}


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

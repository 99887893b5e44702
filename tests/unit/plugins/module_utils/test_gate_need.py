# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a restart needed? Decided by what runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate.need import (
    FINGERPRINT,
    Need,
    find_need,
    flags_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import (
    UnitState,
    names_set_outside,
    read_unit,
)
from ansible_collections.llmops.sglang.plugins.module_utils._layout import credential_path
from ansible_collections.llmops.sglang.plugins.module_utils._plan import compose
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import is_secret
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    STOPPED,
    a_plan,
    add_process,
    unit_state,
)

BY_SYSTEMD = {
    "PATH": "/usr/bin",
    "HOME": "/var/lib/sglang/kimi",
    "INVOCATION_ID": "c0ffee",
    "JOURNAL_STREAM": "9:1",
    "STATE_DIRECTORY": "/var/lib/sglang/kimi",
    "CREDENTIALS_DIRECTORY": "/run/credentials/x",
    "MEMORY_PRESSURE_WRITE": "c29tZQ==",
}


def need_of(
    root: Path,
    argv: list[str] | None = None,
    environment: dict[str, str] | None = None,
    plan: dict[str, Any] | None = None,
    outside: set[str] | None = None,
    **changes: Any,
) -> Need:
    plan = plan or a_plan()
    add_process(
        root,
        700,
        plan["argv"] if argv is None else argv,
        {**BY_SYSTEMD, **plan["environment"]} if environment is None else environment,
    )
    return find_need(unit_state(), plan, lambda: outside or set(), root, **changes)


def changes_of(need: Need) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (item["kind"], item["name"], item["running"], item["wanted"]) for item in need.differences
    ]


def test_what_runs_as_planned_needs_nothing(tmp_path: Path) -> None:
    assert need_of(tmp_path) == Need("none")


def test_the_order_of_flags_means_nothing(tmp_path: Path) -> None:
    argv = a_plan()["argv"]
    assert need_of(tmp_path, [*argv[:3], *argv[5:], *argv[3:5]]).need == "none"


def test_a_changed_an_added_and_a_removed_flag(tmp_path: Path) -> None:
    running = [
        *a_plan()["argv"][:3],
        *("--model-path", "/srv/models/m", "--tp-size", "2", "--port=30000"),
        *("--hicache-ratio", "2.0", "--log-level", "debug"),
    ]
    need = need_of(tmp_path, running)
    assert need.need == "restart"
    assert changes_of(need) == [
        ("argument", "--enable-cache-report", None, ""),
        ("argument", "--hicache-ratio", "2.0", "4.0"),
        ("argument", "--log-level", "debug", None),
    ]


def test_another_interpreter_is_another_engine(tmp_path: Path) -> None:
    need = need_of(tmp_path, ["/opt/old/bin/python", *a_plan()["argv"][1:]])
    assert changes_of(need) == [
        ("engine", "interpreter", "/opt/old/bin/python", "/opt/e/bin/python")
    ]


def test_another_entry_point_is_a_difference(tmp_path: Path) -> None:
    argv = a_plan()["argv"]
    need = need_of(tmp_path, [argv[0], "-m", "sglang.serve", *argv[3:]])
    assert changes_of(need) == [
        ("argument", "command", "-m sglang.serve", "-m sglang.launch_server")
    ]


def test_variables_of_systemd_count_only_when_the_plan_wants_them(tmp_path: Path) -> None:
    plan = a_plan()
    plan["environment"]["PATH"] = "/opt/e/bin:/usr/bin"
    need = need_of(tmp_path, environment={**plan["environment"], **BY_SYSTEMD}, plan=plan)
    assert changes_of(need) == [("environment", "PATH", "/usr/bin", "/opt/e/bin:/usr/bin")]


def test_a_variable_that_went_out_of_the_plan_is_a_difference(tmp_path: Path) -> None:
    environment = {**a_plan()["environment"], "NCCL_DEBUG": "INFO"}
    assert changes_of(need_of(tmp_path, environment=environment)) == [
        ("environment", "NCCL_DEBUG", "INFO", None)
    ]


def test_what_a_drop_in_sets_is_no_reason_for_a_restart(tmp_path: Path) -> None:
    # It would be set again by the next start, and the one after that.
    environment = {**a_plan()["environment"], "NCCL_DEBUG": "INFO"}
    assert need_of(tmp_path, environment=environment, outside={"NCCL_DEBUG"}).need == "none"


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ("e0:m1:-", ("engine", "engine fingerprint", "e0", "e1")),
        ("e1:m0:-", ("model", "model fingerprint", "m0", "m1")),
        ("e1:m1:d", ("model", "draft fingerprint", "d", "-")),
        ("other", ("model", "fingerprint", "other", "e1:m1:-")),
        (None, ("environment", FINGERPRINT, None, "e1:m1:-")),
    ],
)
def test_the_fingerprint_tells_which_part_is_out_of_date(
    tmp_path: Path, running: str | None, expected: tuple[str, ...]
) -> None:
    environment = dict(a_plan()["environment"])
    del environment[FINGERPRINT]
    if running is not None:
        environment[FINGERPRINT] = running
    assert changes_of(need_of(tmp_path, environment=environment)) == [expected]


def test_gate_and_plan_mean_the_same_variable() -> None:
    assert FINGERPRINT == compose.FINGERPRINT_VARIABLE


def test_values_of_secrets_are_not_shown(tmp_path: Path) -> None:
    plan = a_plan()
    plan["environment"]["HF_TOKEN"] = "hf_new"
    running = [*plan["argv"], "--api-key", "sk-old"]
    need = need_of(tmp_path, running, {**plan["environment"], "HF_TOKEN": "hf_old"}, plan)
    assert [item["name"] for item in need.differences] == ["--api-key", "HF_TOKEN"]
    assert not any(word in str(need) for word in ("sk-old", "hf_old", "hf_new"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("--api-key", True),
        ("--admin-api-key", True),
        ("HF_TOKEN", True),
        ("S3_SECRET", True),
        ("--max-total-tokens", False),
        ("--tokenizer-path", False),
        ("MONKEY", False),
    ],
)
def test_names_of_secrets(name: str, expected: bool) -> None:
    assert is_secret(name) is expected


@pytest.mark.parametrize(
    ("running", "wanted", "need"),
    [
        ('{"api-key": "key-1"}', {"api-key": "key-1"}, "none"),
        ('{ "b": "key-2", "a": "key-1" }\n', {"a": "key-1", "b": "key-2"}, "none"),
        ('{"api-key": "key-1"}', {"api-key": "key-2"}, "restart"),
        ('{"api-key": "key-1"}', None, "none"),
        (None, {"api-key": "key-2"}, "none"),
    ],
)
def test_a_process_with_other_secrets_needs_a_restart(
    tmp_path: Path, running: str | None, wanted: dict[str, str] | None, need: str
) -> None:
    given = credential_path("kimi")
    plan = a_plan()
    plan["argv"] = [*plan["argv"], "--config", given]
    if running is not None:
        file = tmp_path / given.lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_text(running)
    found = need_of(tmp_path, plan=plan, secrets=wanted)
    assert found.need == need
    assert "key-" not in repr(found)
    assert [item["kind"] for item in found.differences] == ["secrets"] * (need == "restart")


def test_no_process_needs_a_start(tmp_path: Path) -> None:
    assert find_need(STOPPED, a_plan(), set, tmp_path).need == "start"


def test_a_process_that_ends_in_between_needs_a_start(tmp_path: Path) -> None:
    assert find_need(unit_state(), a_plan(), set, tmp_path).need == "start"


def test_a_title_in_place_of_the_command_line_leaves_the_fingerprint(tmp_path: Path) -> None:
    need = need_of(tmp_path, ["sglang::http_server"])
    assert need.need == "none"
    assert need.doubt == "process 700 shows a title instead of its command line"


@pytest.mark.parametrize(
    ("proven", "expected"),
    [
        ({"fingerprint": "e1:m1:-", "invocation_id": "c0ffee"}, "none"),
        ({"fingerprint": "e1:m1:-", "invocation_id": "before"}, "restart"),
        ({"fingerprint": "e0:m1:-", "invocation_id": "c0ffee"}, "restart"),
        (None, "restart"),
    ],
)
def test_a_process_that_hides_everything_is_judged_by_its_proof(
    tmp_path: Path, proven: dict[str, Any] | None, expected: str
) -> None:
    need = need_of(tmp_path, ["sglang::http_server"], {}, proven=proven)
    assert need.need == expected
    assert need.doubt is not None


def test_flags_keep_negative_numbers_and_join_repeats() -> None:
    words = ["py", "--seed", "-1", "--json", '{"a":"--b"}', "--cors=a", "--cors", "b"]
    head, flags = flags_of(words)
    assert head == ["py"]
    assert flags == {"--seed": ["-1"], "--json": ['{"a":"--b"}'], "--cors": ["a", "b"]}


SHOWN = """\
LoadState=loaded
ActiveState=activating
SubState=auto-restart
Result=exit-code
MainPID=0
InvocationID=
NRestarts=4
ExecMainCode=1
ExecMainStatus=2
ExecMainStartTimestampMonotonic=90500000
InactiveEnterTimestampMonotonic=0
DropInPaths=/etc/a.conf /etc/b.conf
"""


def test_the_state_of_a_unit_between_two_starts() -> None:
    state = read_unit("x.service", lambda _argv: SHOWN)
    assert not state.running
    assert state.between_starts
    assert state.ending() == "exited with status 2"
    assert (state.restarts, state.started_s, state.inactive_since_s) == (4, 90.5, None)
    assert state.invocation_id is None
    assert state.drop_ins == ("/etc/a.conf", "/etc/b.conf")


def test_a_killed_process_ends_by_a_signal() -> None:
    state: UnitState = unit_state(exit_code="2", exit_status=9)
    assert state.ending() == "killed by signal 9"


def test_names_that_drop_ins_and_the_manager_set(tmp_path: Path) -> None:
    drop_in = tmp_path / "debug.conf"
    drop_in.write_text(
        '[Service]\nEnvironment=NCCL_DEBUG=INFO "OMP=1 2"\nPassEnvironment=HTTP_PROXY\nNice=3\n'
        f"UnsetEnvironment=HF_HOME\nEnvironmentFile=-{tmp_path}/proxy\n"
    )
    (tmp_path / "proxy").write_text("# ours\nHTTPS_PROXY=http://proxy:3128\n")
    state = unit_state(drop_ins=(str(drop_in), str(tmp_path / "gone.conf")))
    names = names_set_outside(state, lambda _argv: "LANG=C\nEXTRA=x\n")
    assert names >= {"LANG", "EXTRA", "NCCL_DEBUG", "OMP", "HTTP_PROXY"}
    assert names >= {"HF_HOME", "HTTPS_PROXY"}
    assert "Nice" not in names

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine's own parser is asked in its own interpreter."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.parser import (
    Verdict,
    ask_engine,
    engine_flags,
    read_unit_process,
    read_verdict,
    scratch_environment,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.parser_engine import (
    write_engine,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import record

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return write_engine(tmp_path)


def ask(engine: Path, *flags: str, timeout_s: float = 30, **env: str) -> Verdict:
    argv = [sys.executable, "-m", "sglang.launch_server", "--model-path", "/m", *flags]
    return ask_engine(argv, {"PYTHONPATH": str(engine), **env}, ME, timeout_s, ["t0psecret"])


def test_a_good_command_line_is_accepted(engine: Path) -> None:
    assert ask(engine) == (True, None)


def test_the_parser_s_message_is_told_as_it_is(engine: Path) -> None:
    assert ask(engine, "--bogus", "7") == (False, "unrecognized arguments: --bogus 7")


@pytest.mark.parametrize(
    ("flags", "env"),
    [
        (["--hicache-ratio", "0.5"], {"HF_TOKEN": "hid-den"}),
        (["--hicache-ratio", "0.5"], {"SOME_CREDENTIAL": "hid-den", "HF_TOKEN": "see hid-den"}),
        (["--hicache-ratio", "0.5"], {"HF_TOKEN": "t0psecret"}),
        (["--api-key", "hid-den", "--bogus"], {}),
        (["--admin-api-key=hid-den", "--bogus"], {}),
    ],
)
def test_a_message_holds_no_secret(engine: Path, flags: list[str], env: dict[str, str]) -> None:
    accepted, message = ask(engine, *flags, **env)
    assert accepted is False
    assert message and "<redacted>" in message
    assert "hid-den" not in message and "t0psecret" not in message


def test_an_engine_that_cannot_be_imported_is_refused(engine: Path) -> None:
    (engine / "sglang/srt/server_args.py").write_text("import not_installed_library\n")
    accepted, message = ask(engine)
    assert accepted is False and "not_installed_library" in (message or "")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import time\ntime.sleep(60)\n", "the engine's parser gave no answer within 1 s"),
        ("import os\nos._exit(3)\n", "the engine's parser ended early: no message"),
        (None, "this engine has no argument parser to ask"),
    ],
)
def test_no_answer_is_unknown(engine: Path, source: str | None, message: str) -> None:
    module = engine / "sglang/srt/server_args.py"
    module.unlink()
    if source:
        module.write_text(source)
    assert ask(engine, timeout_s=1 if "sleep" in (source or "") else 30) == (None, message)


def test_what_the_parser_writes_is_gone_afterwards(
    tmp_path: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert ask(engine, "--touch").accepted
    assert list(scratch.iterdir()) == []
    assert not list(engine.rglob("__pycache__"))


def test_an_interpreter_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("")
    accepted, message = ask_engine([str(python)], {}, ME)
    assert (accepted, message) == (
        False,
        f"{python} cannot be run by the unit's user: Permission denied",
    )


def test_a_long_message_is_cut(engine: Path) -> None:
    message = ask(engine, *["--bogus"] * 1000).message
    assert message and len(message) < 700 and message.endswith(" ...")


def test_the_facts_say_why_nobody_could_be_asked(tmp_path: Path) -> None:
    unit, arguments = "sglang-none.service", ["--tp", "2"]
    recorded = read_verdict(record(tmp_path, {}), "/opt/e/bin/python", arguments, unit, [])
    assert recorded == {"accepted": None, "message": "a recording has no engine to ask"}
    assert read_verdict(Live(), None, arguments, unit, []) == {
        "accepted": None,
        "message": "no engine path was given",
    }
    absent = read_verdict(Live(), f"{tmp_path}/bin/python", arguments, unit, [])
    assert absent == {"accepted": None, "message": "the engine is not installed"}


def test_user_and_environment_are_the_unit_s() -> None:
    text = 'User=sglang\nEnvironment=A=1 "B=two words" C=x=y\n'
    assert read_unit_process(text) == ("sglang", {"A": "1", "B": "two words", "C": "x=y"})
    assert read_unit_process("User=\nEnvironment=\n") == ("root", {})
    assert read_unit_process('Environment="not closed') == ("root", {})


def test_the_secrets_file_is_left_out_but_no_other_one() -> None:
    argv = ["py", "-m", "x", "--config", "/run/credentials/u/secrets.yaml", "--tp", "2"]
    assert engine_flags(argv) == ["--tp", "2"]
    assert engine_flags(["py", "--config", "/etc/x.yaml"]) == ["--config", "/etc/x.yaml"]
    assert engine_flags(["py", "-m", "x"]) == []


def test_the_instance_s_own_folders_are_replaced() -> None:
    environment = scratch_environment(
        {
            "HOME": "/var/lib/sglang/kimi",
            "TRITON_CACHE_DIR": "/var/cache/sglang/kimi/triton",
            "HF_HOME": "/srv/hub",
        },
        "/tmp/s",
    )
    assert environment["TRITON_CACHE_DIR"] == "/tmp/s/triton"
    assert (environment["HOME"], environment["HF_HOME"]) == ("/tmp/s", "/srv/hub")

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's own verdict on the planned arguments becomes a check."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate.checks import Check
from ansible_collections.llmops.sglang.plugins.module_utils._gate.parser import check_arguments
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    a_plan,
    subject,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.parser_engine import (
    write_engine,
)

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return write_engine(tmp_path)


def ask(tmp_path: Path, engine: Path, *flags: str, timeout_s: int = 30, **env: str) -> Check:
    arguments: list[dict[str, Any]] = [
        {"flag": "--hicache-ratio", "values": [], "source": "sglang_hicache_ratio"}
    ]
    plan = a_plan(
        argv=[sys.executable, "-m", "sglang.launch_server", *flags],
        arguments=arguments,
        environment={"PYTHONPATH": str(engine), **env},
        sections=[["Service", [["User", ME]]]],
    )
    return check_arguments(subject(tmp_path, plan=plan), timeout_s)


def test_an_accepted_command_line_passes(tmp_path: Path, engine: Path) -> None:
    result = ask(tmp_path, engine, "--model-path", "/m")
    assert (result.status, result.measured) == ("passed", f"accepted by its own parser, as {ME}")


def test_the_parser_s_message_is_shown_as_it_is(tmp_path: Path, engine: Path) -> None:
    result = ask(tmp_path, engine, "--model-path", "/m", "--bogus", "7")
    assert (result.status, result.measured) == ("blocked", "unrecognized arguments: --bogus 7")
    assert result.variable == "sglang_extra_args"


def test_a_refusal_across_flags_names_the_variable_and_hides_the_secret(
    tmp_path: Path, engine: Path
) -> None:
    result = ask(
        tmp_path, engine, "--model-path", "/m", "--hicache-ratio", "0.5", HF_TOKEN="t0psecret"
    )
    assert result.status == "blocked"
    assert result.measured == "ValueError: hicache_ratio 0.5 is too small, key <redacted>"
    assert result.variable == "sglang_hicache_ratio"


def test_an_engine_without_that_parser_is_unknown(tmp_path: Path, engine: Path) -> None:
    (engine / "sglang/srt/server_args.py").unlink()
    result = ask(tmp_path, engine, "--model-path", "/m")
    assert (result.status, result.measured) == (
        "unknown",
        "this engine has no argument parser to ask",
    )


def test_no_engine_is_unknown_and_no_user_blocks(tmp_path: Path) -> None:
    plan = a_plan(argv=[str(tmp_path / "no/python"), "-m", "x"])
    assert check_arguments(subject(tmp_path, plan=plan)).measured == "the engine is not installed"
    plan = a_plan(argv=[sys.executable], sections=[["Service", [["User", "no-such-user-here"]]]])
    result = check_arguments(subject(tmp_path, plan=plan))
    assert (result.status, result.measured) == (
        "blocked",
        "the unit's user no-such-user-here does not exist",
    )

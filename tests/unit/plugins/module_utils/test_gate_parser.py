# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine's own parser is asked in its own interpreter."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate.checks import Check
from ansible_collections.llmops.sglang.plugins.module_utils._gate.parser import (
    check_arguments,
    cut,
    engine_flags,
    scratch_environment,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    a_plan,
    subject,
)

ME = pwd.getpwuid(os.geteuid()).pw_name

# An engine whose parser knows two flags; the second one is judged by a later step.
ENGINE = """
import argparse, os

class Arguments:
    def __init__(self, values):
        self.values = values
    def resolve_once(self):
        if self.values.hicache_ratio < 1:
            raise ValueError("hicache_ratio %s is too small, key %s"
                             % (self.values.hicache_ratio, os.environ.get("HF_TOKEN")))

def prepare_server_args(argv):
    print("noise on the way")
    parser = argparse.ArgumentParser(prog="sglang serve")
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--hicache-ratio", type=float, default=2.0)
    if "--touch" in argv:
        open(os.path.join(os.environ["HOME"], "left-behind"), "w").close()
        argv = [word for word in argv if word != "--touch"]
    return Arguments(parser.parse_args(argv))
"""


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A folder with the engine's package."""
    package = tmp_path / "site/sglang/srt"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "server_args.py").write_text(ENGINE)
    return tmp_path / "site"


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


def test_an_engine_that_cannot_be_imported_is_refused(tmp_path: Path, engine: Path) -> None:
    (engine / "sglang/srt/server_args.py").write_text("import not_installed_library\n")
    result = ask(tmp_path, engine, "--model-path", "/m")
    assert result.status == "blocked"
    assert "not_installed_library" in result.measured


def test_a_parser_that_hangs_or_dies_is_unknown(tmp_path: Path, engine: Path) -> None:
    module = engine / "sglang/srt/server_args.py"
    module.write_text("import time\ntime.sleep(60)\n")
    assert ask(tmp_path, engine, "--model-path", "/m", timeout_s=1).status == "unknown"
    module.write_text("import os\nos._exit(3)\n")
    assert ask(tmp_path, engine, "--model-path", "/m").status == "unknown"


def test_what_the_parser_writes_is_gone_afterwards(
    tmp_path: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert ask(tmp_path, engine, "--model-path", "/m", "--touch").status == "passed"
    assert list(scratch.iterdir()) == []
    assert not list(engine.rglob("__pycache__"))


def test_no_engine_is_unknown_and_no_user_blocks(tmp_path: Path) -> None:
    plan = a_plan(argv=[str(tmp_path / "no/python"), "-m", "x"])
    assert check_arguments(subject(tmp_path, plan=plan)).measured == "the engine is not installed"
    plan = a_plan(argv=[sys.executable], sections=[["Service", [["User", "no-such-user-here"]]]])
    result = check_arguments(subject(tmp_path, plan=plan))
    assert (result.status, result.measured) == (
        "blocked",
        "the unit's user no-such-user-here does not exist",
    )


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


def test_a_long_message_is_cut() -> None:
    assert len(cut("word " * 1000, {})) < 700

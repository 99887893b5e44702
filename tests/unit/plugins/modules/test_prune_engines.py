# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module prune_engines from its arguments to its result, on this machine's own processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.module_utils.testing")
from ansible_collections.llmops.sglang.plugins.module_utils._record.engines import MARKER
from ansible_collections.llmops.sglang.plugins.modules import prune_engines
from ansible_collections.llmops.sglang.tests.unit.plugins.modules.gate_modules import run_module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for number, name in enumerate(("oldest", "older", "newer", "newest")):
        path = tmp_path / name
        path.mkdir()
        marker = path / MARKER
        marker.write_text(f'{{"version": "0.5.2{number}"}}', encoding="utf-8")
        os.utime(marker, (number, number))
    return tmp_path


def prune(capsys: pytest.CaptureFixture[str], folder: Path, **options: Any) -> dict[str, Any]:
    return run_module(prune_engines.main, capsys, root=str(folder), **options)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_check_mode_shows_and_removes_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    result = prune(capsys, folder, check_mode=True, keep=2)
    assert result["changed"]
    assert result["removed"] == [f"{folder}/oldest", f"{folder}/older"]
    assert result["diff"]["before"].count("\n") == 4
    assert result["diff"]["after"] == f"{folder}/newer  0.5.22\n{folder}/newest  0.5.23\n"
    assert len(names(folder)) == 4


def test_the_newest_stay_and_so_does_the_next_one(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    result = prune(capsys, folder, current=f"{folder}/oldest")
    assert names(folder) == {"oldest", "newest"}
    assert [entry["why"] for entry in result["kept"]] == [
        "it is among the newest 1 that nothing needs",
        "it is the one to be used next",
    ]
    assert not prune(capsys, folder, current=f"{folder}/oldest")["changed"]


def test_what_a_process_runs_from_stays(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    script = folder / "older" / "wait.py"
    script.write_text("import sys; print('up', flush=True); sys.stdin.read()", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        result = prune(capsys, folder, keep=0)
        process.communicate()
    assert [(entry["version"], entry["why"]) for entry in result["kept"]] == [
        ("0.5.21", f"process {process.pid}")
    ]
    assert prune(capsys, folder, keep=0)["removed"] == [f"{folder}/older"]


def test_only_root_can_tell(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "become root" in prune(capsys, folder, keep=0)["msg"]
    assert len(names(folder)) == 4


def test_less_than_none_is_refused(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert "sglang_engine_keep" in prune(capsys, folder, keep=-1)["msg"]

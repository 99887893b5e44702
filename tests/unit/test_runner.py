# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test runner counts what it ran, and a failure never looks like a success."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    path = Path(__file__).resolve().parents[1] / "run.py"
    spec = importlib.util.spec_from_file_location("llmops_test_runner", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("status", "lines", "expected"),
    [
        (0, ["....", "4 passed in 0.10s"], (4, 0, 0)),
        (1, ["FAILED test_a.py::test_b", "2 failed, 9 passed, 1 skipped in 3.20s"], (9, 2, 1)),
        (1, ["= 3 passed, 2 errors in 71.20s (0:01:11) ="], (3, 2, 0)),
        (5, ["no tests ran in 0.01s"], (0, 1, 0)),
        (0, ["no tests ran in 0.01s"], (0, 1, 0)),
        (None, ["....", "stopped: not finished within its limit of 900 s"], (0, 1, 0)),
        (3, ["4 passed in 0.10s", "and then it crashed"], (4, 1, 0)),
    ],
)
def test_pytest_is_counted_by_test(
    runner: ModuleType, status: int | None, lines: list[str], expected: tuple[int, int, int]
) -> None:
    assert runner.per_pytest_test(runner.Outcome(status, lines)) == runner.Tally(*expected)


def test_sanity_is_counted_by_test_and_python(runner: ModuleType) -> None:
    lines = [
        'Running sanity test "compile" on Python 3.9',
        'Running sanity test "compile" on Python 3.13',
        'WARNING: Skipping sanity test "compile" on Python 3.14 because it could not be found.',
        'Running sanity test "pep8"',
        "ERROR: Found 2 pep8 issue(s) which need to be resolved:",
        "ERROR: The 1 sanity test(s) listed below (out of 3) failed. See error output above.",
        "pep8",
    ]
    assert runner.per_sanity_test(runner.Outcome(1, lines)) == runner.Tally(2, 1, 1)
    assert runner.per_sanity_test(runner.Outcome(0, lines[:2])) == runner.Tally(2, 0, 0)


@pytest.mark.parametrize("status", [0, 1, None])
def test_sanity_that_breaks_off_has_failed(runner: ModuleType, status: int | None) -> None:
    assert runner.per_sanity_test(runner.Outcome(status, ["FATAL: no pip"])).failed == 1


def test_selection_keeps_the_order_of_the_stages(runner: ModuleType) -> None:
    assert runner.selection(["unit", "lint:mypy", "lint:ruff"]) == {
        "lint": {"mypy", "ruff"},
        "unit": set(),
    }
    with pytest.raises(SystemExit, match="no stage is named 'units'"):
        runner.selection(["units"])


def test_a_check_past_its_limit_is_ended_with_all_it_started(
    runner: ModuleType, tmp_path: Path
) -> None:
    """The shell starts a child that would outlive it; both are gone when the limit has passed."""
    check = runner.Check("slow", ["sh", "-c", "sleep 60 & echo $!; wait"], 1, tmp_path)
    began = time.monotonic()
    outcome = runner.execute(check, tmp_path / "log")
    assert time.monotonic() - began < 20
    assert outcome.status is None
    assert runner.one(outcome).failed == 1
    child = int(outcome.lines[0])
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text(encoding="ascii").split()[2] == "Z"

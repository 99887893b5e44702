# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module in this process and returns what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

testing = pytest.importorskip("ansible.module_utils.testing")


def run_module(
    main: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
    check_mode: bool = False,
    **arguments: Any,
) -> dict[str, Any]:
    """Run `main` with these arguments; the result has `failed` when it failed."""
    capsys.readouterr()
    given = {**arguments, "_ansible_check_mode": check_mode}
    with testing.patch_module_args(given), pytest.raises(SystemExit):
        main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    result.pop("invocation", None)
    return result

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""sglang-router in a virtual environment of its own, for the machine itself."""

from __future__ import annotations

from pathlib import Path

from base import LabError, cached, key_of, run, step
from controller import find_python

REQUIREMENT = "sglang-router==0.3.2"


def router() -> Path:
    """The router's virtual environment, made if need be (146 MB)."""
    python = find_python()
    if python is None:
        raise LabError("no Python 3.11 to 3.14 with venv here; run: lab.py doctor")

    def fill(path: Path) -> None:
        with step(f"installing {REQUIREMENT}"):
            run(python, "-m", "venv", path)
            run(path / "bin" / "python", "-m", "pip", "install", "--quiet", REQUIREMENT)

    return cached("router", key_of(REQUIREMENT, str(python)), fill)

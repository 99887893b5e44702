# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded hosts for the tests of the probe: the ones in the tree, and small ones made in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._probe.recorded import Recorded
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    Request,
    open_source,
    take_snapshot,
)

RECORDINGS = Path(__file__).parents[2] / "recordings"


def record(folder: Path, files: dict[str, str]) -> Recorded:
    """A recorded host with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Recorded(str(folder))


def facts_of(name: str, **options: Any) -> dict[str, Any]:
    """The facts of a recorded host of the tree."""
    return take_snapshot(open_source(str(RECORDINGS / name)), Request(**options))

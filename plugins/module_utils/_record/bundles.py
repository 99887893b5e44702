# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was kept of starts that failed: one archive each, beside the diary.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

_KEEP = 3


def prune_bundles(folder: Path, instance: str) -> list[str]:
    """Remove all but the newest three of an instance; returns the names that went."""
    # The time stands in the name, which sorts by it.
    shape = re.compile(re.escape(instance) + r"-failed-\d{8}T\d{6}Z\.tar\.gz")
    with contextlib.suppress(OSError):
        paths = sorted(path for path in folder.iterdir() if shape.fullmatch(path.name))
        for path in paths[:-_KEEP]:
            path.unlink()
        return [path.name for path in paths[:-_KEEP]]
    return []

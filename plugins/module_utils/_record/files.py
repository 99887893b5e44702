# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are there as a whole or not at all.

Private to the collection.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, text: str, mode: int) -> bool:
    """Replace a file at once; a crash leaves the old one. False when it was like this already."""
    try:
        same = path.read_text(encoding="utf-8") == text and path.stat().st_mode & 0o777 == mode
    except (OSError, UnicodeDecodeError):
        same = False
    if same:
        return False
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
            sink.write(text)
            sink.flush()
            os.fchmod(sink.fileno(), mode)
            os.fsync(sink.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The diary of an instance: one JSON line for every change.

Private to the collection.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

_STAMP = "%Y-%m-%dT%H:%M:%SZ"
# Only the newest lines are of interest to anybody who asks how often a server was restarted.
_TAIL_BYTES = 2**20


def add_note(path: Path, note: dict[str, Any]) -> None:
    """Append one line; a crash leaves a line that readers pass over."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
    with os.fdopen(descriptor, "r+b") as sink:
        size = sink.seek(0, os.SEEK_END)
        # A line that a crash cut in two must not swallow this one.
        if size:
            sink.seek(-1, os.SEEK_END)
            if sink.read(1) != b"\n":
                sink.write(b"\n")
        sink.write(json.dumps(note).encode() + b"\n")
        sink.flush()
        os.fsync(sink.fileno())


def read_notes(path: Path) -> list[dict[str, Any]]:
    """The latest notes, the oldest first; what is not a note is passed over."""
    try:
        with path.open("rb") as source:
            size = source.seek(0, os.SEEK_END)
            source.seek(max(0, size - _TAIL_BYTES))
            lines = source.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    notes = []
    for line in lines:
        try:
            note = json.loads(line)
        except ValueError:
            continue
        if isinstance(note, dict):
            notes.append(note)
    return notes


def restarts_since(notes: list[dict[str, Any]], since: datetime) -> list[datetime]:
    """When the server was restarted by a play after this time."""
    found = []
    for note in notes:
        try:
            at = datetime.strptime(str(note.get("at")), _STAMP).replace(tzinfo=timezone.utc)
        except ValueError:
            continue
        if note.get("restarted") and at > since:
            found.append(at)
    return found


def stamp(moment: datetime) -> str:
    """A time as notes and records write it, in UTC."""
    return moment.astimezone(timezone.utc).strftime(_STAMP)

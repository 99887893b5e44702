# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units that were proven, kept on the host: the newest is what a rollback goes back to.

Private to the collection. One folder per proven invocation holds its unit and its plan;
`current.json` is written last and names the folder, so that a crash leaves the record before.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import write_whole

CURRENT = "current.json"
LAST = "last"
PREVIOUS = "previous"
_PLAN = "plan.json"
_RECORD = "record.json"


class NoneProven(Exception):
    """There is no such proven unit; the text says what there is."""


@dataclass(frozen=True)
class Kept:
    """A proven unit with the plan it was made from and the record of its proof."""

    record: dict[str, Any]
    plan: dict[str, Any]
    unit_text: str


class Proven:
    """The proven units of one instance."""

    def __init__(self, folder: Path, unit: str) -> None:
        self._folder = folder
        self._unit = unit

    def keep(self, record: dict[str, Any], plan: dict[str, Any], unit_text: str) -> bool:
        """Keep what was just proven; False when it is kept already."""
        target = self._folder / str(record["invocation_id"])
        target.mkdir(mode=0o755, parents=True, exist_ok=True)
        text = json.dumps(record) + "\n"
        changed = [
            write_whole(target / _PLAN, json.dumps(plan) + "\n", 0o644),
            write_whole(target / self._unit, unit_text, 0o644),
            write_whole(target / _RECORD, text, 0o644),
            write_whole(self._folder / CURRENT, text, 0o644),
        ]
        return any(changed)

    def records(self) -> list[dict[str, Any]]:
        """Every complete record, the newest first."""
        found = [
            record
            for path in self._folder.glob(f"*/{_RECORD}")
            if (record := _read(path)) and path.parent.name == record.get("invocation_id")
            if (path.parent / _PLAN).is_file() and (path.parent / self._unit).is_file()
        ]
        return sorted(found, key=lambda record: str(record.get("at")), reverse=True)

    def current(self) -> dict[str, Any] | None:
        """The record of the last proof."""
        return _read(self._folder / CURRENT)

    def find(self, which: str, present: str | None) -> Kept:
        """The last proven unit, the newest one that is not the `present` one, or one by invocation.

        Raises NoneProven.
        """
        records = self.records()
        if not records:
            raise NoneProven("no unit of this instance was proven yet")
        if which == LAST:
            name = (self.current() or records[0]).get("invocation_id")
            records = [record for record in records if record["invocation_id"] == name]
        elif which != PREVIOUS:
            chosen = [record for record in records if record["invocation_id"] == which]
            if not chosen:
                known = "; ".join(
                    f"{record['invocation_id']} of {record['at']}" for record in records
                )
                raise NoneProven(f"no proven unit {which}; there are {known}")
            records = chosen
        for record in records:
            folder = self._folder / record["invocation_id"]
            text = (folder / self._unit).read_text(encoding="utf-8")
            if which != PREVIOUS or text != present:
                return Kept(record, _read(folder / _PLAN) or {}, text)
        raise NoneProven("every proven unit that is kept is the present one")

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest ones; returns the invocations that went.

        The current one stays, however old it says it is.
        """
        current = (self.current() or {}).get("invocation_id")
        names = [str(record["invocation_id"]) for record in self.records()]
        gone = [name for name in names[keep:] if name != current]
        for name in gone:
            shutil.rmtree(self._folder / name, ignore_errors=True)
        return gone


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A download as a transient unit of systemd's.

This module util is private to the llmops.sglang collection.

It goes on when the connection from the controller drops, its output is in the journal, and the next
run finds it instead of starting a second one.
"""

from __future__ import annotations

import contextlib
import hashlib

from .._gate.unit import UnitError, read_unit, run_command

# A program that is told to end gets its time.
_TIMEOUT_S = 60.0


class JobError(Exception):
    """Why a download cannot be started."""


class Job:
    """The download into one folder."""

    def __init__(self, folder: str) -> None:
        name = hashlib.sha256(folder.encode()).hexdigest()[:8]
        self.unit = f"fetch-weights-{name}.service"
        self._folder = folder

    @property
    def running(self) -> bool:
        return read_unit(self.unit).active_state in ("active", "activating", "deactivating")

    def start(self, argv: list[str], environment: dict[str, str]) -> None:
        """Start it. One that failed before is forgotten."""
        self._systemctl("reset-failed")
        given = [f"--setenv={name}={value}" for name, value in environment.items()]
        started = [
            *("systemd-run", "--quiet", f"--unit={self.unit}"),
            f"--description=Fetch weights into {self._folder}",
            *("--property=Type=exec", "--property=UMask=0022", "--property=Nice=5"),
            *given,
            "--",
            *argv,
        ]
        try:
            run_command(started, _TIMEOUT_S)
        except UnitError as error:
            raise JobError(f"{self.unit} does not start: {self.last_words()}") from error

    def stop(self) -> None:
        self._systemctl("stop")
        self._systemctl("reset-failed")

    def last_words(self) -> str:
        """The end of what it said."""
        asked = ["journalctl", f"--unit={self.unit}", "--output=cat", "--lines=12", "--no-pager"]
        text = ""
        with contextlib.suppress(UnitError):
            text = run_command(asked, _TIMEOUT_S)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        # What systemd says of the unit counts only where the program says nothing.
        words = [line for line in lines if self.unit not in line] or lines
        return " ".join(words[-3:])[:500] or "it said nothing"

    def _systemctl(self, verb: str) -> None:
        """Ask for a state that the unit may be in already, or that there is no unit for."""
        with contextlib.suppress(UnitError):
            run_command(["systemctl", verb, self.unit], _TIMEOUT_S)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A download as a transient unit of systemd's.

This module util is private to the llmops.sglang collection.

It goes on when the connection from the controller drops, its output is in the journal, and the next
run finds it instead of starting a second one.
"""

from __future__ import annotations

import hashlib
import subprocess

_TIMEOUT_S = 60


class JobError(Exception):
    """Why a download cannot be started or looked at."""


class Job:
    """The download into one folder."""

    def __init__(self, folder: str) -> None:
        name = hashlib.sha256(folder.encode()).hexdigest()[:8]
        self.unit = f"fetch-weights-{name}.service"
        self._folder = folder

    @property
    def running(self) -> bool:
        state = _systemctl("show", "--property=ActiveState", "--value", self.unit)
        return state in ("active", "activating", "deactivating")

    def start(self, argv: list[str], environment: dict[str, str]) -> None:
        """Start it. One that failed before is forgotten."""
        _systemctl("reset-failed", self.unit, check=False)
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
            _run(started)
        except JobError as error:
            raise JobError(f"{self.unit} does not start: {self.last_words()}") from error

    def stop(self) -> None:
        _systemctl("stop", self.unit, check=False)
        _systemctl("reset-failed", self.unit, check=False)

    def last_words(self) -> str:
        """The end of what it said."""
        text = _run(
            ["journalctl", f"--unit={self.unit}", "--output=cat", "--lines=12", "--no-pager"],
            check=False,
        )
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        # What systemd says of the unit counts only where the program says nothing.
        words = [line for line in lines if self.unit not in line] or lines
        return " ".join(words[-3:])[:500] or "it said nothing"


def _systemctl(*words: str, check: bool = True) -> str:
    return _run(["systemctl", *words], check=check)


def _run(argv: list[str], check: bool = True) -> str:
    try:
        # Not run_command: this is no method of a module.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JobError(f"{argv[0]}: {error}") from error
    if check and done.returncode:
        raise JobError(f"{argv[0]}: {done.stderr.strip()[:300]}")
    return done.stdout.strip()

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd says about one unit, in one call.

Private to the collection.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "InvocationID",
    "NRestarts",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainStartTimestampMonotonic",
    "InactiveEnterTimestampMonotonic",
    "DropInPaths",
)
_TIMEOUT_S = 20

Run = Callable[[list[str]], str]


class UnitError(Exception):
    """systemctl could not be asked; the text says why."""


@dataclass(frozen=True)
class UnitState:
    """The state of a unit; times are seconds since boot, None when the event never happened."""

    load_state: str
    active_state: str
    sub_state: str
    result: str
    main_pid: int | None
    invocation_id: str | None
    restarts: int
    exit_code: str
    exit_status: int | None
    started_s: float | None
    inactive_since_s: float | None
    drop_ins: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Whether a main process exists."""
        return self.main_pid is not None

    @property
    def between_starts(self) -> bool:
        """Whether the last process ended by itself, so that systemd gave up or will start anew."""
        return self.active_state == "failed" or self.sub_state == "auto-restart"

    @property
    def killed_at_stop(self) -> bool:
        """Whether the last process did not end at its stop, so that systemd killed it."""
        return not self.running and self.result == "timeout"

    def ending(self) -> str:
        """Return how the main process ended, in words."""
        if self.exit_code in ("killed", "2", "dumped", "3"):
            return f"killed by signal {self.exit_status}"
        if self.exit_status is None:
            return f"ended ({self.result})"
        return f"exited with status {self.exit_status}"


def run_command(argv: list[str], timeout_s: float = _TIMEOUT_S) -> str:
    """Run a short command and return its output; raises UnitError with a reason."""
    try:
        # Not run_command: it has no time limit.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            argv, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnitError(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        reason = done.stderr.strip() or f"exit status {done.returncode}"
        raise UnitError(f"{argv[0]}: {reason}")
    return done.stdout


def read_unit(unit: str, run: Run = run_command) -> UnitState:
    """Ask systemd for the state of a unit; one that does not exist reads as not-found."""
    text = run(["systemctl", "show", unit, f"--property={','.join(_PROPERTIES)}"])
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return UnitState(
        load_state=values.get("LoadState", ""),
        active_state=values.get("ActiveState", ""),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        main_pid=_positive(values.get("MainPID")),
        invocation_id=values.get("InvocationID") or None,
        restarts=_positive(values.get("NRestarts")) or 0,
        exit_code=values.get("ExecMainCode", ""),
        exit_status=_number(values.get("ExecMainStatus")),
        started_s=_seconds(values.get("ExecMainStartTimestampMonotonic")),
        inactive_since_s=_seconds(values.get("InactiveEnterTimestampMonotonic")),
        drop_ins=tuple(values.get("DropInPaths", "").split()),
    )


def names_set_outside(state: UnitState, run: Run = run_command) -> set[str]:
    """Return the environment names that drop-ins of the unit or the manager itself set.

    They reach the process whatever the rendered unit says, so they are no reason for a restart.
    """
    names = _assigned(run(["systemctl", "show-environment"]))
    for path in state.drop_ins:
        text = _text_of(path)
        for line in re.findall(r"^\s*(?:Pass|Unset)?Environment=(.*)$", text, re.M):
            names.update(re.findall(r"(?:^|[\s\"'])([A-Za-z_]\w*)(?==|\s|$)", line))
        for file in re.findall(r"^\s*EnvironmentFile=-?(/\S+)\s*$", text, re.M):
            names |= _assigned(_text_of(file))
    return names


def _assigned(text: str) -> set[str]:
    """The names that a list of assignments gives values to."""
    return set(re.findall(r"^\s*([A-Za-z_]\w*)=", text, re.M))


def _text_of(path: str) -> str:
    """The text of a file; empty when it cannot be read, as systemd then has nothing of it."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def monotonic_s() -> float:
    """Return the clock that systemd's monotonic timestamps count in."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def _number(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _positive(text: str | None) -> int | None:
    return _number(text) or None


def _seconds(text: str | None) -> float | None:
    """Turn microseconds into seconds; systemd writes 0 for an event that never happened."""
    number = _number(text)
    return number / 1e6 if number else None

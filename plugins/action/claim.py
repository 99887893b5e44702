# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.claim: names the play, and knows which plays are over."""

from __future__ import annotations

import getpass
import os
import socket
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

_MODULE = "llmops.sglang.claim"
# A wait is cut into looks, so that a play that dies meanwhile is noticed.
_LOOK_S = 10
# As the module documents it.
_WAIT_S = 600


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs the module with the play's name until it has the claim or the wait is over."""

    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns what the module returns."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = (task_vars or {}).get("inventory_hostname", "")
        arguments = {**self._task.args, "owner": this_play()}
        until = time.monotonic() + float(arguments.get("wait_s", _WAIT_S))
        told = False
        while True:
            left_s = max(0, int(until - time.monotonic()))
            arguments["wait_s"] = min(left_s, _LOOK_S) if told else 0
            result.update(
                self._execute_module(
                    module_name=_MODULE, module_args=arguments, task_vars=task_vars
                )
            )
            holder = (result.get("held_by") or {}).get("owner")
            if not result.get("failed") or holder is None:
                return result
            if is_over(holder):
                arguments["dead"] = holder
            elif left_s <= 0:
                return result
            elif not told:
                Display().display(f"{host}   waiting for the play of {_name(holder)}")
                told = True
            for key in ("failed", "msg", "held_by"):
                result.pop(key, None)


def this_play() -> dict[str, Any]:
    """The process that runs the play: tasks run in its children."""
    pid = os.getppid()
    return {
        "host": socket.gethostname(),
        "user": getpass.getuser(),
        "pid": pid,
        "started": _started(pid) or "",
    }


def is_over(owner: dict[str, Any]) -> bool:
    """Whether a play of this controller has ended; unknown, so False, for other controllers."""
    if owner.get("host") != socket.gethostname():
        return False
    pid, started = int(owner["pid"]), str(owner["started"])
    if started:
        return _started(pid) != started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _started(pid: int) -> str | None:
    """Boot and clock tick at which a process was started, where the system tells them."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    # The name of the program may hold spaces and parentheses; field 22 counts from the pid.
    state, ticks = (stat.rpartition(")")[2].split()[index] for index in (0, 19))
    return None if state in "ZX" else f"{boot[:8]}-{ticks}"


def _name(owner: dict[str, Any]) -> str:
    return f"{owner.get('user')} on {owner.get('host')} (process {owner.get('pid')})"

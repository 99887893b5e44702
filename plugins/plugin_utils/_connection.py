# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a module on a host whose connection may be lost meanwhile.

This plugin util is private to the collection and runs on the controller.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

_PAUSE_S = 5.0
#: A module that dies without a word so often does so by itself, not by its host's end.
_WORDLESS = 3


def run_through_loss(
    action: ActionBase,
    module_name: str,
    module_args: dict[str, Any],
    task_vars: dict[str, Any] | None,
    patience_s: float,
) -> dict[str, Any]:
    """What the module returns, once the host is back where it was lost.

    A host that restarts under a play is one that the play has to judge; Ansible itself would drop
    it, and nobody would bring its server back.
    """
    host = str((task_vars or {}).get("inventory_hostname", ""))
    lost_at: float | None = None
    wordless = 0
    while True:
        try:
            result: dict[str, Any] = action._execute_module(
                module_name=module_name, module_args=module_args, task_vars=task_vars
            )
            wordless = wordless + 1 if is_cut_off(result) else 0
            if not wordless or wordless >= _WORDLESS:
                return result
            reason = str(result.get("msg") or "the module was cut off")
        except AnsibleConnectionFailure as error:
            reason = str(error)
        if lost_at is None:
            lost_at = time.monotonic()
            Display().display(f"{host}   the connection was lost; waiting for the host")
        if time.monotonic() - lost_at >= patience_s:
            return {
                "failed": True,
                "msg": f"the connection was lost and did not come back within {patience_s:.0f} s: "
                f"{reason}",
            }
        time.sleep(_PAUSE_S)
        with contextlib.suppress(Exception):
            action._connection.reset()


def is_cut_off(result: dict[str, Any]) -> bool:
    """Whether a module ended without saying anything, as it does when its host goes down."""
    return bool(result.get("failed")) and result.get("module_stdout") == ""

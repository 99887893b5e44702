# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.prove: shows how far a start has come while it waits."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.module_utils._render.gate_report import clock
from ansible_collections.llmops.sglang.plugins.plugin_utils._connection import run_through_loss
from ansible_collections.llmops.sglang.plugins.plugin_utils._parts import run_in_parts

_MODULE = "llmops.sglang.prove"
# A large host takes some minutes to boot.
_RECONNECT_S = 900


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs the module in parts until the start has ended, one way or the other."""

    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns what the module returns."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = str((task_vars or {}).get("inventory_hostname", ""))

        def ask(arguments: dict[str, Any]) -> dict[str, Any]:
            return run_through_loss(self, _MODULE, arguments, task_vars, _RECONNECT_S)

        result.update(run_in_parts(self._task.args, "timeline", ask, Shown(host).show))
        return result


class Shown:
    """What was shown of one start: each line once."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._lines: set[str] = set()

    def show(self, part: dict[str, Any]) -> None:
        """Print what this part of the wait has brought."""
        entries = part.get("timeline") or []
        # A server that was up at the first look has no start to show.
        if not (self._lines or part.get("waiting")):
            return
        if not entries and part.get("waiting"):
            self._print(str(part["reached"]))
        for entry in entries:
            self._print(str(entry["text"]), clock(float(entry["at_s"])))

    def _print(self, text: str, at: str = "") -> None:
        if text not in self._lines:
            self._lines.add(text)
            Display().display(f"{self._host}   {at:>6}  {text}")

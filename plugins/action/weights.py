# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.weights: shows how far a download has come."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.module_utils._render.words import duration

_MODULE = "llmops.sglang.weights"
# A module cannot print while it runs, so the wait is cut into parts.
_PART_S = 20


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs the module in parts until the weights are whole or cannot be had."""

    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns what the module returns."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = str((task_vars or {}).get("inventory_hostname", ""))
        arguments = {"wait_s": _PART_S, **self._task.args}
        before: dict[str, Any] | None = None
        while True:
            part = self._execute_module(
                module_name=_MODULE, module_args=arguments, task_vars=task_vars
            )
            if not part.get("waiting") or "wait_s" in self._task.args:
                # Names and sizes of every file are of no use to anybody else.
                (part.get("progress") or {}).pop("sizes", None)
                result.update(part)
                return result
            progress = part["progress"]
            Display().display(f"{host}   {part['text']}{_pace(before, progress)}")
            before = arguments["progress"] = progress


def _pace(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    """Rate and time to go, from the second look on."""
    came = now["arrived_bytes"] - before["arrived_bytes"] if before else 0
    if came <= 0:
        return ""
    rate = came / _PART_S
    left_s = max(now["total_bytes"] - now["arrived_bytes"], 0) / rate
    return f", {rate / 1e6:.0f} MB/s, about {duration(left_s)} to go"

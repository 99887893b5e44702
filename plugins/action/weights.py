# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.weights: shows how far a download has come."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.module_utils._render.words import duration
from ansible_collections.llmops.sglang.plugins.plugin_utils._parts import PART_S, run_in_parts

_MODULE = "llmops.sglang.weights"


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs the module in parts until the weights are whole or cannot be had."""

    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns what the module returns."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = str((task_vars or {}).get("inventory_hostname", ""))

        def ask(arguments: dict[str, Any]) -> dict[str, Any]:
            part: dict[str, Any] = self._execute_module(
                module_name=_MODULE, module_args=arguments, task_vars=task_vars
            )
            return part

        result.update(run_in_parts(self._task.args, "progress", ask, Shown(host).show))
        # Names and sizes of every file are of no use to anybody else.
        (result.get("progress") or {}).pop("sizes", None)
        return result


class Shown:
    """What is shown of a download: how far it is, and from the second look on how fast."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._before: dict[str, Any] | None = None

    def show(self, part: dict[str, Any]) -> None:
        """Print how far it is, where it goes on."""
        if not part.get("waiting"):
            return
        Display().display(f"{self._host}   {part['text']}{self._pace(part['progress'])}")
        self._before = part["progress"]

    def _pace(self, now: dict[str, Any]) -> str:
        """Rate and time to go."""
        came = now["arrived_bytes"] - self._before["arrived_bytes"] if self._before else 0
        if came <= 0:
            return ""
        rate = came / PART_S
        left_s = max(now["total_bytes"] - now["arrived_bytes"], 0) / rate
        return f", {rate / 1e6:.0f} MB/s, about {duration(left_s)} to go"

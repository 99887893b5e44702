# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.soak: shows how far it is, and waits for a host that is lost."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.plugin_utils._connection import run_through_loss

_MODULE = "llmops.sglang.soak"
_PART_S = 20
_SHOW_S = 60
# As the module documents it.
_RECONNECT_S = 900


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs the module in parts until the soak is over."""

    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns what the module returns."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = str((task_vars or {}).get("inventory_hostname", ""))
        arguments = {"wait_s": _PART_S, **self._task.args}
        patience_s = float(arguments.get("reconnect_s") or _RECONNECT_S)
        shown = time.monotonic()
        while True:
            part = run_through_loss(self, _MODULE, arguments, task_vars, patience_s)
            if "wait_s" in self._task.args or not part.get("waiting"):
                result.update(part)
                return result
            arguments["progress"] = progress = part["progress"]
            if time.monotonic() - shown >= _SHOW_S:
                shown = time.monotonic()
                words = f"soaking: {progress['asked']} requests in {progress['seconds']:.0f} s"
                Display().display(f"{host}   {words}")

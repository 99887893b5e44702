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
from ansible_collections.llmops.sglang.plugins.plugin_utils._parts import run_in_parts

_MODULE = "llmops.sglang.soak"
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
        patience_s = float(self._task.args.get("reconnect_s") or _RECONNECT_S)

        def ask(arguments: dict[str, Any]) -> dict[str, Any]:
            return run_through_loss(self, _MODULE, arguments, task_vars, patience_s)

        result.update(run_in_parts(self._task.args, "progress", ask, Shown(host).show))
        return result


class Shown:
    """What is shown of a soak: how far it is, now and then."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._at_s = time.monotonic()

    def show(self, part: dict[str, Any]) -> None:
        """Print how far it is, where it goes on and the last word is a while ago."""
        if not part.get("waiting") or time.monotonic() - self._at_s < _SHOW_S:
            return
        self._at_s = time.monotonic()
        progress = part["progress"]
        words = f"soaking: {progress['asked']} requests in {progress['seconds']:.0f} s"
        Display().display(f"{self._host}   {words}")

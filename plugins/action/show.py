# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.show: prints a report as it is, line by line."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display


class ActionModule(ActionBase):  # type: ignore[misc]
    """A report in a debug task would arrive as one quoted line; people read this instead."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _VALID_ARGS = frozenset({"text"})

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Prints the option `text` and changes nothing."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        text = self._task.args.get("text")
        if not isinstance(text, str):
            raise AnsibleActionFail("text: a string is required")
        if text.strip():
            Display().display(text.rstrip("\n") + "\n")
        result.update(changed=False)
        return result

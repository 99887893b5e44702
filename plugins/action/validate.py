# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.validate: the roles' variables against the roles' own specs."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.llmops.sglang.plugins.plugin_utils._variables import problems_of


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs before anything is touched, so that a bad variable costs nothing."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _VALID_ARGS = frozenset({"variables"})

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Fails with every wrong variable named at once; changes nothing."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = self._task.args.get("variables")
        if not isinstance(variables, dict):
            raise AnsibleActionFail("variables: a mapping of variable names to values is required")
        problems = problems_of(variables)
        result.update(changed=False)
        if problems:
            lines = "\n".join(f"  {problem}" for problem in problems)
            text = f"Nothing was touched; these variables are wrong:\n{lines}"
            result.update(failed=True, msg=text)
        return result

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.plan: facts and variables in, the whole plan out."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.llmops.sglang.plugins.module_utils._plan.compose import (
    compose_plan,
    refusals,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.comparison import (
    comparison_diff,
    tier_lines,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.findings import findings_text
from ansible_collections.llmops.sglang.plugins.plugin_utils._variables import typed

ARGUMENT_SPEC = {
    "facts": {"type": "dict", "required": True},
    "variables": {"type": "dict", "required": True},
    "refuse": {"type": "bool", "default": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs on the controller and never connects to the host."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns `plan`; fails when a finding refuses it, unless `refuse` is false."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        checked = ArgumentSpecValidator(ARGUMENT_SPEC).validate(self._task.args)
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        options = checked.validated_parameters
        try:
            variables = typed(options["variables"])
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        plan = compose_plan(options["facts"], variables)
        result.update(changed=False, plan=plan, table=tier_lines(plan["capacity"]))
        diff = comparison_diff(plan) if self._task.diff else None
        if diff:
            result["diff"] = diff
        refused = refusals(plan)
        if refused and options["refuse"]:
            result.update(failed=True, msg=findings_text(refused))
        return result

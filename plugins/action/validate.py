# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.validate: the roles' variables against the roles' own specs."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

_PREFIX = "sglang_"
_ROLES = Path(__file__).resolve().parents[2] / "roles"

# What the playbooks read besides the roles.
_PLAYBOOK_OPTIONS = {
    "sglang_hosts": {"type": "str"},
    "sglang_serial": {"type": "raw"},
    "sglang_recording": {"type": "path"},
    "sglang_plan_dest": {"type": "path"},
}
_MUTUALLY_EXCLUSIVE = [
    ("sglang_hicache_ratio", "sglang_hicache_size_gb"),
    ("sglang_api_key", "sglang_api_key_file"),
    ("sglang_admin_api_key", "sglang_admin_api_key_file"),
]
_REQUIRED_IF = [
    ("sglang_hicache_mode", "ratio", ("sglang_hicache_ratio",)),
    ("sglang_hicache_mode", "size", ("sglang_hicache_size_gb",)),
]


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
        problems = problems_of(variables, role_options())
        result.update(changed=False)
        if problems:
            lines = "\n".join(f"  {problem}" for problem in problems)
            result.update(
                failed=True, msg=f"Nothing was touched; these variables are wrong:\n{lines}"
            )
        return result


def role_options() -> dict[str, dict[str, Any]]:
    """Every option of every role of this collection, as the roles themselves describe them."""
    options: dict[str, dict[str, Any]] = dict(_PLAYBOOK_OPTIONS)
    for spec in sorted(_ROLES.glob("*/meta/argument_specs.yml")):
        entry = yaml.safe_load(spec.read_text(encoding="utf-8"))["argument_specs"]["main"]
        for name, option in entry["options"].items():
            # Required by one role and given a default by another is not required of the user.
            options[name] = {key: option[key] for key in option if key not in _NOT_CHECKED}
    return options


_NOT_CHECKED = ("default", "required", "description")


def problems_of(variables: dict[str, Any], options: dict[str, dict[str, Any]]) -> list[str]:
    """One sentence per wrong variable: unknown name, wrong type or choice, two that exclude."""
    own = set(variables.get("sglang_extra_variables") or [])
    problems = [
        _unknown(name, options)
        for name in sorted(variables)
        if name not in options and name not in own
    ]
    # Null means "not given", so it takes part in no check.
    given = {name: variables[name] for name in options if variables.get(name) not in (None, "")}
    checked = ArgumentSpecValidator(
        options,
        mutually_exclusive=_MUTUALLY_EXCLUSIVE,
        required_if=[[key, value, list(names)] for key, value, names in _REQUIRED_IF],
    ).validate(given)
    return [*problems, *checked.error_messages]


def _unknown(name: str, options: dict[str, dict[str, Any]]) -> str:
    # Without the prefix, which all have in common and which would make all of them look alike.
    known = {option[len(_PREFIX) :]: option for option in options}
    near = difflib.get_close_matches(name[len(_PREFIX) :], known, n=1, cutoff=0.75)
    hint = f"did you mean {known[near[0]]}?" if near else "list your own in sglang_extra_variables"
    return f"{name}: no role of this collection has this variable; {hint}"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of llmops.sglang.rollout: all hosts' notes in, schedule or summary out."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.checks import MIXED
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.member import member_of
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.rollout import (
    plan_rollout,
    sum_up,
)
from ansible_collections.llmops.sglang.plugins.module_utils._fleet.schedule import Wish
from ansible_collections.llmops.sglang.plugins.module_utils._render.rollout_report import (
    rollout_report,
    schedule_report,
)

ARGUMENT_SPEC = {
    "state": {"type": "str", "choices": ["scheduled", "summed_up"], "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "serial": {"type": "raw", "default": 1},
    "canary": {"type": "int", "default": 1},
    "min_available": {"type": "raw", "default": 0},
    "min_available_tokens": {"type": "int", "default": 0},
    "outside": {"type": "int", "default": 0},
    "mixed": {"type": "list", "elements": "str", "choices": list(MIXED), "default": []},
    "looked": {"type": "list", "elements": "dict", "default": []},
}
FOUND, SCHEDULE, RESULT = (
    "__sglang_rollout_found",
    "__sglang_rollout_schedule",
    "__sglang_rollout_result",
)
BOOT = "__sglang_rollout_boot"


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs once for all hosts, on the controller."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns `rollout` and `text`; does not fail for what it finds."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        checked = ArgumentSpecValidator(ARGUMENT_SPEC).validate(self._task.args)
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        options = checked.validated_parameters
        variables = task_vars or {}
        notes = Notes(variables["hostvars"], options["hosts"])
        if options["state"] == "scheduled":
            rollout = _scheduled(notes, options)
            text = schedule_report(rollout)
        else:
            rollout = sum_up(
                notes.first(SCHEDULE),
                notes.all(RESULT),
                {**notes.boots(), **_boots(options["looked"])},
                bool(self._task.check_mode),
            )
            text = rollout_report(rollout)
        result.update(changed=False, rollout=rollout, text=text)
        return result


class Notes:
    """What the role noted on the hosts of a play, as facts."""

    def __init__(self, hostvars: Mapping[str, Mapping[str, Any]], names: list[str]) -> None:
        self.names = names
        # Taken once: each look gathers all variables of a host.
        self._variables = {name: hostvars[name] for name in names}

    def all(self, name: str) -> dict[str, Any]:
        """A note of every host that has it."""
        found = {host: variables.get(name) for host, variables in self._variables.items()}
        return {host: note for host, note in found.items() if note}

    def first(self, name: str) -> dict[str, Any]:
        """A note that all hosts have alike; those that were not reached have none."""
        for variables in self._variables.values():
            note: dict[str, Any] | None = variables.get(name)
            if note:
                return note
        raise AnsibleActionFail("there is no schedule: the rollout ended before it was made")

    def boots(self) -> dict[str, str]:
        """The boot of each host that was looked at last; "" of one that could not be reached."""
        looks = {host: {"item": host, **look} for host, look in self.all(BOOT).items()}
        return _boots(look for look in looks.values() if not look.get("skipped"))


def _boots(looks: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Hosts to boots, from files as ansible.builtin.slurp returns them."""
    return {
        str(look["item"]): base64.b64decode(look.get("content") or "").decode("ascii").strip()
        for look in looks
    }


def _scheduled(notes: Notes, options: dict[str, Any]) -> dict[str, Any]:
    found = notes.all(FOUND)
    members = [member_of(name, found.get(name)) for name in notes.names]
    wish = Wish(
        serial=options["serial"],
        canary=options["canary"],
        min_available=options["min_available"],
        min_tokens=options["min_available_tokens"],
        outside=options["outside"],
    )
    return plan_rollout(members, wish, options["mixed"])

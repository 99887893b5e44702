#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: one play at a time changes an instance."""

from __future__ import annotations

DOCUMENTATION = r"""
module: claim
short_description: Let one play at a time change an instance
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Claims an instance for the running play, or waits until another play has given it back.
  - A claim names the play's process on the controller. A play that was killed does not block the
    next one from the same controller, because its process is gone; from another controller it
    blocks until O(lease_s) is over, or until the host is rebooted.
  - Refuses when the server was started anew since the play looked at it, because what was planned
    then may be wrong now.
options:
  instance:
    description: Name of the instance.
    type: str
    required: true
  state:
    description: V(held) claims the instance, V(free) gives it back.
    type: str
    choices: [held, free]
    default: held
  invocation_id:
    description:
      - Invocation of the unit when the play looked at it, empty when it did not run. Not compared
        when it is not given.
    type: str
  lease_s:
    description: Seconds after which the claim ends by itself.
    type: int
    default: 7200
  wait_s:
    description: Seconds to wait for another play.
    type: int
    default: 600
  owner:
    description:
      - The play, as the controller names it. Filled in by the action plugin.
    type: dict
  dead:
    description:
      - An owner whose process is known to be gone. Filled in by the action plugin.
    type: dict
attributes:
  check_mode:
    support: full
    description: Claims nothing and waits for nobody.
  diff_mode:
    support: none
    description: There is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Needs systemd.
seealso:
  - module: llmops.sglang.record
"""

EXAMPLES = r"""
- name: Change the instance alone
  block:
    - name: Claim it
      llmops.sglang.claim:
        instance: kimi
        invocation_id: "{{ ansible_facts.sglang.server.invocation_id }}"

    - name: Restart it
      ansible.builtin.systemd_service:
        name: sglang-kimi.service
        state: restarted
  always:
    - name: Give it back
      llmops.sglang.claim:
        instance: kimi
        state: free
"""

RETURN = r"""
owner:
  description: The play that has, or had, the claim.
  returned: success
  type: dict
  contains:
    host:
      description: Host name of the controller.
      type: str
    user:
      description: User on the controller.
      type: str
    pid:
      description: Process of the play there.
      type: int
    started:
      description: When that process was started, in the controller's own measure.
      type: str
held_by:
  description: Another play that has the claim, with C(owner), C(since_s) and C(until_s).
  returned: when it is held by another play
  type: dict
"""

import time
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitError, read_unit
from ansible_collections.llmops.sglang.plugins.module_utils._layout import claim_file, unit_name
from ansible_collections.llmops.sglang.plugins.module_utils._record.claim import (
    Claims,
    Held,
    Owner,
)

_PAUSE_S = 2


def _owner(module: AnsibleModule, name: str) -> Owner | None:
    values = module.params[name]
    if values is None:
        return None
    try:
        return Owner(
            str(values["host"]), str(values["user"]), int(values["pid"]), str(values["started"])
        )
    except (KeyError, ValueError):
        module.fail_json(msg=f"{name}: host, user, pid and started are needed")
        return None


def _check_invocation(module: AnsibleModule) -> None:
    """What was planned for one run of the server is not done to another one."""
    seen = module.params["invocation_id"]
    if seen is None:
        return
    unit = unit_name(module.params["instance"])
    try:
        state = read_unit(unit)
    except UnitError as error:
        module.fail_json(msg=f"the state of {unit} is unknown: {error}")
        return
    now = state.invocation_id if state.running else None
    if now is not None and now != seen:
        module.fail_json(
            msg=f"{unit} was started anew since this play looked at it (invocation "
            f"{seen or 'none'} then, {now} now): run the play again"
        )


def _take(module: AnsibleModule, claims: Claims, owner: Owner) -> None:
    """Claim the instance, or end the module with who has it."""
    params = module.params
    dead = _owner(module, "dead")
    until = time.monotonic() + params["wait_s"]
    while True:
        try:
            claims.take(owner, params["lease_s"], dead)
        except Held as error:
            if time.monotonic() < until:
                time.sleep(_PAUSE_S)
                continue
            claim = error.claim
            since = datetime.fromtimestamp(claim.since_s, timezone.utc)
            module.fail_json(
                msg=f"{claim.owner} has been changing the instance {params['instance']} since "
                f"{since:%H:%M:%S} UTC. Nothing was changed. Run this play when that one is over; "
                f"if it is not running any more, remove {claim_file(params['instance'])}.",
                held_by=asdict(claim),
            )
        return


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "instance": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["held", "free"], "default": "held"},
            "invocation_id": {"type": "str"},
            "lease_s": {"type": "int", "default": 7200},
            "wait_s": {"type": "int", "default": 600},
            "owner": {"type": "dict"},
            "dead": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    owner = _owner(module, "owner")
    if owner is None:
        module.fail_json(msg="owner: this module needs its action plugin, which names the play")
        return
    result: dict[str, Any] = {"changed": False, "owner": asdict(owner)}
    if module.check_mode:
        module.exit_json(**result)
    claims = Claims(Path(claim_file(module.params["instance"])))
    try:
        if module.params["state"] == "free":
            claims.free(owner)
        else:
            _take(module, claims, owner)
            _check_invocation(module)
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}; become root to claim it")
    module.exit_json(**result)


if __name__ == "__main__":
    main()

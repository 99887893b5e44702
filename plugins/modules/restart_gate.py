#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: would a restart of the server be needed, and would it succeed?"""

from __future__ import annotations

DOCUMENTATION = r"""
module: restart_gate
short_description: Says whether an SGLang server must be restarted, and whether that would succeed
version_added: 0.1.0
description:
  - Compares the running process of the unit with the plan. It reads the command line and the
    environment of the process itself, so a play that was killed between writing the unit and
    restarting it is finished by the next run, and a change of order or comment in the unit is no
    reason for a restart.
  - Then checks whether a new process would start, fit and be allowed now. Every check says what
    was measured, what is needed, what would help and which variable changes it. What could not be
    measured is V(unknown), never passed.
  - "The checks are V(driver), V(gpus), V(recovery), V(balance), V(gpu_busy), V(orphans),
    V(memory), V(weights), V(engine), V(ports), V(disk), V(load_barrier), V(window),
    V(budget) and V(arguments)."
  - Nothing on the host is changed. The module does not fail when a restart is refused; look at
    RV(verdict).
options:
  unit:
    description:
      - Name of the systemd unit of the instance.
    type: str
    required: true
  plan:
    description:
      - The plan of the instance, as M(llmops.sglang.plan) returned it.
    type: dict
    required: true
  facts:
    description:
      - The facts of the host, as M(llmops.sglang.host_facts) returned them in
        C(ansible_facts.sglang). A check whose facts are missing is V(unknown).
    type: dict
    default: {}
  overrides:
    description:
      - Names of checks whose refusal is to be ignored. Such a check is reported as
        V(overridden).
      - An unknown name is an error, since a mistyped override would look like a stubborn check.
    type: list
    elements: str
    default: []
  pending:
    description:
      - Names of checks whose subject an earlier task would have made if this were not check mode,
        such as V(engine) and V(weights) on a bare host. A refusal of such a check is reported as
        V(unknown).
    type: list
    elements: str
    default: []
  only:
    description:
      - Names of the checks to make; all of them when it is empty. After a stop, V([gpu_busy,
        orphans, memory, ports]) with O(wait_s) waits until what the old process held has come back.
    type: list
    elements: str
    default: []
  secrets:
    description:
      - What the secrets file of the instance is to hold, by the engine's own names. It is compared
        with what the running process was given; only whether they differ is returned.
      - Without it secrets are not compared.
    type: dict
  converged:
    description:
      - What else must hold on the host for nothing to be left to do, as RV(converged) tells it. The
        secrets file is compared when O(secrets) are given.
      - With it the checks are only made of a process that runs as planned. Whoever has to change
        something asks again when the new process could start.
    type: dict
    suboptions:
      files:
        description: SHA-256 of what each file holds, by its path. Files of mode 0644.
        type: dict
        default: {}
      services:
        description: Services that must be enabled and active where they are installed.
        type: list
        elements: str
        default: []
  wait_s:
    description:
      - How many seconds to look again while memory of a server that was just stopped is still being
        released, before RV(verdict) is V(wait).
    type: int
    default: 0
  window:
    description:
      - When restarts are allowed, in the host's local time, such as V(Mon-Fri 22:00-05:00; Sat,Sun
        00:00-24:00). Always when it is empty.
    type: str
    default: ""
  restarts_max:
    description:
      - How often plays may restart the server within O(restarts_hours), by the diary that
        M(llmops.sglang.record) keeps. 0 allows any number. A server that is down may always be
        started.
    type: int
    default: 0
  restarts_hours:
    description: The time for O(restarts_max), in hours.
    type: float
    default: 24
attributes:
  check_mode:
    support: full
    description: Does the same in check mode, since it never changes anything.
  diff_mode:
    support: none
    description: Nothing is changed; the differences of the process are in RV(differences).
  platform:
    support: full
    platforms: linux
    description: Needs systemd and the proc file system.
notes:
  - The check V(arguments) runs the argument parser of the installed engine in the engine's own
    interpreter, as the user and with the environment of the unit, and takes 5 to 25 seconds. It is
    V(skipped) when no start is needed.
  - Run it as root. Other users may not read the environment of the server's process.
seealso:
  - module: llmops.sglang.host_facts
  - module: llmops.sglang.drain
  - module: llmops.sglang.prove
author:
  - the llmops.sglang contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Ask whether a restart is needed and would succeed
  llmops.sglang.restart_gate:
    unit: sglang-kimi.service
    plan: "{{ plan }}"
    facts: "{{ ansible_facts.sglang }}"
  register: gate

- name: Show the answer
  ansible.builtin.debug:
    msg: "{{ gate.text.splitlines() }}"

- name: Wait until what the stopped server held has come back
  llmops.sglang.restart_gate:
    unit: sglang-kimi.service
    plan: "{{ plan }}"
    facts: "{{ ansible_facts.sglang }}"
    only: [gpu_busy, orphans, memory, ports]
    wait_s: 180
  register: released

- name: Restart although the memory check refuses
  llmops.sglang.restart_gate:
    unit: sglang-kimi.service
    plan: "{{ plan }}"
    facts: "{{ ansible_facts.sglang }}"
    overrides: [memory]
  register: gate
"""

RETURN = r"""
need:
  description: What must happen to the unit so that it does what the plan says.
  returned: always
  type: str
  sample: restart
differences:
  description:
    - How the running process differs from the plan. Empty unless RV(need) is V(restart).
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: One of V(argument), V(environment), V(engine), V(model) and V(secrets).
      type: str
      sample: argument
    name:
      description: The flag, the variable or the part.
      type: str
      sample: --hicache-ratio
    running:
      description: The value of the running process; V(null) when it has none.
      type: str
    wanted:
      description: The value of the plan; V(null) when it has none.
      type: str
      sample: "4.37"
doubt:
  description: What could not be compared, and why. V(null) when everything was.
  returned: always
  type: str
checks:
  description: One entry per check.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Name of the check, as O(overrides) takes it.
      type: str
      sample: memory
    status:
      description:
        - One of V(passed), V(blocked), V(warned), V(unknown), V(skipped) and V(overridden).
      type: str
      sample: passed
    measured:
      description: What was found, or why nothing could be.
      type: str
      sample: 396 GiB available
    needed:
      description: What is needed.
      type: str
      sample: 353 GiB for the host pools and 10.0 GiB kept free
    remedy:
      description: What would help; V(null) when nothing is wrong.
      type: str
    variable:
      description: The role variable that changes it, if there is one.
      type: str
only:
  description: The checks that were asked for; empty when all were.
  returned: always
  type: list
  elements: str
converged:
  description:
    - Whether nothing is left to do. The process runs as planned and is proven, the files are as
      they should be, and unit and services come up at boot.
  returned: with O(converged)
  type: bool
left:
  description: What is left to do beside a process that runs as planned.
  returned: with O(converged)
  type: list
  elements: str
  sample: ["/etc/systemd/system/sglang-kimi.service is not as planned"]
killed_at_stop:
  description:
    - Whether the last process of the unit did not end within the bound of its stop, so that systemd
      killed it.
  returned: always
  type: bool
verdict:
  description:
    - V(nothing) when no start is needed, V(proceed) when one would succeed, V(blocked) when one
      would not, V(wait) when the only obstacle is memory of the stopped server that is still
      being released. GPUs and free memory are measured anew in that case, so ask again until it
      changes.
  returned: always
  type: str
  sample: proceed
text:
  description: The same for a person, at most 80 columns wide.
  returned: always
  type: str
  sample: |
    sglang-kimi.service   restart needed: --hicache-ratio (none) -> 4.37
    sglang-kimi.service   gate: 13 checks passed, 0 blocked, 1 unknown
"""

import time
from datetime import datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._gate.allowed import in_window
from ansible_collections.llmops.sglang.plugins.module_utils._gate.checks import Subject, dig
from ansible_collections.llmops.sglang.plugins.module_utils._gate.converged import what_is_left
from ansible_collections.llmops.sglang.plugins.module_utils._gate.gate import (
    CHECKS,
    judge,
    just_stopped,
    measured_anew,
)
from ansible_collections.llmops.sglang.plugins.module_utils._gate.need import find_need
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import (
    UnitError,
    names_set_outside,
    read_unit,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.plugins.module_utils._render.gate_report import gate_report

_PAUSE_S = 5
# Before the engine and the weights are there, most checks would tell what everybody knows.
_NO_CHECK = ("",)


def look(params: dict[str, Any]) -> dict[str, Any]:
    """One look at the unit and the host; raises UnitError when systemd does not answer."""
    unit, plan, facts = params["unit"], params["plan"], params["facts"]
    state = read_unit(unit)
    need = find_need(
        state,
        plan,
        lambda: names_set_outside(state),
        proven=dig(facts, "server", "proven"),
        secrets=params["secrets"],
    )
    stopped = just_stopped(state, plan)
    if stopped and need.need != "none":
        facts = measured_anew(Live(), facts, plan)
    subject = Subject(
        plan=plan,
        facts=facts,
        state=state,
        unit=unit,
        need=need.need,
        just_stopped=stopped,
        window=params["window"],
        restarts_max=params["restarts_max"],
        restarts_hours=params["restarts_hours"],
    )
    wanted, only = params["converged"], params["only"]
    result: dict[str, Any] = {"killed_at_stop": state.killed_at_stop}
    if wanted is not None:
        left = []
        if need.need == "none":
            left = what_is_left(
                state, plan, dig(facts, "server", "proven"), wanted, params["secrets"]
            )
        else:
            only = _NO_CHECK
        result.update(converged=need.need == "none" and not left, left=left)
    return {**judge(subject, need, params["overrides"], params["pending"], only), **result}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "plan": {"type": "dict", "required": True},
            "facts": {"type": "dict", "default": {}},
            "overrides": {"type": "list", "elements": "str", "default": []},
            "pending": {"type": "list", "elements": "str", "default": []},
            "only": {"type": "list", "elements": "str", "default": []},
            "secrets": {"type": "dict", "no_log": True},
            "converged": {
                "type": "dict",
                "options": {
                    "files": {"type": "dict", "default": {}},
                    "services": {"type": "list", "elements": "str", "default": []},
                },
            },
            "wait_s": {"type": "int", "default": 0},
            "window": {"type": "str", "default": ""},
            "restarts_max": {"type": "int", "default": 0},
            "restarts_hours": {"type": "float", "default": 24},
        },
        supports_check_mode=True,
    )
    unit, plan = module.params["unit"], module.params["plan"]
    named = {name for key in ("overrides", "pending", "only") for name in module.params[key]}
    strangers = sorted(named - set(CHECKS))
    if strangers:
        module.fail_json(
            msg=f"no such check: {', '.join(strangers)} (sglang_gate_overrides takes "
            f"{', '.join(CHECKS)})"
        )
    if not plan.get("argv"):
        module.fail_json(msg="the plan has no argv: it must come from llmops.sglang.plan")
    try:
        in_window(module.params["window"] or "0:00-24:00", datetime.now())
    except ValueError as error:
        module.fail_json(msg=str(error))
    until = time.monotonic() + module.params["wait_s"]
    while True:
        try:
            result = look(module.params)
        except UnitError as error:
            module.fail_json(msg=f"the state of {unit} is unknown: {error}")
        if result["verdict"] != "wait" or time.monotonic() >= until:
            break
        time.sleep(_PAUSE_S)
    result["only"] = module.params["only"]
    module.exit_json(changed=False, text=gate_report(unit, result), **result)


if __name__ == "__main__":
    main()

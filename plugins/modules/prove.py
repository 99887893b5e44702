#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: wait until a server is up, then show that it delivers what was planned."""

from __future__ import annotations

DOCUMENTATION = r"""
module: prove
short_description: Waits for an SGLang server and shows that it delivers what was planned
version_added: 0.1.0
description:
  - Waits until the unit's server is up, in one module and with one deadline. It reads the journal
    of the current invocation, so it fails within seconds of a line that ends the start, with the
    cause and what helps, and it never takes a server of another start for this one.
  - Then compares the running server with the plan and asks it for answers. Prompts are fixed and
    harmless.
  - "The proofs are V(fired_up), V(completion), V(device_tokens), V(host_tokens), V(same_answer),
    V(speculation) (when a speculative algorithm is planned), V(read_back) (when a host tier is
    planned), V(tool_call) (when O(tool_call)) and V(context)."
  - V(read_back) asks for some pages twice, fills the device tier with other text and asks for the
    pages again. They must then come from the host tier, with the same answers and, with
    speculation, with no smaller accept length. Counters alone would look healthy even if the copy
    back brought nothing.
  - What a server cannot show is V(not_proven), never V(proven). One V(failed) proof fails the
    module with a page that names plan and measurement.
  - A server that runs already is proven the same way, without being touched.
options:
  unit:
    description:
      - Name of the systemd unit of the instance. It must have been started.
    type: str
    required: true
  plan:
    description:
      - The plan of the instance, as M(llmops.sglang.plan) returned it.
    type: dict
    required: true
  secrets_file:
    description:
      - File on the host with the server's keys, a JSON mapping with C(api-key) and
        C(admin-api-key). A file that does not exist means that the server has no keys.
    type: path
  deadline_s:
    description:
      - Longest time from the start of the process until the server is up, in seconds. Taken from
        the plan when not given.
    type: int
  wait_s:
    description:
      - Return after so many seconds with RV(waiting) when the start goes on. The action plugin of
        this module waits in such parts, to show how far the start has come.
    type: float
  timeline:
    description:
      - RV(timeline) of the part before. Filled in by the action plugin.
    type: list
    elements: dict
  tolerance:
    description:
      - How far a pool may be from a predicted or formerly measured size, as a share of it. Where
        the plan itself says how far its prediction may be off, that is allowed, too. A
        declared size (C(sglang_max_total_tokens)) must be met to the page.
    type: float
    default: 0.05
  tool_call:
    description:
      - Whether to ask the model for a tool call. Needs a model that was trained for it.
    type: bool
    default: false
  read_back_s:
    description:
      - Longest time in seconds for filling the device tier, which the proof V(read_back) needs; it
        has to compute as many tokens as the device tier holds. 0 leaves that proof out. When the
        time is over the host tier is V(not_proven).
    type: float
    default: 300
attributes:
  check_mode:
    support: partial
    description: Can run in C(check_mode) without changing anything.
    details: >-
      Does not wait and asks the server for no answer. What a running server shows of itself is
      compared; without one the module is skipped.
  diff_mode:
    support: none
    description: There is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Needs systemd and its journal; runs on the host of the server.
notes:
  - The module writes nothing. Keep RV(record) yourself.
seealso:
  - module: llmops.sglang.restart_gate
  - module: llmops.sglang.drain
author:
  - the llmops.sglang contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Wait for the server and prove it
  llmops.sglang.prove:
    unit: sglang-kimi.service
    plan: "{{ plan }}"
    secrets_file: /etc/sglang/kimi/secrets.yaml
  register: proof

- name: Also ask for a tool call, and allow ten percent
  llmops.sglang.prove:
    unit: sglang-kimi.service
    plan: "{{ plan }}"
    secrets_file: /etc/sglang/kimi/secrets.yaml
    tool_call: true
    tolerance: 0.1
"""

RETURN = r"""
proofs:
  description: One entry per proof. Also returned on failure, as far as they came.
  returned: unless skipped
  type: list
  elements: dict
  contains:
    id:
      description: Name of the proof.
      type: str
      sample: host_tokens
    status:
      description: One of V(proven), V(failed) and V(not_proven).
      type: str
      sample: proven
    measured:
      description: What the server showed; a number or a text.
      type: raw
      sample: 696600
    planned:
      description: What the plan says; a number or a text.
      type: raw
      sample: 696600
    text:
      description: The same in words.
      type: str
      sample: 696,600 host tokens on every rank as planned
startup:
  description: What the journal of this start tells, as in the facts of the server.
  returned: unless skipped
  type: dict
timeline:
  description: When the phases of the start were seen, in seconds since the process began.
  returned: success
  type: list
  elements: dict
  sample: [{"at_s": 281.0, "text": "KV pool of 159,300 tokens"}]
waiting:
  description: Whether the start goes on; ask again then.
  returned: with O(wait_s)
  type: bool
reached:
  description: How far the start has come, in words.
  returned: when RV(waiting)
  type: str
  sample: 38 of 64 shards are loaded
ready_s:
  description:
    - Seconds from the start of the process until it was up. For a server that was up before the
      module looked, seconds from its first log line to the line that says it is up.
  returned: unless skipped
  type: float
  sample: 451.0
completion:
  description: The answer to the first question.
  returned: unless skipped
  type: dict
  contains:
    text:
      description: What the model said; V(null) when it was not asked.
      type: str
    tokens:
      description: How many tokens it generated.
      type: int
record:
  description: What is worth keeping on the host about this server.
  returned: success
  type: dict
  contains:
    at:
      description: When it was proven, in UTC.
      type: str
      sample: "2026-11-30T20:00:00Z"
    invocation_id:
      description: The invocation of the unit that was proven.
      type: str
    fingerprint:
      description: The fingerprint of the plan.
      type: str
    device_tokens:
      description: Measured tokens of the device pool.
      type: int
    host_tokens:
      description: Measured tokens of the host pool of each rank.
      type: int
    proofs:
      description: The status of every proof by its name.
      type: dict
cause:
  description: Why the start failed, one word of a fixed vocabulary where the journal tells.
  returned: when the server did not come up
  type: str
  sample: host_memory_guard
cause_line:
  description: The line of the journal that proves it, without secrets.
  returned: when the server did not come up
  type: str
remedy:
  description: What helps against the cause.
  returned: when the server did not come up
  type: str
text:
  description: The result for a person, at most 80 columns wide.
  returned: unless skipped
  type: str
"""

import time
from datetime import datetime, timezone
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitError
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import (
    Client,
    read_keys,
)
from ansible_collections.llmops.sglang.plugins.module_utils._prove.proof import FAILED
from ansible_collections.llmops.sglang.plugins.module_utils._prove.proofs import (
    Options,
    Prover,
    record_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._prove.wait import (
    Started,
    StartFailed,
    Wait,
)
from ansible_collections.llmops.sglang.plugins.module_utils._render.gate_report import (
    prove_report,
)

# Allowed when neither the task nor the plan names a deadline.
_DEADLINE_S = 1800


def _wait(module: AnsibleModule, wait: Wait, deadline_s: float) -> Started | None:
    """Wait as the mode asks for: for a server that is up, or, in check mode, not at all."""
    unit = module.params["unit"]
    started = None
    try:
        if module.check_mode:
            started = wait.look()
        else:
            started = wait.until_ready(deadline_s, module.params["wait_s"])
    except StartFailed as error:
        result: dict[str, Any] = {
            "cause": error.cause,
            "cause_line": error.line,
            "remedy": error.remedy,
            "startup": error.startup,
            "timeline": wait.timeline,
            "proofs": [],
        }
        text = prove_report(unit, result)
        module.fail_json(msg=text, text=text, **result)
    except UnitError as error:
        module.fail_json(msg=f"the state of {unit} is unknown: {error}")
    return started


def _prove(
    module: AnsibleModule, client: Client, plan: dict[str, Any], started: Started, until: float
) -> None:
    """Make the proofs and end the module."""
    options = Options(
        predicted_tolerance=module.params["tolerance"],
        tool_call=module.params["tool_call"],
        read_back_s=module.params["read_back_s"],
        ask=not module.check_mode,
    )
    prover = Prover(client, plan, started, options, until)
    proofs = prover.run()
    result: dict[str, Any] = {
        "proofs": proofs,
        "startup": started.startup,
        "timeline": started.timeline,
        "ready_s": started.ready_s,
        "completion": prover.completion,
    }
    text = prove_report(module.params["unit"], result)
    if any(proof["status"] == FAILED for proof in proofs):
        module.fail_json(msg=text, text=text, **result)
    at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = record_of(plan, started, prover, proofs, at)
    module.exit_json(changed=False, text=text, record=record, **result)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "plan": {"type": "dict", "required": True},
            "secrets_file": {"type": "path", "no_log": False},
            "deadline_s": {"type": "int"},
            "wait_s": {"type": "float"},
            "timeline": {"type": "list", "elements": "dict"},
            "tolerance": {"type": "float", "default": 0.05},
            "tool_call": {"type": "bool", "default": False},
            "read_back_s": {"type": "float", "default": 300},
        },
        supports_check_mode=True,
    )
    params = module.params
    plan: dict[str, Any] = params["plan"]
    if not plan.get("url"):
        module.fail_json(msg="the plan has no url: it must come from llmops.sglang.plan")
    try:
        client = Client(plan["url"], read_keys(params["secrets_file"]))
    except ValueError as error:
        module.fail_json(msg=str(error))
    deadline_s = params["deadline_s"] or (plan.get("deadlines") or {}).get("start_s") or _DEADLINE_S
    until = time.monotonic() + deadline_s
    wait = Wait(params["unit"], client, params["timeline"])
    started = _wait(module, wait, deadline_s)
    if started is not None:
        _prove(module, client, plan, started, until)
    elif module.check_mode:
        module.exit_json(changed=False, skipped=True, msg="no server is up; check mode waits not")
    else:
        module.exit_json(
            changed=False, waiting=True, reached=wait.reached(), timeline=wait.timeline
        )


if __name__ == "__main__":
    main()

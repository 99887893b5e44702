#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: do the hosts of one engine reach the place where they are to meet?"""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_meet
short_description: Tries whether the hosts of one SGLang engine reach one another
version_added: 0.1.0
description:
  - Rank 0 listens at the address where the ranks are to meet, and all others connect to it. Run it
    on all hosts in one task, before the engine is started; an engine whose ranks do not reach one
    another waits silently for its whole deadline.
  - Where the engine itself listens already, the others connect to that.
options:
  address:
    description: Where they meet, as V(10.0.0.1:20000), the engine's C(--dist-init-addr).
    type: str
    required: true
  rank:
    description: Which of the hosts this one is, from 0.
    type: int
    required: true
  nodes:
    description: How many hosts there are.
    type: int
    required: true
  timeout_s:
    description: Longest time for all of them to have met, in seconds.
    type: int
    default: 60
attributes:
  check_mode:
    support: full
    description: Changes nothing, so it does the same.
  diff_mode:
    support: none
    description: There is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Needs nothing but a network.
seealso:
  - module: llmops.sglang.restart_gate
author:
  - the llmops.sglang contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: See whether both hosts reach the port of rank 0
  llmops.sglang.nodes_meet:
    address: 10.0.0.1:20000
    rank: "{{ sglang_node_rank }}"
    nodes: 2
"""

RETURN = r"""
met:
  description:
    - Which hosts connected to rank 0, by their addresses; V(null) on the others, and where the
      engine listens itself.
  returned: success
  type: list
  elements: str
  sample: [10.0.0.2]
waited_s:
  description: How long it took, in seconds.
  returned: always
  type: float
  sample: 0.4
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._gate.meeting import (
    MeetingError,
    come,
    receive,
    split_address,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str", "required": True},
            "rank": {"type": "int", "required": True},
            "nodes": {"type": "int", "required": True},
            "timeout_s": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    params = module.params
    begun = time.monotonic()
    deadline = begun + params["timeout_s"]
    met = None
    try:
        place = split_address(params["address"])
        if params["rank"] == 0:
            met = receive(place, params["nodes"] - 1, deadline)
        else:
            come(place, deadline)
    except MeetingError as error:
        module.fail_json(msg=str(error), waited_s=round(time.monotonic() - begun, 1))
    module.exit_json(changed=False, met=met, waited_s=round(time.monotonic() - begun, 1))


if __name__ == "__main__":
    main()

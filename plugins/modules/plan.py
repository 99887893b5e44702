#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of an action plugin: the code runs on the controller, in plugins/action."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Compute what fits on a host and how SGLang must be started for it
version_added: 0.1.0
description:
  - Takes the facts of M(llmops.sglang.host_facts) and the variables of the role
    C(llmops.sglang.sglang) and returns capacity, options, command line, environment and unit.
  - Pure arithmetic on the controller. It connects to no host and changes nothing.
options:
  facts:
    description: The value of C(ansible_facts['sglang']) of the host.
    type: dict
    required: true
  variables:
    description:
      - Variables of the role C(llmops.sglang.sglang) by their full names, secrets left out.
    type: dict
    required: true
  refuse:
    description:
      - Fail when a finding has the severity V(refuse). Turn it off to look at a plan that must not
        be applied.
    type: bool
    default: true
extends_documentation_fragment:
  - llmops.sglang._controller
seealso:
  - module: llmops.sglang.host_facts
  - module: llmops.sglang.restart_gate
"""

EXAMPLES = r"""
- name: Measure the host
  llmops.sglang.host_facts:
    instance: kimi
    model_path: /models/Kimi-K2.5

- name: Plan what fits
  llmops.sglang.plan:
    facts: "{{ ansible_facts['sglang'] }}"
    variables: "{{ dict(names | zip(query('ansible.builtin.vars', *names))) }}"
  vars:
    names: "{{ query('ansible.builtin.varnames', '^sglang_(?!(admin_)?api_key$)') }}"
  register: planned

- name: Tokens in reach of the device and the host pool
  ansible.builtin.debug:
    var: planned.plan.capacity.tokens.in_reach
"""

RETURN = r"""
plan:
  description: The whole plan of one instance.
  returned: success, and failure by a refusing finding
  type: dict
  contains:
    instance:
      description: Name of the instance.
      type: str
      sample: kimi
    unit:
      description: Name of the systemd unit.
      type: str
      sample: sglang-kimi.service
    engine:
      description: Version and path of the engine that is planned for.
      type: dict
      sample: {"version": "0.5.23", "path": "/opt/sglang/engines/0.5.23-6f1c02aa"}
    capacity:
      description:
        - Pools and what they hold. Byte counts are bytes, per rank or per node as the name says.
          Device tokens carry their origin, V(measured), V(predicted) or V(declared).
      type: dict
      contains:
        bytes_per_token:
          description: Bytes of one token on one rank, of the target and of the draft model.
          type: dict
          sample: {"target": 70272, "draft": 4096}
        device:
          description: KV pool in GPU memory.
          type: dict
          sample: {"tokens": 159300, "bytes_per_rank": 11194329600, "origin": "measured"}
        host:
          description: KV pool in RAM that was chosen, and how certainly it starts.
          type: dict
          sample: {"mode": "ratio", "ratio": 4.37, "certainty": "certain"}
        tokens:
          description:
            - Unique tokens on the device and in reach. The host pool contains the device pool.
          type: dict
          sample: {"device": 159300, "in_reach": 696142}
        ram:
          description: RAM after the running instance is gone, reserve, and the limit that binds.
          type: dict
        options:
          description: Ways to more context, best first, each with the variables that select it.
          type: list
          elements: dict
    arguments:
      description: Flags with their values and the variable each comes from.
      type: list
      elements: dict
      sample: [{"flag": "--tp-size", "values": ["8"], "source": "sglang_tp_size"}]
    argv:
      description: The whole command line.
      type: list
      elements: str
    environment:
      description: Environment of the unit. It never holds a secret.
      type: dict
    environment_reasons:
      description: Why each variable of the environment is set.
      type: dict
    sections:
      description: Sections of the unit in order, each a name and a list of keys and values.
      type: list
      elements: list
    findings:
      description:
        - What is wrong or could be better; each with id, severity, text, remedy and variable.
      type: list
      elements: dict
    deadlines:
      description: Seconds allowed for start, stop and drain.
      type: dict
      sample: {"start_s": 2300, "stop_s": 650, "drain_s": 300}
    fingerprint:
      description: Engine, model and draft model in one string, kept in the unit's environment.
      type: str
    url:
      description: Where the host itself reaches the server.
      type: str
      sample: http://127.0.0.1:30000
    served_model_name:
      description: Name that clients ask for.
      type: str
      sample: kimi-k2.5
table:
  description: The capacity as lines of text, stable enough to compare.
  returned: success
  type: str
msg:
  description: The findings that refuse the plan, each with its remedy.
  returned: failure
  type: str
"""

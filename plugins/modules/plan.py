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
attributes:
  diff_mode:
    description: Returns the tiers of the running server and of the plan in diff mode.
    support: full
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
          description:
            - Bytes of one token on one rank, of the target and of the draft model, of index keys
              and of layers with a sliding window, and bytes of one recurrent state.
          type: dict
          sample: {"target": 70272, "draft": 4096}
        device:
          description:
            - KV pool in GPU memory. C(swa_tokens) are those of layers with a sliding window,
              C(state_slots) the recurrent states, both null where the model has none.
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
        requests:
          description:
            - Requests of RV(plan.capacity.requests.context_tokens) tokens that fit at once, on the
              device and in reach. None fits where the device pool is shorter than one.
          type: dict
          contains:
            context_tokens:
              description: Length that is counted with, C(sglang_plan_context_tokens).
              type: int
              sample: 32768
        gpus:
          description: Indexes of the GPUs that the ranks of this instance are given.
          type: list
          elements: int
          sample: [0, 1, 2, 3, 4, 5, 6, 7]
        ram:
          description:
            - RAM after the running instance is gone, what is kept free (reserve and headroom, the
              engine's own processes, other instances), and the limit that binds, in words.
          type: dict
        limits:
          description: Every bound on the host pools of this node, tightest first, in bytes.
          type: list
          elements: dict
        options:
          description:
            - Ways to more context, best first. How surely one starts counts most, then whether it
              keeps the precision of the KV cache, then the tokens in reach.
          type: list
          elements: dict
          contains:
            rank:
              description: Place in the list, from 1.
              type: int
              sample: 1
            title:
              description: What changes.
              type: str
              sample: HiCache, ratio 4.37
            device_tokens:
              description: Unique tokens on the GPUs, of all data-parallel copies.
              type: int
              sample: 159300
            tokens_in_reach:
              description: Unique tokens on the GPUs or in RAM, of all data-parallel copies.
              type: int
              sample: 696141
            factor:
              description: Tokens in reach for each token on the device now.
              type: float
              sample: 4.37
            requests:
              description: Requests of the stated context in reach.
              type: int
              sample: 21
            ram_bytes:
              description: RAM of the host pools of all ranks on this node.
              type: int
              sample: 414165506048
            ram_bytes_per_rank:
              description: RAM of the host pools of one rank.
              type: int
              sample: 51770688256
            certainty:
              description:
                - V(certain) when it starts in whatever order the ranks come; V(likely) when they
                  must come together, or when a part could not be measured or checked; else V(no).
              type: str
              sample: certain
            variables:
              description: The variables that select it.
              type: dict
              sample: {"sglang_hicache_mode": "auto"}
            arithmetic:
              description: Every step from tokens to bytes to the bounds, to check by hand.
              type: str
            costs:
              description: What it takes, one sentence each; what is only estimated says so.
              type: list
              elements: str
            note:
              description: What speaks against it, null when nothing does.
              type: str
    running:
      description:
        - The tiers of the running server in the same words as C(capacity), null when none is ready.
      type: dict
      sample: {"tokens": {"device": 159300, "in_reach": 159300}}
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
      description:
        - Seconds allowed for start, stop and drain, and for what a process held to become free.
      type: dict
      sample: {"start_s": 2300, "stop_s": 650, "drain_s": 300, "release_s": 174}
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
  description: The planned tiers as lines of text, stable enough to compare.
  returned: success
  type: str
  sample: "SGLang: 0.5.23\ndevice tier: 159,300 tokens\n"
diff:
  description:
    - The tiers of the running server and of the plan, as lines of text. The task changes nothing,
      so the default callback leaves it out; the filter P(llmops.sglang.tiers_report#filter) shows
      the same as a table.
  returned: in diff mode, when the plan gives the server other tiers than it has
  type: dict
msg:
  description: The findings that refuse the plan, each with its remedy.
  returned: failure
  type: str
"""

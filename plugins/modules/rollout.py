#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of an action plugin: the code runs on the controller, in plugins/action."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: The schedule and the summary of a rollout over many hosts
version_added: 0.1.0
description:
  - Looks at all hosts of a play at once, by what the role C(llmops.sglang.sglang_rollout) noted on
    each, and puts them into batches, or tells how each of them ended.
  - Before it makes batches it checks what only shows when hosts are seen together, ports and names
    that are taken twice on one host, workers that are the same to a router, different models and
    versions behind one router, routers that do not share all of their workers, and whether enough
    capacity can be left. What it finds is in RV(rollout.problems); it does not fail.
options:
  state:
    description: V(scheduled) makes the batches, V(summed_up) tells how far they have come.
    type: str
    choices: [scheduled, summed_up]
    required: true
  hosts:
    description: Names of all hosts of the play, those that failed included.
    type: list
    elements: str
    required: true
  serial:
    description:
      - Hosts in a batch, a number, a percentage of all hosts, or a list of them of which the last
        one is repeated.
    type: raw
    default: 1
  canary:
    description: Hosts in a batch of their own before all others; V(0) for none.
    type: int
    default: 1
  min_available:
    description: Workers that have to serve at any time, a number or a percentage of all.
    type: raw
    default: 0
  min_available_tokens:
    description: Tokens that have to be in reach at any time.
    type: int
    default: 0
  outside:
    description: Workers that are not part of this play. They are taken for serving ones.
    type: int
    default: 0
  mixed:
    description: What may differ between the workers of one router.
    type: list
    elements: str
    choices: [models, versions]
    default: []
  looked:
    description:
      - Boots of hosts as they were found since, results of M(ansible.builtin.slurp) for
        C(/proc/sys/kernel/random/boot_id) with the host's name as C(item).
    type: list
    elements: dict
    default: []
extends_documentation_fragment:
  - llmops.sglang._controller
"""

EXAMPLES = r"""
- name: Put the hosts into batches
  llmops.sglang.rollout:
    state: scheduled
    hosts: "{{ ansible_play_hosts_all }}"
    serial: [2, "25%"]
    min_available: 3
  run_once: true
  register: planned

- name: Show them
  llmops.sglang.show:
    text: "{{ planned.text }}"
  run_once: true
"""

RETURN = r"""
text:
  description: The same for a person, at most 80 columns where names allow it.
  returned: success
  type: str
rollout:
  description: The schedule, and how every host ended.
  returned: success
  type: dict
  contains:
    batches:
      description: Names of hosts with work, batch by batch.
      type: list
      elements: list
    canaries:
      description: How many of the batches are canaries.
      type: int
    order:
      description: Names of all hosts, those without work first.
      type: list
      elements: str
    sizes:
      description: The same as numbers of hosts, as the keyword C(serial) takes them.
      type: list
      elements: int
    floor:
      description: What has to be left at any time, C(workers) and C(tokens).
      type: dict
    outside:
      description: Workers that are not part of the play.
      type: int
    problems:
      description: Why nothing may be touched, one sentence each.
      type: list
      elements: str
    hosts:
      description:
        - By name, C(batch), C(work), which is V(nothing), V(prove), V(start) or V(restart),
          C(verdict) of the gate, C(blocked), C(changes), C(tokens_before), C(tokens_after); with
          O(state=summed_up) also C(outcome), C(message), C(failed), C(tokens_now) and C(seconds).
      type: dict
    failed:
      description: Names of hosts that did not end well.
      returned: with O(state=summed_up)
      type: list
      elements: str
    stops:
      description: Whether no further host may be touched.
      returned: with O(state=summed_up)
      type: bool
    finished:
      description: Whether every host is as wanted and proven.
      returned: with O(state=summed_up)
      type: bool
    check_mode:
      description: Whether this was check mode, which changes no host.
      returned: with O(state=summed_up)
      type: bool
    next:
      description: What to do now, for a person.
      returned: with O(state=summed_up)
      type: str
"""

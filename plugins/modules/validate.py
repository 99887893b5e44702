#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of an action plugin: the code runs on the controller, in plugins/action."""

from __future__ import annotations

DOCUMENTATION = r"""
module: validate
short_description: Check the variables of all roles of this collection at once
version_added: 0.1.0
description:
  - Compares variables with the argument specifications of the roles of this collection and names
    every wrong one in one error, before anything on a host is touched.
  - Unlike the roles' own validation, it notices names that no role knows, which are usually typing
    errors, and variables that exclude each other.
options:
  variables:
    description: Variables by their full names, secrets left out.
    type: dict
    required: true
extends_documentation_fragment:
  - llmops.sglang._controller
"""

EXAMPLES = r"""
- name: Check every variable before anything is touched
  llmops.sglang.validate:
    variables: "{{ dict(names | zip(query('ansible.builtin.vars', *names))) }}"
  vars:
    names: "{{ query('ansible.builtin.varnames', '^sglang_(?!(admin_)?api_key$)') }}"
"""

RETURN = r"""
msg:
  description: Every wrong variable with what is wrong about it.
  returned: failure
  type: str
"""

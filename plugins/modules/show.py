#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of an action plugin: the code runs on the controller, in plugins/action."""

from __future__ import annotations

DOCUMENTATION = r"""
module: show
short_description: Print a report as it is
version_added: 0.1.0
description:
  - Prints text of several lines to the screen and the log of the run, without quotes and escapes.
options:
  text:
    description: What to print. Nothing is printed when it is empty.
    type: str
    required: true
extends_documentation_fragment:
  - llmops.sglang._controller
"""

EXAMPLES = r"""
- name: Show what fits
  llmops.sglang.show:
    text: "{{ planned.plan | llmops.sglang.plan_report(inventory_hostname) }}"
"""

RETURN = r""" # """

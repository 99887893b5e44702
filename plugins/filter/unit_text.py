# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter llmops.sglang.unit_text: a unit as data in, the text of its file out."""

from __future__ import annotations

from typing import Any, Callable

from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.module_utils._render.systemd import (
    SystemdTextError,
    unit_text,
)

DOCUMENTATION = r"""
name: unit_text
author: The llmops.sglang contributors (@llmops)
version_added: 0.1.0
short_description: Write a systemd unit from structured data
description:
  - Turns the sections of a unit, as M(llmops.sglang.plan) returns them, into the text of the
    unit file.
  - Every value reaches the process as it is, whatever it holds. Spaces, quotes, C(%), C($),
    backslashes, line ends and JSON are quoted in the way systemd reads them.
  - A value that no unit file can carry, such as a NUL character, is an error.
positional: _input
options:
  _input:
    description:
      - A list of sections, each a list of a name and a list of settings, each of these a list of
        a key and a value.
      - The key C(#) makes a comment of its value.
      - Under a key that begins with C(Exec), a list is an argument vector. It is written with one
        flag a line.
      - Under any other key, a list holds words and a mapping holds C(NAME=value) assignments.
    type: list
    elements: list
    required: true
notes:
  - The filter decides nothing. What stands in the unit is decided by the plan.
"""

EXAMPLES = r"""
- name: Show a small unit
  ansible.builtin.debug:
    msg: "{{ sections | llmops.sglang.unit_text }}"
  vars:
    sections:
      - - Service
        - - - Environment
            - GREETING: two words
          - - ExecStart
            - - /usr/bin/printf
              - "%s\n"
              - --model
              - $HOME is not expanded

# [Service]
# Environment="GREETING=two words"
# ExecStart=/usr/bin/printf "%%s\n" \
#     --model "$$HOME is not expanded"
"""

RETURN = r"""
_value:
  description: The text of the unit file, ending in a line end.
  type: str
"""


def to_unit_text(sections: Any) -> str:
    """Return the text of a unit, or raise the error Ansible shows to a person."""
    try:
        return unit_text(sections)
    except (SystemdTextError, TypeError, ValueError, AttributeError) as error:
        raise AnsibleFilterError(f"llmops.sglang.unit_text: {error}") from error


class FilterModule:
    """Ansible looks for this name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters of this file."""
        return {"unit_text": to_unit_text}

#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: put a proven unit back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: restore
short_description: Put a proven unit of an instance back
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Writes a unit that was proven before to where systemd reads it, at once or not at all, and
    returns the plan it was made from.
  - Starts and stops nothing. In check mode it returns the plan, so that the gate can be asked
    before anything is written.
options:
  instance:
    description: Name of the instance.
    type: str
    required: true
  which:
    description:
      - V(last) is the unit of the last proof, V(previous) the newest proven one that differs from
        the unit written now, anything else an invocation by its identity.
    type: str
    default: last
attributes:
  check_mode:
    support: full
    description: Returns the same without writing the unit.
  diff_mode:
    support: full
    description: Shows the unit before and after.
  platform:
    support: full
    platforms: linux
    description: Writes to C(/etc/systemd/system).
seealso:
  - module: llmops.sglang.record
"""

EXAMPLES = r"""
- name: Look at what would come back
  llmops.sglang.restore:
    instance: kimi
    which: previous
  check_mode: true
  register: earlier

- name: Put it back
  llmops.sglang.restore:
    instance: kimi
    which: "{{ earlier.record.invocation_id }}"
"""

RETURN = r"""
plan:
  description: The plan of the unit, as M(llmops.sglang.plan) returned it.
  returned: success
  type: dict
record:
  description: The record of its proof, as M(llmops.sglang.prove) returned it.
  returned: success
  type: dict
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._layout import (
    proven_folder,
    unit_file,
    unit_name,
)
from ansible_collections.llmops.sglang.plugins.module_utils._record.files import write_whole
from ansible_collections.llmops.sglang.plugins.module_utils._record.proven import (
    NoneProven,
    Proven,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "instance": {"type": "str", "required": True},
            "which": {"type": "str", "default": "last"},
        },
        supports_check_mode=True,
    )
    instance, which = module.params["instance"], module.params["which"]
    target = Path(unit_file(instance))
    try:
        present = target.read_text(encoding="utf-8") if target.exists() else ""
        kept = Proven(Path(proven_folder(instance)), unit_name(instance)).find(which, present)
        changed = present != kept.unit_text
        if changed and not module.check_mode:
            write_whole(target, kept.unit_text, 0o644)
    except NoneProven as error:
        module.fail_json(msg=f"{unit_name(instance)}: {error}")
        return
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
        return
    diff = {
        "before": present,
        "after": kept.unit_text,
        "before_header": str(target),
        "after_header": f"{target}, proven {kept.record.get('at')}",
    }
    module.exit_json(changed=changed, plan=kept.plan, record=kept.record, diff=diff)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: write down how a change ended."""

from __future__ import annotations

DOCUMENTATION = r"""
module: record
short_description: Write down how a change of an instance ended
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Adds one JSON line to the diary of the instance, C(/var/log/llmops-sglang/<instance>.jsonl),
    with when, who, what and how it ended.
  - When the change was proven, also keeps the unit and its plan below
    C(/etc/sglang/<instance>/proven/), where a rollback finds them. The last ones are kept, older
    ones are removed.
  - Of each start that failed the role keeps an archive in C(/var/log/llmops-sglang/). The last
    three stay.
  - A crash in the middle leaves the record before this one.
options:
  instance:
    description: Name of the instance.
    type: str
    required: true
  outcome:
    description:
      - V(proven) when the server delivers what was planned, V(rolled_back) when the last proven
        unit is back, V(failed) when neither is the case.
    type: str
    choices: [proven, rolled_back, failed]
    required: true
  plan:
    description: The plan, as M(llmops.sglang.plan) returned it. Kept when it was proven.
    type: dict
  proof:
    description: RV(llmops.sglang.prove#module:record) of the proof.
    type: dict
  who:
    description: Who made the change, for the diary.
    type: str
    default: ""
  what:
    description:
      - What was changed, for the diary; RV(llmops.sglang.restart_gate#module:differences).
    type: list
    elements: dict
    default: []
  why:
    description: Why it failed, for the diary.
    type: str
    default: ""
  before:
    description: What was measured before the change, for the diary.
    type: dict
    default: {}
  restarted:
    description: Whether the server was restarted. Restarts count for the restart budget.
    type: bool
    default: true
  keep:
    description: How many proven units to keep.
    type: int
    default: 3
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: There is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Writes to the host of the server.
seealso:
  - module: llmops.sglang.prove
  - module: llmops.sglang.claim
"""

EXAMPLES = r"""
- name: Keep what was proven
  llmops.sglang.record:
    instance: kimi
    outcome: proven
    plan: "{{ plan }}"
    proof: "{{ proof.record }}"
    who: "{{ lookup('ansible.builtin.env', 'USER') }}"
    what: "{{ gate.differences }}"
"""

RETURN = r"""
note:
  description: The line that was added to the diary.
  returned: success
  type: dict
  sample:
    at: "2026-11-30T20:00:00Z"
    who: ops on admin-01 (process 4711)
    what:
      - {"kind": "argument", "name": "--hicache-ratio", "running": "4.0", "wanted": "4.37"}
    outcome: proven
    restarted: true
    before: {"device_tokens": 159300, "host_tokens": 637200}
    after: {"device_tokens": 159300, "host_tokens": 696141}
removed:
  description: Invocations whose units were removed, because newer ones are kept.
  returned: success
  type: list
  elements: str
"""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._layout import (
    notes_file,
    proven_folder,
    unit_file,
    unit_name,
)
from ansible_collections.llmops.sglang.plugins.module_utils._record.bundles import prune_bundles
from ansible_collections.llmops.sglang.plugins.module_utils._record.notes import add_note, stamp
from ansible_collections.llmops.sglang.plugins.module_utils._record.proven import Proven

_TELLING = ("invocation_id", "device_tokens", "host_tokens", "proofs")


def _note(params: dict[str, Any]) -> dict[str, Any]:
    proof = params["proof"] or {}
    note = {
        "at": stamp(datetime.now(timezone.utc)),
        "who": params["who"],
        "what": params["what"],
        "outcome": params["outcome"],
        "why": params["why"],
        "restarted": params["restarted"],
        "before": params["before"],
        "after": {name: proof[name] for name in _TELLING if name in proof},
    }
    return {name: value for name, value in note.items() if value not in ("", {}, [])}


def _keep(module: AnsibleModule, unit: Path) -> list[str]:
    """Keep the proven unit and drop the oldest; returns what was dropped."""
    params = module.params
    proven = Proven(Path(proven_folder(params["instance"])), unit_name(params["instance"]))
    proven.keep(params["proof"], params["plan"], unit.read_text(encoding="utf-8"))
    return proven.prune(max(1, params["keep"]))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "instance": {"type": "str", "required": True},
            "outcome": {
                "type": "str",
                "choices": ["proven", "rolled_back", "failed"],
                "required": True,
            },
            "plan": {"type": "dict"},
            "proof": {"type": "dict"},
            "who": {"type": "str", "default": ""},
            "what": {"type": "list", "elements": "dict", "default": []},
            "why": {"type": "str", "default": ""},
            "before": {"type": "dict", "default": {}},
            "restarted": {"type": "bool", "default": True},
            "keep": {"type": "int", "default": 3},
        },
        required_if=[("outcome", "proven", ("plan", "proof"))],
        supports_check_mode=True,
    )
    params = module.params
    if params["outcome"] == "proven" and not params["proof"].get("invocation_id"):
        module.fail_json(
            msg="proof: it has no invocation_id; it must come from llmops.sglang.prove"
        )
    note = _note(params)
    removed: list[str] = []
    if not module.check_mode:
        try:
            if params["outcome"] == "proven":
                removed = _keep(module, Path(unit_file(params["instance"])))
            diary = Path(notes_file(params["instance"]))
            add_note(diary, note)
            prune_bundles(diary.parent, params["instance"])
        except OSError as error:
            module.fail_json(msg=f"{error.filename}: {error.strerror}")
    module.exit_json(changed=True, note=note, removed=removed)


if __name__ == "__main__":
    main()

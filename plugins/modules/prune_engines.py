#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: remove installed engines that nothing needs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: prune_engines
short_description: Remove installed engines that nothing needs any more
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Role C(llmops.sglang.sglang_engine) installs every engine into a folder of its own. This module
    removes those that nothing needs, the oldest first, and what installations left that were cut
    off.
  - An engine is needed while a systemd unit or its drop-in names it, while a proven unit does that
    a rollback would bring back, and while a process runs from it. Such an engine is never removed.
  - Folders that the role did not make are left alone.
options:
  root:
    description: Folder that holds one folder per engine.
    type: path
    required: true
  current:
    description: An engine that stays in any case, since a unit is about to name it.
    type: path
  keep:
    description: How many engines that nothing needs stay as well, the newest ones.
    type: int
    default: 1
attributes:
  check_mode:
    support: full
    description: Says what would be removed.
  diff_mode:
    support: full
    description: Shows the engines before and after.
  platform:
    support: full
    platforms: linux
    description: Reads C(/proc) and systemd's folders; run it as root.
seealso:
  - module: llmops.sglang.record
"""

EXAMPLES = r"""
- name: Keep what is needed and one engine more
  llmops.sglang.prune_engines:
    root: /opt/sglang/engines

- name: See what nothing needs
  llmops.sglang.prune_engines:
    root: /opt/sglang/engines
    keep: 0
  check_mode: true
  diff: true
"""

RETURN = r"""
removed:
  description: Engines that were removed, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [/opt/sglang/engines/0.5.21-6f0c2a91]
kept:
  description: Engines that are left, each with the reason.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Folder of the engine.
      type: str
    version:
      description: SGLang version; V(null) for one that is not complete.
      type: str
    why:
      description: Who needs it, or that it is among the newest.
      type: str
  sample:
    - path: /opt/sglang/engines/0.5.23-2b7de014
      version: "0.5.23"
      why: process 4711
"""

import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._record.engines import (
    Engine,
    find_engines,
    needed_by,
    remove,
)


def _reasons(
    engines: list[Engine], needed: dict[Path, str], current: str | None, keep: int
) -> dict[Path, str]:
    """Why an engine stays, by path; `engines` come with the newest first."""
    reasons = dict(needed)
    if current:
        reasons.setdefault(Path(current), "it is the one to be used next")
    spare = [engine for engine in engines if engine.path not in reasons and engine.version]
    for engine in spare[:keep]:
        reasons[engine.path] = f"it is among the newest {keep} that nothing needs"
    return reasons


def _listing(engines: list[Engine]) -> str:
    lines = [f"{engine.path}  {engine.version or 'not complete'}\n" for engine in engines]
    return "".join(sorted(lines))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "required": True},
            "current": {"type": "path"},
            "keep": {"type": "int", "default": 1},
        },
        supports_check_mode=True,
    )
    folder, keep = module.params["root"], module.params["keep"]
    if keep < 0:
        module.fail_json(msg=f"keep (sglang_engine_keep) is {keep}: it must be 0 or more")
    if os.geteuid() != 0:
        module.fail_json(
            msg="only root can see which engines processes run from: become root (become: true)"
        )
    try:
        engines = find_engines(Path(folder))
        needed = needed_by(engines, Path("/"))
        reasons = _reasons(engines, needed, module.params["current"], keep)
        gone = [engine for engine in engines if engine.path not in reasons]
        if not module.check_mode:
            for engine in reversed(gone):
                remove(engine)
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
        return
    left = [engine for engine in engines if engine.path in reasons]
    module.exit_json(
        changed=bool(gone),
        removed=[str(engine.path) for engine in reversed(gone)],
        kept=[
            {"path": str(engine.path), "version": engine.version, "why": reasons[engine.path]}
            for engine in left
        ],
        diff={
            "before": _listing(engines),
            "after": _listing(left),
            "before_header": folder,
            "after_header": folder,
        },
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: weights that are there and whole."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weights
short_description: Have the weights of a model in their folder, whole
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Checks that no shard of the index is missing and that none is shorter than its own header says.
    It reads headers and a few blocks, never the weights, so 547 GB take a second.
  - Weights that are not whole are fetched when O(hub) or O(rsync) says from where. They arrive in
    the folder C(PATH.incoming), which gets its name when every file has the length that the origin
    tells and the check above passes. So half a download is never served.
  - Files that are sound in a folder that is not whole are not fetched again.
  - The download is a transient unit of systemd's. It goes on when the connection drops, and what
    has arrived stays when it is killed. The next run waits for it, or goes on where it ended.
  - Room on the disk is looked at first.
options:
  path:
    description: Folder of the weights, or one GGUF file, which is only checked.
    type: path
    required: true
  hub:
    description: A model on a hub, V(organisation/name).
    type: str
  revision:
    description:
      - Branch, tag or commit of O(hub). A branch is followed to its commit once, when the download
        starts.
    type: str
    default: main
  endpoint:
    description: Address of the hub, for a mirror. Without it, the client's own.
    type: str
  token_file:
    description: File on the host that holds the token for the hub and nothing else.
    type: path
  python:
    description:
      - Interpreter of an environment that has C(huggingface_hub), with its command C(hf) beside it.
        Needed for O(hub).
    type: path
  rsync:
    description:
      - A folder as rsync names it, for example V(gpu-02:/models/Kimi-K2.5),
        V(rsync://gpu-02/models/Kimi-K2.5) or V(/mnt/share/Kimi-K2.5). Over SSH nobody is asked for
        a password.
    type: str
  exclude:
    description: Patterns of files that are not wanted, for example V(original/*).
    type: list
    elements: str
    default: []
  offline:
    description: Fetch nothing; refuse weights that are not whole.
    type: bool
    default: false
  reserve_bytes:
    description: Room that must stay free on the file system.
    type: int
    default: 10737418240
  stall_s:
    description: Seconds without a byte after which the download is given up.
    type: int
    default: 600
  wait_s:
    description: Seconds after which to return in the middle of a download, with RV(waiting) true.
    type: int
  progress:
    description: RV(progress) of the call before. Filled in by the action plugin.
    type: dict
attributes:
  check_mode:
    support: full
    description: Says what would be fetched, without asking the origin.
  diff_mode:
    support: none
    description: There is nothing to compare.
  action:
    support: full
    description: Shows how far a download has come.
  platform:
    support: full
    platforms: linux
    description: Needs systemd for a download.
seealso:
  - module: llmops.sglang.host_facts
"""

EXAMPLES = r"""
- name: Refuse weights that are not whole
  llmops.sglang.weights:
    path: /models/Kimi-K2.5

- name: Copy them from another host
  llmops.sglang.weights:
    path: /models/Kimi-K2.5
    rsync: gpu-02:/models/Kimi-K2.5

- name: Fetch them from the hub
  llmops.sglang.weights:
    path: /models/Kimi-K2.5
    hub: moonshotai/Kimi-K2.5
    revision: main
    token_file: /etc/sglang/hub-token
    python: /opt/sglang/hub/bin/python
"""

RETURN = r"""
path:
  description: The folder.
  returned: always
  type: str
present:
  description: Whether there is a model at all.
  returned: always
  type: bool
weights_bytes:
  description: Bytes of all weight files; V(null) when not all are there and no index tells.
  returned: always
  type: int
weights_files:
  description: How many weight files there must be.
  returned: always
  type: int
waiting:
  description: Whether the download goes on.
  returned: always
  type: bool
progress:
  description:
    - How far it has come, with C(arrived_bytes), C(total_bytes), C(revision), C(sizes) by file,
      C(moved_at_s) of this host's clock when the last byte came, and C(refetched), whether a file
      was.
  returned: when something is fetched
  type: dict
text:
  description: The same for a person.
  returned: always
  type: str
  sample: "/models/Kimi-K2.5: 64 weight files, 547.0 GB, whole"
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._fetch.fetching import Refusal, have
from ansible_collections.llmops.sglang.plugins.module_utils._fetch.job import JobError
from ansible_collections.llmops.sglang.plugins.module_utils._fetch.origin import (
    Hub,
    Origin,
    OriginError,
    Rsync,
)
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitError


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "hub": {"type": "str"},
            "revision": {"type": "str", "default": "main"},
            "endpoint": {"type": "str"},
            "token_file": {"type": "path", "no_log": False},
            "python": {"type": "path"},
            "rsync": {"type": "str"},
            "exclude": {"type": "list", "elements": "str", "default": []},
            "offline": {"type": "bool", "default": False},
            "reserve_bytes": {"type": "int", "default": 10 << 30},
            "stall_s": {"type": "int", "default": 600},
            "wait_s": {"type": "int"},
            "progress": {"type": "dict"},
        },
        mutually_exclusive=[("hub", "rsync")],
        required_by={"hub": ["python"]},
        supports_check_mode=True,
    )
    params = module.params
    path = params["path"].rstrip("/")
    try:
        result = have(path, origin_of(params), params, module.check_mode)
    except (Refusal, OriginError, JobError, UnitError) as error:
        module.fail_json(msg=f"{path}: {error}")
        return
    except OSError as error:
        module.fail_json(msg=f"{error.filename or path}: {error.strerror}")
        return
    module.exit_json(path=path, **result)


def origin_of(params: dict[str, Any]) -> Origin | None:
    """Where missing weights come from, if anybody said."""
    exclude = tuple(params["exclude"])
    if params["rsync"]:
        return Rsync(params["rsync"], exclude)
    if not params["hub"]:
        return None
    return Hub(
        params["hub"],
        params["revision"],
        params["python"],
        exclude,
        params["endpoint"] or "",
        params["token_file"] or "",
    )


if __name__ == "__main__":
    main()

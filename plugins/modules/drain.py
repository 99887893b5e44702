#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: wait until a server has no request in flight."""

from __future__ import annotations

DOCUMENTATION = r"""
module: drain
short_description: Waits until an SGLang server has no request in flight
version_added: 0.1.0
description:
  - Asks the server once a second how many requests are running and waiting, until there are none
    or the bound is reached. Take it out of the router first, since the server itself keeps
    accepting requests.
  - The endpoint depends on the engine's version. The newest one is tried first, then the older
    ones.
  - A server that does not answer has nothing to drain, which is a success with a reason.
options:
  url:
    description:
      - Address of the server as the host itself reaches it.
    type: str
    required: true
  secrets_file:
    description:
      - File on the host with the server's keys, a JSON mapping with C(api-key) and
        C(admin-api-key). A file that does not exist means that the server has no keys.
    type: path
  timeout_s:
    description:
      - Longest time to wait for the last request, in seconds.
    type: int
    default: 300
  at_bound:
    description:
      - What to do with requests that are still in flight after O(timeout_s).
      - V(refuse) fails and leaves the server as it is.
      - V(abort) tells the server to abort them, and says how many there were.
    type: str
    choices: [refuse, abort]
    default: refuse
  engine_version:
    description:
      - Version of the running engine, so that only endpoints are asked that it has.
    type: str
attributes:
  check_mode:
    support: full
    description: Asks once how many requests are in flight, and neither waits nor aborts.
  diff_mode:
    support: none
    description: There is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Runs on the host of the server.
seealso:
  - module: llmops.sglang.restart_gate
  - module: llmops.sglang.prove
author:
  - the llmops.sglang contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Wait for the last request, at most ten minutes
  llmops.sglang.drain:
    url: http://127.0.0.1:30000
    secrets_file: /etc/sglang/kimi/secrets.yaml
    timeout_s: 600

- name: Cut what is still running after a minute
  llmops.sglang.drain:
    url: http://127.0.0.1:30000
    timeout_s: 60
    at_bound: abort
"""

RETURN = r"""
drained:
  description: Whether no request is in flight. In check mode, whether none was.
  returned: always
  type: bool
in_flight:
  description:
    - Running and waiting requests at the last look; V(null) when they could not be counted.
  returned: always
  type: int
  sample: 0
first_in_flight:
  description: Running and waiting requests at the first look.
  returned: always
  type: int
  sample: 3
aborted:
  description: How many requests were aborted at the bound.
  returned: always
  type: int
  sample: 0
waited_s:
  description: How long it took, in seconds.
  returned: always
  type: float
  sample: 12.0
endpoint:
  description: The path that told the numbers; V(null) when none did.
  returned: always
  type: str
  sample: /v1/loads
reason:
  description: Why there was nothing to wait for, if so.
  returned: always
  type: str
text:
  description: The same for a person.
  returned: always
  type: str
  sample: "drain: 3 in flight, none left after 12 s"
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import Version
from ansible_collections.llmops.sglang.plugins.module_utils._gate.drain import (
    Drain,
    DrainError,
)
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import (
    Client,
    read_keys,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "secrets_file": {"type": "path", "no_log": False},
            "timeout_s": {"type": "int", "default": 300},
            "at_bound": {"type": "str", "choices": ["refuse", "abort"], "default": "refuse"},
            "engine_version": {"type": "str"},
        },
        supports_check_mode=True,
    )
    text = module.params["engine_version"]
    try:
        client = Client(module.params["url"], read_keys(module.params["secrets_file"]))
        version = Version.parse(text) if text else None
    except ValueError as error:
        module.fail_json(msg=str(error))
    drain = Drain(client, version)
    try:
        if module.check_mode:
            drain.look()
        else:
            drain.wait(module.params["timeout_s"], abort=module.params["at_bound"] == "abort")
    except DrainError as error:
        module.fail_json(msg=str(error), **drain.as_dict())
    module.exit_json(changed=drain.aborted > 0, **drain.as_dict())


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: watch a proven server under requests."""

from __future__ import annotations

DOCUMENTATION = r"""
module: soak
short_description: Watch a proven SGLang server under requests for a while
version_added: 0.1.0
author:
  - the llmops.sglang contributors (!UNKNOWN)
description:
  - Asks the server one request after the other, some of them twice, and fails at the first one that
    is not answered, when the server ended or was started anew, when the host was rebooted, or when
    the server's own memory keeps growing.
  - Some faults show only after a hundred requests or some minutes, long after a proof.
  - With neither O(requests) nor O(minutes) it only looks whether the boot and the process are the
    expected ones.
  - Where the connection is lost it waits for the host to come back, and then tells what became of
    it. The action plugin does so.
options:
  unit:
    description: Name of the systemd unit.
    type: str
    required: true
  url:
    description: Address of the server as the host itself reaches it.
    type: str
    required: true
  secrets_file:
    description: File on the host with the server's keys. Without it, or without that file, no keys.
    type: path
  requests:
    description: How many requests have to be answered.
    type: int
    default: 160
  minutes:
    description: How long to watch at least. Requests go on until then, one a second.
    type: float
    default: 0
  slope_mib_per_minute:
    description:
      - How fast the server's own memory may grow, after a third of the time. V(0) allows anything.
      - Not judged in less than a minute; RV(slope_bytes_per_minute) is V(null) then.
    type: float
    default: 64
  boot_id:
    description:
      - Boot that the host has to be in, as M(llmops.sglang.host_facts) tells it in C(boot_id).
    type: str
  invocation_id:
    description: Invocation of the unit that was proven.
    type: str
  reconnect_s:
    description: How long to wait for a host whose connection was lost.
    type: int
    default: 900
  wait_s:
    description:
      - How long one part lasts. The action plugin goes on until it is over and shows how far it is;
        with a value given here it makes one part and returns RV(waiting).
    type: float
  progress:
    description: RV(progress) of the part before. Filled in by the action plugin.
    type: dict
attributes:
  check_mode:
    support: full
    description: Asks nothing.
  diff_mode:
    support: none
    description: There is nothing to compare.
  platform:
    support: full
    platforms: linux
    description: Runs on the host of the server.
seealso:
  - module: llmops.sglang.prove
"""

EXAMPLES = r"""
- name: Let it answer for ten minutes
  llmops.sglang.soak:
    unit: sglang-kimi.service
    url: http://127.0.0.1:30000
    secrets_file: /etc/sglang/kimi/secrets.yaml
    minutes: 10
    boot_id: "{{ ansible_facts['sglang'].boot_id }}"
"""

RETURN = r"""
text:
  description: The result in one sentence.
  returned: success
  type: str
  sample: "soaked: 160 requests in 61 s, no error, slowest 0.4 s; memory +0.2 MiB/min"
waiting:
  description: Whether a part ended before the soak did.
  returned: when that is so
  type: bool
progress:
  description:
    - How far it has come, with C(asked), C(seconds), C(slowest_s) and C(samples) of the server's
      memory.
  returned: always
  type: dict
slope_bytes_per_minute:
  description: Growth of the server's own memory; V(null) when it was watched for too short a time.
  returned: success
  type: float
"""

from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._gate.unit import UnitState, read_unit
from ansible_collections.llmops.sglang.plugins.module_utils._probe.cgroup import MemoryGroup
from ansible_collections.llmops.sglang.plugins.module_utils._probe.held import read_held
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import Client, read_keys
from ansible_collections.llmops.sglang.plugins.module_utils._prove.soak import (
    Host,
    Progress,
    Soak,
    SoakFailed,
    Wish,
)

_PART_S = 20.0
_MIB = 2**20


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except OSError:
        return None


def _memory_of(unit: str, state: UnitState) -> int | None:
    """What the server's processes have of their own: host pools never grow, caches do not count."""
    source = Live()
    held = read_held(source, MemoryGroup(source, unit, {}, state.main_pid))
    size = held["rss_bytes"]
    return size if isinstance(size, int) else None


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "url": {"type": "str", "required": True},
            "secrets_file": {"type": "path", "no_log": False},
            "requests": {"type": "int", "default": 160},
            "minutes": {"type": "float", "default": 0},
            "slope_mib_per_minute": {"type": "float", "default": 64},
            "boot_id": {"type": "str"},
            "invocation_id": {"type": "str"},
            "reconnect_s": {"type": "int", "default": 900},
            "wait_s": {"type": "float"},
            "progress": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, skipped=True, msg="check mode asks nothing")
    try:
        client = Client(params["url"], read_keys(params["secrets_file"]))
    except ValueError as error:
        module.fail_json(msg=str(error))
        return
    host = Host(
        unit=lambda: read_unit(params["unit"]),
        boot_id=_boot_id,
        memory_bytes=lambda state: _memory_of(params["unit"], state),
    )
    wish = Wish(
        requests=params["requests"],
        seconds=60 * params["minutes"],
        slope_bytes_per_minute=params["slope_mib_per_minute"] * _MIB,
        boot_id=params["boot_id"],
        invocation_id=params["invocation_id"],
    )
    soak = Soak(client, host, wish, Progress.of(params["progress"]))
    try:
        over = soak.run(_PART_S if params["wait_s"] is None else params["wait_s"])
    except SoakFailed as error:
        module.fail_json(msg=f"{params['unit']}: {error}", progress=asdict(soak.progress))
        return
    if not over:
        module.exit_json(changed=False, waiting=True, progress=asdict(soak.progress))
    module.exit_json(
        changed=False,
        text=soak.text(),
        progress=asdict(soak.progress),
        slope_bytes_per_minute=soak.progress.slope(),
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible module: the workers of one or several routers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: router_workers
short_description: Keeps the workers behind one or several sglang-routers
version_added: 0.1.0
description:
  - Adds workers to routers, changes them and takes them out, and returns when every router really
    does so. A router answers an order at once and carries it out later, or never; so its list is
    what counts.
  - A worker is known by its address. The ids that a router gives are looked up.
  - Before a worker is added it is asked itself whether it takes requests, with its key. A router
    goes on trying an address where nobody answers, and cannot be told to stop.
  - A worker that is taken out gets no new requests. Those in flight end, and are waited for. They
    are counted by the worker, since a router counts only some of its own.
  - Run it where both routers and workers can be reached, for example delegated to a router's host.
  - For sglang-router 0.3.
options:
  routers:
    description:
      - Addresses of all routers in front of the workers. Each is looked at before anything is
        changed, and each has to agree.
    type: list
    elements: str
    required: true
  api_key_file:
    description:
      - File with the key for the routers, the one of an admin where they have control-plane keys.
      - It holds the key and nothing else, or a JSON mapping with C(api-key), as
        C(/etc/sglang/INSTANCE/secrets.yaml) does.
    type: path
  api_key:
    description: The same key as a value.
    type: str
  workers:
    description: The workers. None of them is fine with O(state=only), which then empties the list.
    type: list
    elements: dict
    default: []
    suboptions:
      url:
        description: Address as the routers reach it.
        type: str
        required: true
      model_id:
        description: Name of the model that the router shall know it by. Without it, the worker's.
        type: str
      worker_type:
        description: Its part, where prefill and decode are done by different workers.
        type: str
        choices: [regular, prefill, decode]
        default: regular
      bootstrap_port:
        description: Port of the bootstrap server of a prefill worker.
        type: int
      priority:
        description: Its priority. The router's own default is 50.
        type: int
      cost:
        description: Its cost. The router's own default is 1.
        type: float
      labels:
        description:
          - Words to go with it, for example a zone. A router only adds to them, so a label that is
            not named here stays until the worker is taken out.
        type: dict
        default: {}
      api_key_file:
        description:
          - File with the worker's key, in one of the two forms of O(api_key_file).
        type: path
      api_key:
        description: The same key as a value.
        type: str
  worker_api_key_file:
    description:
      - File with the key of all workers that are given none, in one of the two forms of
        O(api_key_file).
    type: path
  worker_api_key:
    description: The same key as a value.
    type: str
  state:
    description:
      - V(present) has O(workers) behind every router, healthy, and leaves others alone.
      - V(absent) has none of them behind any router, and no request in flight on them.
      - V(only) does both, with V(absent) for all others.
    type: str
    choices: [present, absent, only]
    default: present
  timeout_s:
    description:
      - Longest time until all routers see what was ordered, in seconds. With V(present), the time
        that a worker needs to get ready counts.
    type: int
    default: 60
  drain_timeout_s:
    description:
      - Longest time to wait for the last request of workers that were taken out, in seconds. With
        V(0) nobody waits.
    type: int
    default: 300
  drain_at_bound:
    description:
      - What to do with workers that still have requests after O(drain_timeout_s).
      - V(refuse) puts them back and fails.
      - V(go_on) leaves them out and says how many there are.
    type: str
    choices: [refuse, go_on]
    default: refuse
  min_healthy:
    description:
      - How many healthy workers of the same type must be left behind each router. Fewer is an error
        before anything is changed.
    type: int
    default: 0
  hand_over_keys:
    description:
      - Tell the routers the key of workers that they have already. A router tells nobody which key
        it has, so this is always a change. Set it when a key was replaced.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Looks at the routers and asks no worker.
  diff_mode:
    support: full
    description: Shows each router's list before and after.
  platform:
    support: full
    platforms: linux
    description: Needs nothing but a network.
seealso:
  - module: llmops.sglang.drain
  - name: SGLang router
    description: The router's own documentation.
    link: https://docs.sglang.ai/advanced_features/router.html
author:
  - the llmops.sglang contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Take this host out of both routers and wait for its last request
  llmops.sglang.router_workers:
    routers: [http://router-01:30000, http://router-02:30000]
    api_key_file: /etc/sglang-router/front/admin-key
    worker_api_key_file: /etc/sglang-router/front/worker-key
    workers:
      - url: "http://{{ inventory_hostname }}:30000"
    state: absent
    min_healthy: 2
    drain_timeout_s: 600
  delegate_to: router-01

- name: Put it back and wait until both routers send it requests
  llmops.sglang.router_workers:
    routers: [http://router-01:30000, http://router-02:30000]
    api_key_file: /etc/sglang-router/front/admin-key
    worker_api_key_file: /etc/sglang-router/front/worker-key
    workers:
      - url: "http://{{ inventory_hostname }}:30000"
        priority: 70
        labels:
          zone: a
  delegate_to: router-01

- name: Have these two behind the router and nothing else
  llmops.sglang.router_workers:
    routers: [http://127.0.0.1:30000]
    workers:
      - url: http://gpu-01:30000
      - url: http://gpu-02:30000
    state: only

- name: One worker for prefill and one for decode
  llmops.sglang.router_workers:
    routers: [http://127.0.0.1:30000]
    workers:
      - url: http://gpu-01:30000
        worker_type: prefill
        bootstrap_port: 8998
      - url: http://gpu-02:30000
        worker_type: decode
"""

RETURN = r"""
routers:
  description: Each router and what it says of its workers at the end. In check mode, at the start.
  returned: when every router could be asked
  type: list
  elements: dict
  contains:
    url:
      description: Its address.
      type: str
    added:
      description: Workers that were added, or added anew since something fixed in them changed.
      type: list
      elements: str
    updated:
      description: Workers that were changed.
      type: list
      elements: str
    removed:
      description: Workers that were taken out.
      type: list
      elements: str
    workers:
      description:
        - What it has on its list, each with C(url), C(healthy), C(model_id), C(worker_type),
          C(bootstrap_port), C(priority) and C(cost).
      type: list
      elements: dict
leaving:
  description: Workers that are out, and what was left of their requests.
  returned: always
  type: list
  elements: dict
  contains:
    url:
      description: Its address.
      type: str
    in_flight:
      description: Its requests at the last look; V(null) when they could not be counted.
      type: int
    first_in_flight:
      description: Its requests at the first look.
      type: int
    waited_s:
      description: How long they were waited for, in seconds.
      type: float
    reason:
      description: Why there was nothing to wait for, if so.
      type: str
waited_s:
  description: How long it took in all, in seconds.
  returned: always
  type: float
text:
  description: The same for a person.
  returned: when every router could be asked
  type: str
  sample: "router http://router-01:30000: 1 added, 3 of 3 workers healthy"
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils._keys import Keys
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import Client
from ansible_collections.llmops.sglang.plugins.module_utils._route.key import read_key
from ansible_collections.llmops.sglang.plugins.module_utils._route.report import as_result
from ansible_collections.llmops.sglang.plugins.module_utils._route.router import Router
from ansible_collections.llmops.sglang.plugins.module_utils._route.settle import Settling, Wish
from ansible_collections.llmops.sglang.plugins.module_utils._route.worker import (
    RouteError,
    Wanted,
    normal_url,
)

WORKER = {
    "url": {"type": "str", "required": True},
    "model_id": {"type": "str"},
    "worker_type": {
        "type": "str",
        "choices": ["regular", "prefill", "decode"],
        "default": "regular",
    },
    "bootstrap_port": {"type": "int"},
    "priority": {"type": "int"},
    "cost": {"type": "float"},
    "labels": {"type": "dict", "default": {}},
    "api_key_file": {"type": "path", "no_log": False},
    "api_key": {"type": "str", "no_log": True},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "routers": {"type": "list", "elements": "str", "required": True},
            "api_key_file": {"type": "path", "no_log": False},
            "api_key": {"type": "str", "no_log": True},
            "workers": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": WORKER,
                "mutually_exclusive": [("api_key_file", "api_key")],
            },
            "worker_api_key_file": {"type": "path", "no_log": False},
            "worker_api_key": {"type": "str", "no_log": True},
            "state": {
                "type": "str",
                "choices": ["present", "absent", "only"],
                "default": "present",
            },
            "timeout_s": {"type": "int", "default": 60},
            "drain_timeout_s": {"type": "int", "default": 300},
            "drain_at_bound": {"type": "str", "choices": ["refuse", "go_on"], "default": "refuse"},
            "min_healthy": {"type": "int", "default": 0},
            "hand_over_keys": {"type": "bool", "default": False, "no_log": False},
        },
        mutually_exclusive=[
            ("api_key_file", "api_key"),
            ("worker_api_key_file", "worker_api_key"),
        ],
        supports_check_mode=True,
    )
    begun = time.monotonic()
    try:
        routers, wish = read(module)
    except RouteError as error:
        module.fail_json(msg=str(error))
        return
    settling = Settling(routers, wish)
    problem = None
    try:
        settling.look()
        if not module.check_mode:
            settling.run()
    except RouteError as error:
        problem = str(error)
    result = {
        **as_result(settling, wish.workers),
        "changed": settling.needed if module.check_mode else settling.changed,
        "waited_s": round(time.monotonic() - begun, 1),
    }
    if problem:
        module.fail_json(msg=problem, **result)
    module.exit_json(**result)


def read(module: AnsibleModule) -> tuple[list[Router], Wish]:
    """The routers and what is wanted of them. Raises RouteError for what makes no sense."""
    params = module.params
    key = key_of(module, params, "api_key")
    other_key = key_of(module, params, "worker_api_key")
    urls = [normal_url(url, "router") for url in params["routers"]]
    if not urls:
        raise RouteError("routers is empty: name at least one router")
    workers = [wanted(module, worker, other_key) for worker in params["workers"]]
    for what, listed in (("routers", urls), ("workers", [worker.url for worker in workers])):
        twice = sorted({url for url in listed if listed.count(url) > 1})
        if twice:
            raise RouteError(f"{what} names {', '.join(twice)} more than once")
    return [Router(url, Client(url, Keys(key))) for url in urls], Wish(
        workers,
        state=params["state"],
        timeout_s=params["timeout_s"],
        drain_timeout_s=params["drain_timeout_s"],
        refuse_at_bound=params["drain_at_bound"] == "refuse",
        min_healthy=params["min_healthy"],
        hand_over_keys=params["hand_over_keys"],
        other_key=other_key,
    )


def wanted(module: AnsibleModule, worker: dict[str, Any], other_key: str | None) -> Wanted:
    """One worker as the task names it."""
    url = normal_url(worker["url"], "worker")
    if worker["bootstrap_port"] is not None and worker["worker_type"] != "prefill":
        raise RouteError(f"worker {url}: only a prefill worker has a bootstrap_port")
    return Wanted(
        url,
        model_id=worker["model_id"],
        worker_type=worker["worker_type"],
        bootstrap_port=worker["bootstrap_port"],
        priority=worker["priority"],
        cost=worker["cost"],
        labels={str(name): str(value) for name, value in worker["labels"].items()},
        key=key_of(module, worker, "api_key") or other_key,
    )


def key_of(module: AnsibleModule, params: dict[str, Any], name: str) -> str | None:
    """A key as a value or from its file; whatever the module prints, it is not among it."""
    key = read_key(params[f"{name}_file"], params[name], f"{name}_file")
    if key:
        module.no_log_values.add(key)
    return key


if __name__ == "__main__":
    main()

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which other instances on a host count, and how much RAM each holds or will hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.neighbours import (
    read_neighbours,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import record

OWN = "sglang-kimi.service"
UNITS = "etc/systemd/system"
WANTS = f"{UNITS}/multi-user.target.wants"
GROUP = "sys/fs/cgroup/system.slice/sglang-coder.service"
TIERED = "[Service]\nExecStart=/opt/e/bin/python -m sglang.launch_server \\\n  {flag}\n"


def unit(flag: str = "--enable-hierarchical-cache") -> dict[str, str]:
    return {f"{UNITS}/sglang-coder.service": TIERED.format(flag=flag)}


def proof(bytes_node: int) -> dict[str, str]:
    plan = {"capacity": {"host": {"bytes_node": bytes_node}}}
    return {
        "etc/sglang/coder/proven/current.json": json.dumps({"invocation_id": "f00"}),
        "etc/sglang/coder/proven/f00/plan.json": json.dumps(plan),
    }


RUNS = {
    "sys/fs/cgroup/cgroup.controllers": "memory",
    f"{GROUP}/memory.stat": "anon 300\nshmem 7000\n",
}


def test_a_running_neighbour_tells_what_it_holds_and_was_planned_to(tmp_path: Path) -> None:
    files = {**unit(), **RUNS, **proof(9000), f"{UNITS}/{OWN}": TIERED, f"{UNITS}/ssh.service": ""}
    assert read_neighbours(record(tmp_path, files), OWN) == [
        {
            "unit": "sglang-coder.service",
            "running": True,
            "shmem_bytes": 7000,
            "rss_bytes": 300,
            "host_bytes": 9000,
        }
    ]


def test_a_stopped_one_counts_when_the_next_boot_starts_it(tmp_path: Path) -> None:
    files = {**unit("--enable-hicache"), **proof(9000), f"{WANTS}/sglang-coder.service": ""}
    (found,) = read_neighbours(record(tmp_path, files), OWN)
    assert (found["running"], found["shmem_bytes"], found["host_bytes"]) == (False, None, 9000)


@pytest.mark.parametrize(
    "files",
    [
        unit(),
        {**unit("--tp-size 8"), **RUNS},
        {f"{UNITS}/{OWN}": TIERED, f"{WANTS}/{OWN}": ""},
    ],
    ids=["neither running nor enabled", "without a host pool", "the instance itself"],
)
def test_what_will_hold_nothing_is_not_told(tmp_path: Path, files: dict[str, str]) -> None:
    assert read_neighbours(record(tmp_path, files), OWN) == []


@pytest.mark.parametrize("broken", ["", "[]", '{"invocation_id": "f00"}'])
def test_a_neighbour_that_was_never_proven_has_no_size(tmp_path: Path, broken: str) -> None:
    files = {**unit(), **RUNS, "etc/sglang/coder/proven/current.json": broken}
    assert read_neighbours(record(tmp_path, files), OWN)[0]["host_bytes"] is None

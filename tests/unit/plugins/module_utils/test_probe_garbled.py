# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a host says, cut, shuffled or spoilt, no part of the facts is lost to an error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import bundle
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    PARTS,
    Request,
    open_source,
    take_snapshot,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    RECORDINGS,
    record,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# A recorded host, and the files in it that one reader each reads; more of the kind are named alike.
READ = {
    "headline": (
        "commands/journal.log",
        "commands/nvidia-smi.csv",
        "commands/nvidia-smi-apps.csv",
        "commands/nvidia-smi-topo.txt",
        "commands/systemctl-show.txt",
        "http/server_info.json",
        "http/loads.json",
        "engine.json",
        "model/config.json",
        "model/model.safetensors.index.json",
        "model/files.json",
        "draft/config.json",
        "etc/sglang/kimi/proven/current.json",
        "proc/41001/cmdline",
        "proc/meminfo",
        "proc/uptime",
        "taken_at",
    ),
    "h200-nvlink": ("commands/nvml.json", "http/metrics.txt", "proc/7001/cgroup"),
    "lost-gpu": ("commands/dmesg.txt", "commands/nvidia-smi-others.csv"),
    "odd-gpus": ("commands/nvml.json", "commands/dmesg.txt"),
}
CRASH = (
    '{"outcome": "crashed", "at": "2026-11-30T19:00:00Z", "invocation_id": "a", '
    '"result": "exit-code", "status": "1"}\n'
)
# What no recorded host of the tree has, and what stands in it on a host that does.
ADDED = {
    "meta.json": '{"taken_at": "2026-11-30T20:00:00Z", "request": {"instance": "kimi"}, '
    '"failures": {"kernel.log": {"status": 1, "reason": null}}}',
    "var/log/llmops-sglang/kimi.jsonl": "",
    "commands/crashes.txt": "1\n" + CRASH + CRASH,
    "commands/journal-crash.log": "RuntimeError: CUDA error: GPU is lost\n",
    "commands/nvidia-smi-rows.csv": "gpu_uuid, remapped_rows.pending\nGPU-1, 0\n",
    "commands/nvidia-smi-list.txt": "GPU 0: A (UUID: GPU-1)\n  MIG 1g Device 0: (UUID: MIG-1)\n",
    "commands/systemctl-slices.txt": "Id=a.slice\nMemoryMax=1\nMemoryHigh=infinity\n",
    "commands/getconf-glibc.txt": "glibc 2.36\n",
    "http/get_load.json": '[{"num_reqs": 1, "num_waiting_reqs": 0, "num_tokens": 1}]',
    "model/shards.json": '{"a.safetensors": [1, 2, 3]}',
    "model/storage.json": '{"real_path": "/m", "free_bytes": 1, "total_bytes": 2}',
    "proc/mounts": "/dev/sda1 / ext4 rw 0 0\n",
    "proc/self/mountinfo": "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "proc/swaps": "Filename Type Size Used Priority\n/dev/zram0 partition 9 0 1\n",
    "proc/41001/limits": "Max locked memory  65536  65536  bytes\n",
    "proc/41001/cgroup": "0::/system.slice/sglang-kimi.service\n",
    "sys/fs/cgroup/cgroup.controllers": "memory\n",
    "sys/fs/cgroup/system.slice/sglang-kimi.service/memory.stat": "anon 1\nshmem 2\n",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 1 kB\n",
    "etc/systemd/system/sglang-other.service": "ExecStart=x --enable-hierarchical-cache\n",
    "etc/systemd/system/multi-user.target.wants/sglang-other.service": "",
    "etc/sglang/other/proven/current.json": '{"invocation_id": "a"}',
    "etc/sglang/other/proven/a/plan.json": '{"capacity": {"host": {"bytes_node": 1}}}',
}


HOSTS = [(host, name) for host, names in READ.items() for name in (*names, *ADDED)]
TOKEN = re.compile(r'-?[0-9]+(?:\.[0-9]+)?|"[^"]*"')
ODD = (
    *("", "null", "true", "-1", "0", "9" * 30, "1e999", "NaN", "[]", "{}", '"x"', '[1, "x", null]'),
    *("²", "\x00", "\x1b[31m", "\r", "\n", ",", "=", "/..", "[N/A]", '{"unknown": 5}'),
)
POSITION = st.integers(0, 40_000)


def cut(text: str, first: int, second: int) -> str:
    """A piece of the text."""
    return text[first % (len(text) + 1) :][: second % (len(text) + 1)]


def spoilt(text: str, first: int, second: int) -> str:
    """The text with something odd in the place of one character."""
    place = first % (len(text) + 1)
    return text[:place] + ODD[second % len(ODD)] + text[place + 1 :]


def replaced(text: str, first: int, second: int) -> str:
    """The text with something odd in the place of one number or one quotation."""
    tokens = [*TOKEN.finditer(text)]
    if not tokens:
        return ODD[second % len(ODD)]
    token = tokens[first % len(tokens)]
    return text[: token.start()] + ODD[second % len(ODD)] + text[token.end() :]


def shuffled(text: str, first: int, second: int) -> str:
    """The lines in another order, one of them twice."""
    lines = text.splitlines(keepends=True) or [""]
    Random(first).shuffle(lines)
    return "".join([*lines, lines[second % len(lines)]])


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the recorded hosts with all that a host may have."""
    folder = tmp_path_factory.mktemp("hosts")
    for host in READ:
        record(folder / host, ADDED)
        shutil.copytree(RECORDINGS / host, folder / host, dirs_exist_ok=True)
    return folder


def test_a_whole_host_has_no_part_that_is_lost(hosts: Path) -> None:
    for host, name in HOSTS:
        assert (hosts / host / name).is_file(), name
    facts = take_snapshot(open_source(f"{hosts}/headline"), Request(detail=True))
    assert facts["server"]["crashes"]["cause"] == "gpu_lost"
    assert facts["memory"]["neighbours"][0]["host_bytes"] == 1


@settings(max_examples=200, deadline=None)
@given(
    where=st.sampled_from(HOSTS),
    ways=st.lists(
        st.tuples(st.sampled_from([cut, spoilt, replaced, shuffled]), POSITION, POSITION),
        min_size=1,
        max_size=3,
    ),
)
def test_no_part_is_lost_to_what_one_file_holds(
    hosts: Path, where: tuple[str, str], ways: list[tuple[Callable[..., str], int, int]]
) -> None:
    host, name = where
    file = hosts / host / name
    whole = file.read_bytes()
    text = whole.decode()
    for way, first, second in ways:
        text = way(text, first, second)
    file.write_bytes(text.encode())
    try:
        recording = bundle.record(open_source(f"{hosts}/{host}"), Request())
        facts = take_snapshot(open_source(f"{hosts}/{host}"), Request(detail=True))
    finally:
        file.write_bytes(whole)
    for part in (*PARTS, "draft"):
        for snapshot in (facts, recording.facts):
            assert snapshot[part] is None or set(snapshot[part]) != {"reason"}, snapshot[part]
    json.dumps(facts, allow_nan=False)

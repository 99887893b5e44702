# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan costs: a thousand hosts in one process, beside what cannot be avoided for each.

Every host is one of the recorded ones with an amount of RAM and a device tier of its own, so that
no two plans are alike. A plan is the whole of it: capacity, options, command line, unit, findings.
Its processor time is compared with that of reading the host's recording, and with that of an
Ansible module that does nothing, which every host costs at least.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from figure import Figure, at_most, told

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "unit" / "recordings"
DEFAULTS = ROOT / "roles" / "sglang" / "defaults" / "main.yml"
GIB = 2**30
FEW, MANY = 100, 1_000
ROUNDS = 5
STARTS = 3


def recorded() -> tuple[list[dict[str, Any]], float]:
    """Facts of every recording, and the processor time of reading one, seconds."""
    from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
        Request,
        open_source,
        take_snapshot,
    )

    paths = sorted(str(path) for path in RECORDINGS.iterdir())
    before = time.process_time()
    facts = [take_snapshot(open_source(path), Request()) for path in paths]
    return facts, (time.process_time() - before) / len(paths)


def fleet(recordings: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Facts and variables of many hosts, no two of them alike."""
    defaults = yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))
    hosts = []
    for number in range(MANY):
        facts = json.loads(json.dumps(recordings[number % len(recordings)]))
        (facts.get("memory") or {})["available_bytes"] = (100 + number) * GIB
        startup = (facts.get("server") or {}).get("startup") or {}
        if startup.get("max_total_num_tokens"):
            startup["max_total_num_tokens"] += 64 * number
        variables = {
            **defaults,
            "sglang_secrets_present": False,
            "sglang_instance": f"i{number}",
            "sglang_engine_path": "/opt/sglang/engine",
            "sglang_model_path": "/srv/models/m",
            "sglang_tp_size": max(len((facts.get("gpu") or {}).get("devices") or []), 1),
        }
        hosts.append((facts, variables))
    return hosts


def plan_s(hosts: list[tuple[dict[str, Any], dict[str, Any]]]) -> float:
    """Processor time of planning all hosts one after the other, seconds."""
    from ansible_collections.llmops.sglang.plugins.module_utils._plan.compose import compose_plan

    gc.collect()
    before = time.process_time()
    for facts, variables in hosts:
        compose_plan(facts, variables)
    return time.process_time() - before


def module_s() -> float:
    """Processor time of Ansible with a module that does nothing on this machine, seconds."""
    command = [str(Path(sys.executable).parent / "ansible"), "localhost", "-i", "localhost,"]
    command += ["-c", "local", "-m", "ansible.builtin.ping"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ}, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def run() -> list[Figure]:
    facts, reading_s = recorded()
    hosts = fleet(facts)
    plan_s(hosts[:FEW])  # tables of flags are read once for a version
    few_s = min(plan_s(hosts[:FEW]) for _rest in range(ROUNDS)) / FEW
    many_s = min(plan_s(hosts) for _rest in range(ROUNDS)) / MANY
    start_s = statistics.median(module_s() for _rest in range(STARTS))
    return [
        told("processor time of one plan among 1,000", 1000 * many_s, "ms"),
        told("processor time of reading one recording", 1000 * reading_s, "ms"),
        told("processor time of an empty module", 1000 * start_s, "ms"),
        at_most("each of 1,000 hosts to each of 100", many_s / few_s, "times", 1.2),
        at_most("a plan to an empty module", many_s / start_s, "times", 0.005),
    ]

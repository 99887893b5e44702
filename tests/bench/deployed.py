# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab guest with the engine double, and plays on it as a person would run them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "molecule" / "lab" / "lab.py"
SCENARIO = "bench"
HOST = "double-01"
UNIT = "sglang-kimi.service"


@dataclass(frozen=True)
class Play:
    """One run of a playbook: its lines with the time of each, and what it took.

    `guest_s` is the processor time of the guest meanwhile, server included; `controller_s` that of
    ansible-playbook and all its children.
    """

    lines: list[tuple[float, str]]
    wall_s: float
    controller_s: float
    guest_s: float

    @property
    def processor_s(self) -> float:
        """Processor time of both sides."""
        return self.controller_s + self.guest_s

    def count(self, name: str) -> int:
        """A number of the recap."""
        found = re.search(rf"^{HOST} .*\b{name}=(\d+)", self.text(), re.MULTILINE)
        if found is None:
            raise ValueError(f"the play has no recap:\n{self.text()}")
        return int(found[1])

    def text(self) -> str:
        """All that it printed."""
        return "\n".join(line for _at, line in self.lines)

    def began(self, task: str) -> float:
        """When a task was announced, which is when the one before it had ended."""
        times = [at for at, line in self.lines if line.startswith("TASK ") and task in line]
        if not times:
            raise ValueError(f"no task {task!r} in:\n{self.text()}")
        return times[0]


class Lab:
    """The guest, and Ansible on this machine."""

    def __init__(self) -> None:
        self.guest = next(
            line for line in _lab("up", SCENARIO).split() if line.endswith(f"-{HOST}")
        )
        _lab("collections")
        assignments = (line[len("export ") :] for line in _lab("env").splitlines())
        pairs = (assignment.partition("=") for assignment in assignments)
        self._env = {
            **os.environ,
            **{name: shlex.split(value)[0] for name, _sign, value in pairs},
            "ANSIBLE_CONFIG": str(ROOT / "molecule" / "shared" / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "true",
        }

    def remove(self) -> None:
        """Leave nothing behind."""
        _lab("down", SCENARIO)

    def run(self, *words: str) -> str:
        """Run a command in the guest and return its output."""
        return subprocess.check_output(["podman", "exec", self.guest, *words], text=True)

    def play(self, playbook: str, *more: str, **variables: Any) -> Play:
        """Run a playbook on the guest; `more` are further words of the command line.

        Raises ValueError when it fails.
        """
        folder = ROOT / "molecule"
        words = ["ansible-playbook", playbook, "-e", json.dumps(variables), *more]
        for inventory in ("shared", SCENARIO):
            words += ["-i", str(folder / inventory / "inventory.yml")]
        guest_s, began = self._guest_s(), time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = []
        with subprocess.Popen(
            words, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            for line in process.stdout or ():
                lines.append((time.time(), line.rstrip("\n")))
        wall_s = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        controller_s = sum(after[:2]) - sum(before[:2])
        play = Play(lines, wall_s, controller_s, self._guest_s() - guest_s)
        if process.returncode != 0:
            raise ValueError(f"{playbook} failed:\n{play.text()}")
        return play

    def _guest_s(self) -> float:
        """Processor time of the guest so far, as podman says it: 1h2m3.4s."""
        words = ["podman", "stats", "--no-stream", "--format=json", self.guest]
        told = json.loads(subprocess.check_output(words, text=True))[0]["cpu_time"]
        parts = re.findall(r"([\d.]+)(h|ms|µs|m|s)", told)
        return sum(
            float(n) * {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "µs": 1e-6}[u] for n, u in parts
        )


def _lab(*words: str) -> str:
    command = [sys.executable, str(LAB), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextlib.contextmanager
def deployed(*options: str) -> Iterator[Lab]:
    """The guest with a proven server on it; removed in the end."""
    lab = Lab()
    try:
        lab.play("llmops.sglang.deploy", *options)
        yield lab
    finally:
        lab.remove()

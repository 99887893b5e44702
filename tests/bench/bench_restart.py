# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a restart takes from the old server's end to the proven new one, beyond the engine.

The engine's own start counts from its process to the line that says it is up; the questions of the
proof count from the first to the last that the server answered after that line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from deployed import UNIT, Lab, deployed
from figure import Figure, at_most, told

EMPTY = Path(__file__).resolve().parent / "empty.yml"
ROUNDS = 3
# Three seconds where an empty task takes half of one.
TASKS = 6


def run() -> list[Figure]:
    with deployed() as lab:
        return measure(lab)


def measure(lab: Lab) -> list[Figure]:
    rounds = [restart(lab, number) for number in range(ROUNDS)]
    # The least is what the work takes; more is what else the machine did.
    took = min(rounds, key=lambda took: took.beyond_s)
    return [
        told("from stopped to proven", took.stopped_s, "s"),
        told("the engine's own start", took.engine_s, "s"),
        told("the questions of the proof", took.questions_s, "s"),
        told("beyond these", took.beyond_s, "s"),
        told("a task of Ansible that does nothing", took.task_s, "s"),
        at_most("beyond these, in such tasks", took.beyond_s / took.task_s, "tasks", TASKS),
    ]


class Took(NamedTuple):
    """Seconds of one restart, and of an empty task right after it."""

    stopped_s: float
    engine_s: float
    questions_s: float
    task_s: float

    @property
    def beyond_s(self) -> float:
        """What neither the engine nor the proof's questions explain."""
        return self.stopped_s - self.engine_s - self.questions_s


def restart(lab: Lab, number: int) -> Took:
    """Restart the server for the sake of a variable."""
    play = lab.play("llmops.sglang.deploy", sglang_decode_log_interval=100 + number)
    proven = play.began("Say what was proven")
    empty = lab.play(str(EMPTY))
    said = lab.run("journalctl", "-u", UNIT, "-o", "json", "--no-pager", "--since=-15min")
    entries = [json.loads(line) for line in said.splitlines()]
    times = [(int(entry["__REALTIME_TIMESTAMP"]) / 1e6, str(entry["MESSAGE"])) for entry in entries]

    def last(pattern: str) -> float:
        return max(at for at, text in times if re.search(pattern, text))

    ready = last("fired up and ready")
    answered = [at for at, text in times if ready < at < proven and re.search("(GET|POST) /", text)]
    return Took(
        stopped_s=proven - last("^Stopped "),
        engine_s=ready - last("^Starting "),
        questions_s=max(answered) - min(answered),
        task_s=(empty.began("Do nothing, the last time") - empty.began("Do nothing, once")) / 3,
    )

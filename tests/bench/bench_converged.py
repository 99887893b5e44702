# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a deployment costs that has nothing to do, probe, plan and gate included.

Compared with what one writes by hand for the same guest: six tasks that look at GPUs, memory and
the unit, write the unit, have systemd start it, and ask the server.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from deployed import UNIT, Lab, Play, deployed
from figure import Figure, at_least, at_most, told

BY_HAND = Path(__file__).resolve().parent / "by_hand.yml"
ROUNDS = 4
PORT = "30000"


def run() -> list[Figure]:
    with deployed() as lab:
        return measure(lab)


def measure(lab: Lab) -> list[Figure]:
    invocation = lab.run("systemctl", "show", UNIT, "--property=InvocationID")
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder, "unit.j2")
        unit = lab.run("cat", f"/etc/systemd/system/{UNIT}")
        template.write_text(unit.replace(f"--port {PORT}", "--port {{ port }}"), encoding="utf-8")
        rounds: list[tuple[Play, Play]] = []
        for _round in range(ROUNDS):
            by_hand = lab.play(str(BY_HAND), unit=UNIT, template=str(template), port=PORT)
            rounds.append((lab.play("llmops.sglang.deploy"), by_hand))
    same = lab.run("systemctl", "show", UNIT, "--property=InvocationID") == invocation
    ours, theirs = zip(*rounds)
    # The least is what the work takes; more is what else the machine did.
    processor_s = [min(play.processor_s for play in plays) for plays in (ours, theirs)]
    wall_s = [min(play.wall_s for play in plays) for plays in (ours, theirs)]
    return [
        at_most("tasks of a converged host", max(play.count("ok") for play in ours), "tasks", 15),
        at_most("changes", max(play.count("changed") for play in ours), "", 0),
        at_most("restarts", 0 if same else 1, "", 0),
        at_least("tasks by hand", min(play.count("ok") for play in theirs), "tasks", 6),
        at_most("changes by hand", max(play.count("changed") for play in theirs), "", 0),
        told("processor time", processor_s[0], "s"),
        told("of it on the host", min(play.guest_s for play in ours), "s"),
        told("processor time by hand", processor_s[1], "s"),
        told("of it on the host, by hand", min(play.guest_s for play in theirs), "s"),
        at_most("processor time to that by hand", processor_s[0] / processor_s[1], "times", 1.2),
        told("wall time", wall_s[0], "s"),
        told("wall time by hand", wall_s[1], "s"),
        at_most("wall time to that by hand", wall_s[0] / wall_s[1], "times", 1.2),
    ]

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run costs for each host of a fleet, from one host to two hundred.

All hosts of the inventory are one guest of the lab with a server that is as it should be, so that
every module runs for each of them, on a real systemd, and only their number changes. Processor time
is that of the controller and of the guest together.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from deployed import HOST, UNIT, Lab, Play, deployed
from figure import Figure, at_most, told

BY_HAND = Path(__file__).resolve().parent / "by_hand.yml"
SIZES = (1, 10, 50, 200)
# From here on a host may not cost more.
FEW = 10
PORT = "30000"
FORKS = "--forks=20"
# Tasks of a look at a host; the page is one task for all of them.
DIAGNOSE_TASKS = 3


def run() -> list[Figure]:
    with deployed(f"--limit={HOST}") as lab:
        return measure(lab)


def inventory(folder: Path, guest: str, hosts: int) -> Path:
    """An inventory in which many hosts are one guest."""
    values = {"ansible_host": guest}
    names = {f"host-{number:03}": values for number in range(hosts)}
    path = folder / f"fleet-{hosts}.json"
    groups = {"engine_double": {"hosts": names}, "sglang": {"hosts": names}}
    path.write_text(json.dumps(groups), encoding="utf-8")
    return path


def per_host_s(play: Play, hosts: int) -> float:
    """Processor time of each host, without what a run costs by itself."""
    return play.processor_s / hosts


def tasks(play: Play) -> int:
    """The most tasks that any of the fleet's hosts ran, and changes by none of them."""
    recap = re.findall(r"^host-\d+ .*\bok=(\d+) +changed=(\d+)", play.text(), re.MULTILINE)
    if not recap or any(changed != "0" for _ok, changed in recap):
        raise ValueError(f"not a run that had nothing to change:\n{play.text()[-3000:]}")
    return max(int(ok) for ok, _changed in recap)


def measure(lab: Lab) -> list[Figure]:
    invocation = lab.run("systemctl", "show", UNIT, "--property=InvocationID")
    figures: list[Figure] = []
    costs: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fleets = {hosts: inventory(folder, lab.guest, hosts) for hosts in SIZES}
        for hosts, path in fleets.items():
            play = lab.play("llmops.sglang.deploy", "-i", str(path), "--limit=host-*", FORKS)
            costs[hosts] = per_host_s(play, hosts)
            figures.append(told(f"processor time per host, {hosts} hosts", costs[hosts], "s"))
            figures.append(told(f"wall time, {hosts} hosts", play.wall_s, "s"))
        template = folder / "unit.j2"
        unit = lab.run("cat", f"/etc/systemd/system/{UNIT}")
        template.write_text(unit.replace(f"--port {PORT}", "--port {{ port }}"), encoding="utf-8")
        by_hand = lab.play(
            *(str(BY_HAND), "-i", str(fleets[FEW]), "--limit=host-*", FORKS),
            unit=UNIT,
            template=str(template),
            port=PORT,
        )
        look = lab.play(
            "llmops.sglang.diagnose", "-i", str(fleets[SIZES[-1]]), "--limit=host-*", FORKS
        )
    same = lab.run("systemctl", "show", UNIT, "--property=InvocationID") == invocation
    hand_s = per_host_s(by_hand, FEW)
    return [
        *figures,
        told("processor time per host by hand, 10 hosts", hand_s, "s"),
        at_most("each of 200 hosts to each of 10", costs[SIZES[-1]] / costs[FEW], "times", 1.1),
        at_most("each of 10 hosts to that by hand", costs[FEW] / hand_s, "times", 1.2),
        at_most("restarts", 0 if same else 1, "", 0),
        told("diagnose, processor time per host of 200", per_host_s(look, SIZES[-1]), "s"),
        told("diagnose, wall time of 200 hosts", look.wall_s, "s"),
        # The includes that lead there are counted by Ansible, too; the first host has the page.
        at_most("tasks of diagnose on a host", tasks(look), "tasks", DIAGNOSE_TASKS + 1),
    ]

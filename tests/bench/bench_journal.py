# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long it takes to learn from a long journal what the current run of a server got.

A unit in a lab guest prints several runs into a real journal, a million lines in all. Reading the
start of the last one is compared with the search that one would type.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from figure import Figure, at_most, told

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LAB = ROOT / "molecule" / "lab" / "lab.py"
SCENARIO = "bench"
UNIT = "sglang-bench.service"
PLACE = "/srv/bench"

# Lines of each run; each run has a pool of its own size.
FIRST_RUNS = (3_000, 3_000, 4_000)
LATER_RUNS = (330_000, 330_000, 330_000)
# A start that has come no further than its weights.
UNFINISHED = 1_000
TOKENS = 100_000
# What one would type, with the unit's name in it.
BY_HAND = (
    f"journalctl -u {UNIT} -o cat --no-pager | grep -i 'max_total_num_tokens\\|kv cache\\|"
    "available.*token\\|token_pool\\|mem.*fraction\\|avail mem\\|max_running\\|Capture\\|alloc'"
    " | tail -20"
)
MIB = 2**20

SETUP = f"""
set -eu
mkdir -p /etc/systemd/journald.conf.d
cat > /etc/systemd/journald.conf.d/bench.conf <<END
[Journal]
Storage=persistent
SystemMaxUse=8G
RateLimitIntervalSec=0
END
cat > /etc/systemd/system/{UNIT} <<END
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=600
LogRateLimitIntervalSec=0
EnvironmentFile=/run/bench.env
ExecStart=/usr/bin/python3 {PLACE}/print_run.py \\$LINES \\$TOKENS
END
systemctl restart systemd-journald
systemctl daemon-reload
"""


class Took(NamedTuple):
    """Seconds by the wall's clock, and of the processors, which other programs do not disturb."""

    wall_s: float
    processor_s: float


class Guest:
    """The guest with the journal."""

    def __init__(self) -> None:
        self._name = self._lab("up", SCENARIO).split()[-1]
        self._copy()
        self.run("sh", "-c", SETUP)
        self.runs = 0

    def remove(self) -> None:
        """Leave nothing behind."""
        self._lab("down", SCENARIO)

    def run(self, *words: str, data: bytes | None = None) -> str:
        """Run a command in the guest and return its output."""
        command = ["podman", "exec", *(["--interactive"] if data else []), self._name, *words]
        return subprocess.run(
            command, check=True, input=data, stdout=subprocess.PIPE
        ).stdout.decode()

    def print_run(self, lines: int) -> None:
        """Let the unit run once more, until it has printed all."""
        self.runs += 1
        values = f"LINES={lines}\nTOKENS={TOKENS + self.runs}\n"
        self.run("sh", "-c", "cat > /run/bench.env", data=values.encode())
        self.run("systemctl", "restart", UNIT)
        self.run("journalctl", "--sync")

    def clock(self, times: int, *words: str) -> tuple[Took, str]:
        """What the best of several runs of a command took, and what it said."""
        command = ["env", f"PYTHONPATH={PLACE}", "python3", f"{PLACE}/clock.py", str(times), *words]
        answer = json.loads(self.run(*command))
        return Took(answer["wall_s"], answer["processor_s"]), answer["said"]

    def read_start(self) -> tuple[Took, dict[str, Any]]:
        """What the collection takes, and what it finds."""
        took, said = self.clock(7, "python3", f"{PLACE}/read_start.py", UNIT)
        return took, json.loads(said)

    def _lab(self, *words: str) -> str:
        command = [sys.executable, str(LAB), *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def _copy(self) -> None:
        archive = BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(HERE / "guest", ".")
            inside = "ansible_collections/llmops/sglang/plugins/module_utils"
            tar.add(ROOT / "plugins" / "module_utils", inside)
        self.run("mkdir", "-p", PLACE)
        self.run("tar", "--extract", f"--directory={PLACE}", data=archive.getvalue())


def run() -> list[Figure]:
    """Measure with ten thousand lines, then with a million."""
    guest = Guest()
    try:
        return measure(guest)
    finally:
        guest.remove()


def measure(guest: Guest) -> list[Figure]:
    for lines in FIRST_RUNS:
        guest.print_run(lines)
    short, _found = guest.read_start()
    for lines in LATER_RUNS:
        guest.print_run(lines)
    long, found = guest.read_start()
    by_hand, _said = guest.clock(2, "sh", "-c", BY_HAND)
    lines = int(guest.run("sh", "-c", f"journalctl -u {UNIT} -o cat --no-pager | wc -l"))
    of_run = TOKENS + guest.runs
    guest.print_run(UNFINISHED)
    _took, starting = guest.read_start()
    _took, mixed = guest.clock(1, "sh", "-c", BY_HAND)
    return [
        told("lines in the journal of the unit", lines, "lines"),
        told("the search by hand", by_hand.wall_s, "s"),
        told("the start of the current run", long.wall_s, "s"),
        at_most("share of the search by hand", long.wall_s / by_hand.wall_s, "", 1 / 20),
        at_most(
            "processor, with 100 times the lines",
            long.processor_s / short.processor_s,
            "times",
            1.5,
        ),
        at_most("peak memory of the reader", found["reader_bytes"] / MIB, "MiB", 95),
        at_most("peak memory of journalctl", found["journalctl_bytes"] / MIB, "MiB", 95),
        at_most("tokens told wrong", abs(found["tokens"] - of_run), "tokens", 0),
        # The run before this one must not answer for one that has no pool yet.
        at_most("tokens told of a start without a pool", starting["tokens"] or 0, "tokens", 0),
        told("tokens told of it by hand", of_run * (f"={of_run}," in mixed), "tokens"),
    ]

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start one planned server in a guest, wait for what becomes of it, and end it.

Reads {"name", "argv", "environment", "available_kib", "port"} from standard input. Prints what the
server itself said, as JSON; nothing in here knows how pools are sized.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

DEADLINE_S = 600
GAUGES_S = 60
READY = "The server is fired up and ready to roll!"
REFUSED = ("Not enough host memory available", "No host memory is left for HiCache")
KILLED = "exit code: -9"
METRICS = ("hicache_host_total_tokens", "max_total_num_tokens")


def start(case: dict[str, Any]) -> dict[str, Any]:
    """Run the case as a unit of its own and tell what came of it. Raises TimeoutError."""
    unit = f"case-{case['name']}.service"
    meminfo = Path(f"/run/case-{case['name']}.meminfo")
    meminfo.write_text(with_available(Path("/proc/meminfo").read_text(), case["available_kib"]))
    run(
        "systemd-run", "--quiet", "--collect", f"--unit={unit}",
        f"--property=BindReadOnlyPaths={meminfo}:/proc/meminfo",
        *(f"--setenv={name}={value}" for name, value in case["environment"].items()),
        *case["argv"],
    )  # fmt: skip
    try:
        outcome, said = wait(unit)
        metrics = read_metrics(case["port"]) if outcome == "starts" else {}
    finally:
        run("systemctl", "kill", "--signal=KILL", unit, check=False)
        while alive(unit):
            time.sleep(0.1)
        meminfo.unlink()
    return {"outcome": outcome, "metrics": metrics, **read_journal(said)}


def with_available(meminfo: str, kib: int) -> str:
    """The text of /proc/meminfo with another MemAvailable."""
    return re.sub(r"(?m)^(MemAvailable:) .*$", rf"\1 {kib} kB", meminfo)


def wait(unit: str) -> tuple[str, str]:
    """starts, refused, killed, or ended for anything else; and all that was said until then."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        ended = not alive(unit)
        said = journal(unit)
        if READY in said:
            return "starts", said
        if ended:
            if any(words in said for words in REFUSED):
                return "refused", said
            return ("killed" if KILLED in said else "ended"), said
        time.sleep(1)
    raise TimeoutError(f"{unit} said nothing final within {DEADLINE_S} s:\n{journal(unit)[-2000:]}")


def read_journal(said: str) -> dict[str, Any]:
    """What the ranks said about RAM, pools and refusals: numbers as printed."""
    labels = r"Allocating (\w+) hierarchical KV host pool: (\d+) tokens, ([\d.]+) GB"
    sized = re.findall(labels, said)
    # Up to 0.5.16 there is one kind of pool and no word of its tokens.
    sized += [
        ("kv", None, gb) for gb in re.findall(r"Allocating ([\d.]+) GB host memory for", said)
    ]
    return {
        "pools": {
            label: [
                [tokens and int(tokens), float(gb)] for name, tokens, gb in sized if name == label
            ]
            for label in ("kv", "draft")
        },
        "ratios": re.findall(r"HiCache auto-sizing: ratio [\d.]+ -> ([\d.]+);", said),
        "cgroup_gib": re.findall(r"HiCache memory headroom: .* cgroup ([\d.]+) GiB", said),
        "asked": re.findall(r"Requesting ([\d.-]+) GB but only have ([\d.-]+) GB free", said),
        "tail": said.splitlines()[-5:],
    }


def read_metrics(port: int) -> dict[str, float]:
    """Gauges of the running server, which sets those of the host tier some time after its first
    request."""
    ask(port, "/v1/completions", {"model": "", "prompt": "first", "max_tokens": 1})
    until = time.monotonic() + GAUGES_S
    while True:
        found = re.findall(r"(?m)^sglang:(\w+)\{.*\} (\S+)$", ask(port, "/metrics"))
        gauges = {name: float(value) for name, value in found if name in METRICS}
        if len(gauges) == len(METRICS) or time.monotonic() >= until:
            return gauges
        time.sleep(1)


def ask(port: int, path: str, body: dict[str, Any] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def alive(unit: str) -> bool:
    return "active" in run("systemctl", "is-active", unit, check=False).split()


def journal(unit: str) -> str:
    return run("journalctl", f"--unit={unit}", "--output=cat", "--no-pager")


def run(*command: str, check: bool = True) -> str:
    done = subprocess.run(command, check=check, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    print(json.dumps(start(json.load(sys.stdin))))

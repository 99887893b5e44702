# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let systemd itself judge the quoting of units: run as root on a machine booted by systemd.

    systemd_roundtrip.py [--collection DIR] [--random N] [--seed S] [--batch B] [ARGVFILE]

ARGVFILE is JSON, ``[{"argv": [...], "environment": {...}}, ...]``. Each case, and N random ones,
becomes a service rendered by the collection whose program writes down what it was given; the
script starts them and compares. It ends with 1 when any case came back changed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

UNITS = Path("/run/systemd/system")
WORK = Path("/run/llmops-systemd-roundtrip")
PROGRAM = """\
import json, os, sys
with open(sys.argv[1], "w", encoding="ascii") as out:
    json.dump({"argv": sys.argv[2:], "environment": dict(os.environ)}, out)
"""
ALPHABET = (
    list("abcXYZ019")
    + list(" \t\n\r'\"\\$%{}[]():;,#!&|<>*?~^`=+-@_./")
    + ["$$", "${HOME}", "$HOME", "%n", "%%", "\\n", "\\\\", "\\x41", "\\", "--", "; ", " #", "\\ "]
    + ["\x01", "\x1b", "\x7f", "\x85", "\u00e9", "\u2028", "\u4e2d", "\ufeff", "\U0001f642"]
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--collection", default=str(Path(__file__).resolve().parents[2]))
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=50, help="services started at once")
    parser.add_argument("argvfile", nargs="?")
    return parser.parse_args()


def random_text(source: random.Random) -> str:
    return "".join(source.choice(ALPHABET) for _index in range(source.randint(0, 12)))


def random_case(source: random.Random) -> dict[str, Any]:
    return {
        "argv": [random_text(source) for _index in range(source.randint(0, 12))],
        "environment": {f"VALUE_{n}": random_text(source) for n in range(source.randint(0, 6))},
    }


def render(unit_text: Any, number: int, case: dict[str, Any]) -> str:
    command = [sys.executable, str(WORK / "dump.py"), str(WORK / f"{number}.json"), *case["argv"]]
    service = [
        ["Type", "oneshot"],
        ["Environment", case["environment"]],
        ["ExecStart", command],
    ]
    return str(unit_text([["Service", service]]))


def run_batch(unit_text: Any, first: int, cases: list[dict[str, Any]]) -> int:
    names = [f"llmops-roundtrip-{first + offset}.service" for offset in range(len(cases))]
    for offset, case in enumerate(cases):
        text = render(unit_text, first + offset, case)
        (UNITS / names[offset]).write_text(text, encoding="utf-8")
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["systemctl", "start", *names], check=False, capture_output=True)
    failures = sum(not compare(first + offset, case) for offset, case in enumerate(cases))
    for name in names:
        (UNITS / name).unlink()
    subprocess.run(["systemctl", "reset-failed", "llmops-roundtrip-*"], check=False)
    return failures


def compare(number: int, case: dict[str, Any]) -> bool:
    try:
        got = json.loads((WORK / f"{number}.json").read_text(encoding="ascii"))
    except FileNotFoundError:
        print(f"case {number}: not started: {json.dumps(case)}")
        return False
    seen = {name: got["environment"].get(name) for name in case["environment"]}
    if got["argv"] == case["argv"] and seen == case["environment"]:
        return True
    print(f"case {number}: wanted {json.dumps(case)}")
    print(f"case {number}: got    {json.dumps({'argv': got['argv'], 'environment': seen})}")
    return False


def main() -> int:
    arguments = parse_arguments()
    sys.path.insert(0, os.path.join(arguments.collection, "plugins", "module_utils"))
    from _render.systemd import unit_text  # noqa: PLC0415 (found only after the path is known)

    source = random.Random(arguments.seed)
    cases: list[dict[str, Any]] = []
    if arguments.argvfile:
        cases += json.loads(Path(arguments.argvfile).read_text(encoding="utf-8"))
    cases += [random_case(source) for _index in range(arguments.random)]

    WORK.mkdir(mode=0o700, exist_ok=True)
    try:
        (WORK / "dump.py").write_text(PROGRAM, encoding="ascii")
        failures = sum(
            run_batch(unit_text, first, cases[first : first + arguments.batch])
            for first in range(0, len(cases), arguments.batch)
        )
    finally:
        shutil.rmtree(WORK)
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    print(f"{len(cases)} cases, {failures} changed on the way through systemd")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

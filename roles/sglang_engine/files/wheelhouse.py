# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fill a folder with every wheel of a lock, for hosts that may differ from this machine.

    wheelhouse.py FOLDER --pip PIP --python 3.12 --arch x86_64 --glibc 34 < lock.txt

Prints `changed` or `unchanged`. The folder's own lock.txt, the part of the lock that such hosts
need, is written last: without it the folder is not complete, and the next run goes on with it.
pip's own settings say where wheels come from. Needs the package `packaging`, as Ansible does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.markers import Marker

LOCK = "lock.txt"
# Names that manylinux had before it was named after glibc.
OLD_PLATFORMS = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


class Refused(Exception):
    """What keeps a wheelhouse from being built, in words."""


def lock_for(lock: str, python: str, arch: str) -> str:
    """The part of a lock that hosts with this Python and processor need, without conditions."""
    environment = host_environment(python, arch)
    kept = []
    lines = [line for line in lock.splitlines() if not line.strip().startswith("#")]
    for requirement in re.split(r"\n(?=\S)", "\n".join(lines).strip()):
        # One line, whether its hashes stood in lines of their own or not.
        wanted, *hashes = re.sub(r"\s*\\?\n\s*", " ", requirement).split(" --hash=")
        name, _semicolon, marker = wanted.partition(" ; ")
        if name and (not marker or Marker(marker).evaluate(environment)):
            kept.append(" \\\n    --hash=".join([name, *hashes]) + "\n")
    return "".join(kept)


def host_environment(python: str, arch: str) -> dict[str, str]:
    """What conditions in a lock ask about a host. Of 3.11 the first patch release is meant."""
    minor = ".".join(python.split(".")[:2])
    return {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": arch,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": python if python != minor else f"{minor}.0",
        "python_version": minor,
        "sys_platform": "linux",
    }


def target_options(python: str, arch: str, glibc: int) -> list[str]:
    """pip's options for what such a host can install; glibc 34 means 2.34."""
    abi = "cp" + "".join(python.split(".")[:2])
    names = [f"manylinux_2_{minor}" for minor in range(glibc, 4, -1)]
    names += [name for minor, name in OLD_PLATFORMS.items() if minor <= glibc]
    return [
        "--only-binary=:all:",
        f"--python-version={'.'.join(python.split('.')[:2])}",
        "--implementation=cp",
        *(f"--abi={name}" for name in (abi, "abi3", "none")),
        *(f"--platform={name}_{arch}" for name in [*names, "linux"]),
    ]


def build(folder: Path, pip: list[str], lock: str, target: list[str]) -> bool:
    """Fill the folder; False when it holds this lock already. Raises Refused."""
    own = folder / LOCK
    if own.is_file():
        if own.read_text(encoding="utf-8") == lock:
            return False
        raise Refused(f"{folder} holds a wheelhouse for another lock or other hosts: name another")
    folder.mkdir(parents=True, exist_ok=True)
    take = [*pip, "download", "--no-deps", "--dest", str(folder), *target]
    with tempfile.TemporaryDirectory() as room:
        wanted = Path(room, LOCK)
        wanted.write_text(lock, encoding="utf-8")
        run([*take, "--require-hashes", "--requirement", str(wanted)])
    # Faster than pip on the host, but no part of the engine.
    run([*take, "uv"])
    own.write_text(lock, encoding="utf-8")
    return True


def run(command: list[str]) -> None:
    """Run pip. Raises Refused with what it said last."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(re.sub(r"://[^/@\s]+@", "://***@", done.stderr.strip()[-1500:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pip", required=True, help="the program pip")
    parser.add_argument("--python", required=True, help="of the hosts: 3.12, or 3.12.3")
    parser.add_argument("--arch", required=True, help="of the hosts: x86_64 or aarch64")
    parser.add_argument("--glibc", required=True, type=int, help="of the hosts: 34 for 2.34")
    asked = parser.parse_args()
    lock = lock_for(sys.stdin.read(), asked.python, asked.arch)
    target = target_options(asked.python, asked.arch, asked.glibc)
    try:
        changed = build(asked.folder, [asked.pip], lock, target)
    except (Refused, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print("changed" if changed else "unchanged")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: a line for every file and every process of this host, to be compared later.

A file's line holds its mode, owner, times and, but for the engine, a hash of what is in it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

# Not /tmp: Ansible unpacks its modules there, and the server keeps its counters in its own.
ROOTS = ("/etc", "/opt", "/run", "/srv", "/usr/local", "/var")
# Journals, which move by themselves, mounted wheels and models, and the state of the lab.
MOVING = (
    "/run/systemd/journal",
    "/run/log",
    "/var/log/journal",
    "/srv/wheelhouse",
    "/srv/models",
    "/run/lab",
)
# A hundred thousand files: their times tell enough.
LARGE = "/opt"


def files(root: str) -> Iterator[str]:
    """One line per file and folder below a root."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in MOVING]
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            try:
                yield line_of(path)
            except FileNotFoundError:
                yield f"{path} went away"


def line_of(path: str) -> str:
    """What can be said of one file without changing it."""
    seen = os.lstat(path)
    digest = ""
    if stat.S_ISREG(seen.st_mode) and not path.startswith(LARGE):
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    elif stat.S_ISLNK(seen.st_mode):
        digest = os.readlink(path)
    times = f"{seen.st_mtime_ns} {seen.st_ctime_ns}"
    return f"{path} {seen.st_mode:o} {seen.st_uid} {seen.st_gid} {seen.st_size} {times} {digest}"


def processes() -> Iterator[str]:
    """One line per process that does not belong to this look: its number, its start, its words."""
    own = os.getsid(0)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == own:
                continue
            started = (folder / "stat").read_text().rpartition(")")[2].split()[19]
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield f"process {folder.name} since {started}: {words}"


if __name__ == "__main__":
    for root in ROOTS:
        print(*files(root), sep="\n")
    print(*sorted(processes()), sep="\n")

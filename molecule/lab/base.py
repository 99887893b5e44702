# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths, the shared cache and small helpers of the lab."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LAB = Path(__file__).resolve().parent
REPO = LAB.parent.parent
STATE = REPO / ".lab"
CACHE = Path(os.environ.get("LLMOPS_LAB_CACHE") or Path.home() / ".cache" / "llmops-sglang-lab")
MARKER = ".complete"

# Guests, networks and images of this clone carry this prefix, so that clones never meet.
PREFIX = "lab-" + hashlib.sha256(str(REPO).encode()).hexdigest()[:8]


class LabError(Exception):
    """What went wrong, in words for the person at the terminal."""


def say(text: str) -> None:
    """Tell progress on stderr: stdout is kept for what a caller reads."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Say what a long step does, then how many seconds it took."""
    say(f"lab: {text} ...")
    start = time.monotonic()
    yield
    say(f"lab: {text}: {time.monotonic() - start:.1f} s")


def run(*command: str | Path, check: bool = True, cwd: Path | None = None) -> str:
    """Run a command and return its stdout; its stderr is shown only when it fails.

    Raises LabError with the end of both outputs when `check` and the exit status is not 0.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd)
    except FileNotFoundError as error:
        raise LabError(f"{words[0]} is not installed; run: lab.py doctor") from error
    if check and done.returncode:
        tail = (done.stdout + done.stderr).strip()[-3000:]
        raise LabError(f"{shlex.join(words)[:500]}\nended with status {done.returncode}:\n{tail}")
    return done.stdout


def key_of(*parts: str | bytes | Path) -> str:
    """A short content key: text and bytes count as they are, a file or folder by its contents."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            for file in files_under(part):
                executable = file.stat().st_mode & 0o111
                digest.update(f"{file.relative_to(part.parent)}\0{executable}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        else:
            digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()[:12]


def files_under(path: Path) -> list[Path]:
    """The file itself, or every file below a folder but byte code, in a stable order."""
    if path.is_file():
        return [path]
    return sorted(f for f in path.rglob("*") if f.is_file() and "__pycache__" not in f.parts)


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache's lock `name`; clones and parallel runs wait for one another."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"lab: waiting for another run that holds {file.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(kind: str, key: str, fill: Callable[[Path], None]) -> Path:
    """The folder CACHE/kind/key, filled by `fill` if it is not complete.

    The marker is written last. A folder without it was left by an interrupted run: it is removed
    and made anew. (A virtual environment cannot be moved, so a rename would not do for all kinds.)
    """
    path = CACHE / kind / key
    with locked(kind):
        if not (path / MARKER).exists():
            if path.exists():
                say(f"lab: removing the half-made {path}")
                shutil.rmtree(path)
            path.mkdir(parents=True)
            fill(path)
            (path / MARKER).touch()
    return path


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def need_disk(path: Path, gib: float) -> None:
    """Raise LabError unless the file system of `path` has `gib` GiB free."""
    path.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path).free / 2**30
    if free < gib:
        raise LabError(
            f"{path} has {free:.1f} GiB free, {gib:g} GiB are needed; "
            "free some or set LLMOPS_LAB_CACHE to another disk"
        )

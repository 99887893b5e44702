# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the readers get their bytes from: the live host, or one with the same interface.

This module util is private to the llmops.sglang collection.

Every reader works on a live host (L(Live)), on a recorded one and while one is recorded, so every
recording can be a test.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import re
import subprocess
import threading
import typing as t

from . import loopback
from .shard import Shard, read_shard

# Largest text file that is read whole: the safetensors index of a 60 layer model with 384
# experts has some 20 MB.
MAX_TEXT_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1 << 20
# There is none, it may not be read, or no file can have such a name.
_NO_FILE = (OSError, ValueError)


class Output(t.NamedTuple):
    """What a command said. C(reason) is set, and says why, when it could not be asked at all."""

    text: str
    status: int | None
    reason: str | None


def last_line(text: str) -> str:
    """What a failed program said, in short."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[-2:])[:200] if lines else "no output"


class Source(t.Protocol):
    """What every reader needs. Paths are absolute paths of the described host."""

    origin: str

    def now(self) -> datetime.datetime:
        """When the facts were taken (UTC)."""

    def folder(self, part: str, path: str) -> str:
        """Where the folder of a part (C(model), C(draft)) is; C(path) is its path on the host."""

    def read_text(self, path: str) -> str | None:
        """A whole text file; None when there is none or it may not be read."""

    def read_head(self, path: str, offset: int, count: int) -> bytes | None:
        """At most C(count) bytes from C(offset); None when the file cannot be read."""

    def listing(self, path: str, pattern: str = "") -> list[str]:
        """Names in a folder that a regular expression finds, sorted; none without the folder."""

    def sizes(self, path: str) -> dict[str, int] | None:
        """Bytes of every file in a folder; None when they are not known."""

    def shard(self, path: str) -> Shard | None:
        """What a file of a model folder tells of itself; None when it cannot be read."""

    def storage(self, path: str) -> dict[str, t.Any] | None:
        """C(real_path) of a folder, C(free_bytes) and C(total_bytes) of its file system, of the
        nearest folder above it when there is none; None when they are not known."""

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""

    def knows(self, name: str) -> bool:
        """Whether it can be told what a command says or why it says nothing."""

    def note(self, name: str, text: str) -> None:
        """Have a recording say this for a command that is not run here."""

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        """Run a command (live) or read what it said (recorded, C(commands/NAME))."""

    def lines(self, name: str, argv: list[str], timeout_s: float) -> t.Iterator[str]:
        """The lines of a command's output, one by one; the command ends with the iterator."""

    def http_get(self, name: str, url: str, keys: t.Sequence[str]) -> str | None:
        """The body of a 200 answer, trying the keys in turn; None for any other end."""


def read_json(source: Source, path: str) -> t.Any:
    """The JSON value of a file of the host; None when it is missing or is not JSON."""
    return parse_json(source.read_text(path))


def parse_json(text: str | None) -> t.Any:
    """The JSON value of a text; None when there is none. What is no number is None too: Python
    writes C(NaN) and C(Infinity), and nobody else reads them."""
    if text is None:
        return None
    try:
        return json.loads(text, parse_float=_finite, parse_constant=lambda _word: None)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


class Live:
    """The host this process runs on. Changes nothing."""

    origin = "live"

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.timezone.utc)

    def folder(self, part: str, path: str) -> str:
        return path

    def read_text(self, path: str) -> str | None:
        data = self.read_head(path, 0, MAX_TEXT_BYTES)
        return None if data is None else data.decode("utf-8", "replace")

    def read_head(self, path: str, offset: int, count: int) -> bytes | None:
        chunks: list[bytes] = []
        try:
            with open(path, "rb") as stream:
                stream.seek(offset)
                while count > 0:
                    # In pieces: for a file of /proc/sys the kernel allocates what is asked for.
                    chunk = stream.read(min(count, _CHUNK_BYTES))
                    if not chunk:
                        break
                    chunks.append(chunk)
                    count -= len(chunk)
        except _NO_FILE:
            return None
        return b"".join(chunks)

    def listing(self, path: str, pattern: str = "") -> list[str]:
        try:
            return sorted(name for name in os.listdir(path) if re.search(pattern, name))
        except _NO_FILE:
            return []

    def sizes(self, path: str) -> dict[str, int] | None:
        result: dict[str, int] = {}
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    # A dangling link (a half-copied hub cache) is a missing file.
                    with contextlib.suppress(OSError):
                        if entry.is_file():
                            result[entry.name] = entry.stat().st_size
        except _NO_FILE:
            return None
        return result

    def shard(self, path: str) -> Shard | None:
        try:
            return read_shard(path)
        except _NO_FILE:
            return None

    def storage(self, path: str) -> dict[str, t.Any] | None:
        try:
            real_path = existing = os.path.realpath(path)
            while not os.path.exists(existing) and existing != "/":
                existing = os.path.dirname(existing)
            status = os.statvfs(existing)
        except _NO_FILE:
            return None
        return {
            "real_path": real_path,
            "free_bytes": status.f_bavail * status.f_frsize,
            "total_bytes": status.f_blocks * status.f_frsize,
        }

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def knows(self, name: str) -> bool:
        return True

    def note(self, name: str, text: str) -> None:
        pass

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        try:
            process = _start(argv, stdin=subprocess.PIPE if stdin is not None else None)
        except OSError as error:
            return Output("", None, f"{argv[0]}: {error.strerror}")
        try:
            text, dummy = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # A process that waits for a hanging driver cannot be reaped: kill it, never wait.
            process.kill()
            return Output("", None, f"{argv[0]} did not answer within {timeout_s:g} s")
        return Output(text, process.returncode, None)

    def lines(self, name: str, argv: list[str], timeout_s: float) -> t.Iterator[str]:
        try:
            process = _start(argv, stdin=None)
        except OSError:
            return
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        try:
            # In pieces: nobody promises that a line of another program ends.
            for line in iter(lambda: _read_line(process), ""):
                yield line.rstrip("\n")
        finally:
            timer.cancel()
            process.kill()
            process.communicate()

    def http_get(self, name: str, url: str, keys: t.Sequence[str]) -> str | None:
        for key in [*keys] or [""]:
            body = loopback.get(url, key)
            if body is not None:
                return body
        return None


def _read_line(process: subprocess.Popen[str]) -> str:
    """A line of a command's output, of a long one a piece; empty at its end."""
    return process.stdout.readline(_CHUNK_BYTES) if process.stdout else ""


def _start(argv: list[str], stdin: int | None) -> subprocess.Popen[str]:
    """Start a command with a fixed locale and zone, errors with the output."""
    # Not run_command: it reads all output at once and has no time limit.
    return subprocess.Popen(  # pylint: disable=ansible-bad-function
        argv,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
    )

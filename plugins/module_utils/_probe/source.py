# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the readers get their bytes from: the live host, or a recorded one.

This module util is private to the llmops.sglang collection.

A recording mirrors the host: an absolute path of the host is the same path below the recording's
root, the output of a command is C(commands/NAME), an answer of the server is C(http/NAME). What a
recording lacks is unknown, exactly as what a live host refuses to tell. Both classes have the same
interface, so every reader works on both and every recording can be a test.
"""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import os
import subprocess
import tarfile
import threading
import typing as t
import urllib.parse

# Largest text file that is read whole: the safetensors index of a 60 layer model with 384
# experts has some 20 MB.
MAX_TEXT_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1 << 20
MAX_HTTP_BYTES = 4 * 1024 * 1024
HTTP_TIMEOUT_S = 5.0


class Output(t.NamedTuple):
    """What a command said. C(reason) is set, and says why, when it could not be asked at all."""

    text: str
    status: int | None
    reason: str | None


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

    def listing(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty when there is no such folder."""

    def sizes(self, path: str) -> dict[str, int] | None:
        """Bytes of every file in a folder; None when they are not known."""

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""

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
    """The JSON value of a text; None when there is none."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


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
        except OSError:
            return None
        return b"".join(chunks)

    def listing(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except OSError:
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
        except OSError:
            return None
        return result

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

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
            for line in process.stdout or ():
                yield line.rstrip("\n")
        finally:
            timer.cancel()
            process.kill()
            process.communicate()

    def http_get(self, name: str, url: str, keys: t.Sequence[str]) -> str | None:
        for key in [*keys] or [""]:
            body = _http_get(url, key)
            if body is not None:
                return body
        return None


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


def _http_get(url: str, key: str) -> str | None:
    """One GET without any proxy; None unless the answer is 200."""
    parts = urllib.parse.urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        connection = http.client.HTTPConnection(
            parts.hostname or "127.0.0.1", parts.port, timeout=HTTP_TIMEOUT_S
        )
        with contextlib.closing(connection):
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            body = answer.read(MAX_HTTP_BYTES)
    except (OSError, ValueError, http.client.HTTPException):
        return None
    return body.decode("utf-8", "replace") if answer.status == 200 else None


def _recorded(path: str) -> str:
    return path.replace(":", "_")


class Recorded:
    """A recorded host: a folder, or a tar.gz with one (packed with or without a top folder).

    A colon in a path, as in a PCI address, is recorded as an underscore: not every file system
    and archive takes one.
    """

    origin = "recording"

    def __init__(self, path: str) -> None:
        """Raises ValueError when there is no recording at C(path)."""
        self._files: dict[str, bytes] | None = None
        self._root = path
        if os.path.isfile(path):
            self._files = _unpack(path)
        elif not os.path.isdir(path):
            raise ValueError(f"there is no recording at {path}")

    def now(self) -> datetime.datetime:
        taken = (self.read_text("/taken_at") or "").strip()
        with contextlib.suppress(ValueError):
            moment = datetime.datetime.strptime(taken, "%Y-%m-%dT%H:%M:%SZ")
            return moment.replace(tzinfo=datetime.timezone.utc)
        return datetime.datetime.now(datetime.timezone.utc)

    def folder(self, part: str, path: str) -> str:
        return f"/{part}"

    def read_text(self, path: str) -> str | None:
        data = self._read(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_head(self, path: str, offset: int, count: int) -> bytes | None:
        data = self._read(path)
        return None if data is None else data[offset : offset + count]

    def listing(self, path: str) -> list[str]:
        if self._files is None:
            return Live().listing(self._place(path))
        prefix = _recorded(path).strip("/") + "/"
        names = {
            name[len(prefix) :].split("/")[0] for name in self._files if name.startswith(prefix)
        }
        return sorted(names)

    def sizes(self, path: str) -> dict[str, int] | None:
        # Weights are not recorded, so a folder listing would call every shard missing.
        sizes = parse_json(self.read_text(f"{path}/files.json"))
        return sizes if isinstance(sizes, dict) else None

    def exists(self, path: str) -> bool:
        return self._read(path) is not None or bool(self.listing(path))

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        text = self.read_text(f"/commands/{name}")
        if text is None:
            return Output("", None, f"the recording has no commands/{name}")
        return Output(text, 0, None)

    def lines(self, name: str, argv: list[str], timeout_s: float) -> t.Iterator[str]:
        yield from self.command(name, argv, timeout_s).text.splitlines()

    def http_get(self, name: str, url: str, keys: t.Sequence[str]) -> str | None:
        return self.read_text(f"/http/{name}")

    def _place(self, path: str) -> str:
        return os.path.join(self._root, _recorded(path).lstrip("/"))

    def _read(self, path: str) -> bytes | None:
        if self._files is not None:
            return self._files.get(_recorded(path).strip("/"))
        return Live().read_head(self._place(path), 0, MAX_TEXT_BYTES)


def _unpack(path: str) -> dict[str, bytes]:
    """The files of an archive by path, without writing any: the top folder is cut off."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None:
                    name = os.path.normpath(member.name).lstrip("/")
                    files[name] = stream.read(MAX_TEXT_BYTES)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a recording: {error}") from error
    tops = {name.split("/")[0] for name in files}
    if len(tops) == 1 and all("/" in name for name in files):
        top = tops.pop()
        if top not in PARTS:
            return {name[len(top) + 1 :]: data for name, data in files.items()}
    return files


# The folders a recording may have at its top.
PARTS = ("proc", "sys", "commands", "http", "model", "draft", "var")

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded host in place of the live one.

This module util is private to the llmops.sglang collection.

A recording mirrors the host: an absolute path of the host is the same path below the recording's
root, the output of a command is C(commands/NAME), an answer of the server is C(http/NAME). What a
recording lacks is unknown, exactly as what a live host refuses to tell. C(meta.json), where there
is one, says what no file can: when it was taken, what was asked, which commands failed and how.

A colon in a path, as in a PCI address, is recorded as an underscore: not every file system takes
one.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import stat
import typing as t

from .._facts import is_int
from .archive import MAX_FILE_BYTES, Members, read_archive
from .shard import Shard
from .source import Live, Output, parse_json

META = "meta.json"
VARIABLES = "vars.yml"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_PCI = re.compile(r"([0-9a-fA-F]{4,8})_([0-9a-fA-F]{2})_([0-9a-fA-F]{2}\.[0-9a-fA-F])")
# The folders a recording may have at its top; any other one is what it was packed with.
_TOPS = ("commands", "draft", "etc", "http", "model", "proc", "sys", "var")


def recorded_path(path: str) -> str:
    """Where a path of the host is in a recording."""
    return "/".join(part for part in path.replace(":", "_").split("/") if part)


class _Archive:
    """The files of an archive."""

    def __init__(self, members: Members) -> None:
        files = [name for name, data in members.items() if data is not None]
        tops = {name.split("/")[0] for name in files}
        top = tops.pop() if len(tops) == 1 and all("/" in name for name in files) else ""
        if top and top not in _TOPS:
            members = {name[len(top) + 1 :]: data for name, data in members.items() if name != top}
        self._members = members

    def read(self, name: str) -> bytes | None:
        return self._members.get(name)

    def listing(self, name: str) -> list[str]:
        prefix = f"{name}/" if name else ""
        inside = (path for path in self._members if path.startswith(prefix))
        return sorted({path[len(prefix) :].split("/")[0] for path in inside})

    def has(self, name: str) -> bool:
        return name in self._members or bool(self.listing(name))


class _Folder:
    """The files below a folder; a link that leads out of it is no file of it."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def _place(self, name: str) -> str | None:
        try:
            place = os.path.realpath(os.path.join(self._root, name))
        except ValueError:  # no file can have such a name
            return None
        inside = place == self._root or place.startswith(self._root + "/")
        return place if inside else None

    def read(self, name: str) -> bytes | None:
        place = self._place(name)
        try:
            # A named pipe would wait for somebody to write.
            if place is None or not stat.S_ISREG(os.stat(place).st_mode):
                return None
        except OSError:
            return None
        return Live().read_head(place, 0, MAX_FILE_BYTES)

    def listing(self, name: str) -> list[str]:
        place = self._place(name)
        return Live().listing(place) if place else []

    def has(self, name: str) -> bool:
        place = self._place(name)
        return place is not None and os.path.exists(place)


class Recorded:
    """A recorded host: a folder, or a tar.gz with one (packed with or without a top folder)."""

    origin = "recording"

    def __init__(self, path: str) -> None:
        """Raises ValueError when there is no recording at C(path)."""
        self._tree: _Archive | _Folder
        if os.path.isfile(path):
            self._tree = _Archive(read_archive(path))
        elif os.path.isdir(path):
            self._tree = _Folder(path)
        else:
            raise ValueError(f"there is no recording at {path}")
        meta = parse_json(self.read_text(META))
        self._meta: dict[str, t.Any] = meta if isinstance(meta, dict) else {}

    @property
    def request(self) -> dict[str, t.Any]:
        """What the host was asked for when it was recorded; empty where that is not known."""
        request = self._meta.get("request")
        return request if isinstance(request, dict) else {}

    @property
    def variables(self) -> str:
        """The role variables of the instance, as YAML; empty when they were not recorded."""
        return self.read_text(VARIABLES) or ""

    def now(self) -> datetime.datetime:
        taken = self._meta.get("taken_at") or (self.read_text("/taken_at") or "").strip()
        with contextlib.suppress(ValueError, TypeError):
            return datetime.datetime.strptime(taken, _TIME).replace(tzinfo=datetime.timezone.utc)
        return datetime.datetime.now(datetime.timezone.utc)

    def folder(self, part: str, path: str) -> str:
        # A model may be one file instead of a folder.
        return f"/{part}/{os.path.basename(path)}" if path.endswith(".gguf") else f"/{part}"

    def read_text(self, path: str) -> str | None:
        data = self._tree.read(recorded_path(path))
        return None if data is None else data.decode("utf-8", "replace")

    def read_head(self, path: str, offset: int, count: int) -> bytes | None:
        data = self._tree.read(recorded_path(path))
        return None if data is None else data[offset : offset + count]

    def listing(self, path: str, pattern: str = "") -> list[str]:
        names = (_PCI.sub(r"\1:\2:\3", name) for name in self._tree.listing(recorded_path(path)))
        return [name for name in names if re.search(pattern, name)]

    def sizes(self, path: str) -> dict[str, int] | None:
        # Weights are not recorded, so a folder listing would call every shard missing.
        sizes = parse_json(self.read_text(f"{path}/files.json"))
        if not isinstance(sizes, dict):
            return None
        return {name: size for name, size in sizes.items() if _is_count(size)}

    def shard(self, path: str) -> Shard | None:
        folder, _slash, name = path.rpartition("/")
        shards = parse_json(self.read_text(f"{folder}/shards.json"))
        told = shards.get(name) if isinstance(shards, dict) else None
        if not isinstance(told, list) or len(told) != len(Shard._fields):
            return None
        shard = Shard(*told)
        sound = (
            (shard.promised_bytes is None or _is_count(shard.promised_bytes))
            and isinstance(shard.digest, str)
            and (shard.problem is None or isinstance(shard.problem, str))
        )
        return shard if sound else None

    def storage(self, path: str) -> dict[str, t.Any] | None:
        storage = parse_json(self.read_text(f"{path}/storage.json"))
        if not isinstance(storage, dict) or not isinstance(storage.get("real_path"), str):
            return None
        rooms = (storage.get(name) for name in ("free_bytes", "total_bytes"))
        return storage if all(room is None or _is_count(room) for room in rooms) else None

    def exists(self, path: str) -> bool:
        return self._tree.has(recorded_path(path))

    def knows(self, name: str) -> bool:
        return name in self._failures() or self._tree.has(f"commands/{name}")

    def note(self, name: str, text: str) -> None:
        pass

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        text = self.read_text(f"/commands/{name}")
        failure = self._failures().get(name)
        if isinstance(failure, dict):
            return Output(text or "", failure.get("status"), failure.get("reason"))
        if text is None:
            return Output("", None, f"the recording has no commands/{name}")
        return Output(text, 0, None)

    def lines(self, name: str, argv: list[str], timeout_s: float) -> t.Iterator[str]:
        yield from self.command(name, argv, timeout_s).text.splitlines()

    def http_get(self, name: str, url: str, keys: t.Sequence[str]) -> str | None:
        return self.read_text(f"/http/{name}")

    def _failures(self) -> dict[str, t.Any]:
        failures = self._meta.get("failures")
        return failures if isinstance(failures, dict) else {}


def _is_count(value: t.Any) -> bool:
    """Whether it is a number of bytes, as a recording made by hand may not have it."""
    return is_int(value) and value >= 0

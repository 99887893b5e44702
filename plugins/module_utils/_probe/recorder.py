# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what the readers read of a host, in the layout of a recording.

This module util is private to the llmops.sglang collection.

Nothing is read for the recording's sake, and nothing is cleaned here: what is kept still has its
secrets. Only L(bundle) lets it out.
"""

from __future__ import annotations

import datetime
import json
import posixpath
import re
import typing as t

from .archive import Members
from .recorded import recorded_path
from .shard import Shard
from .source import Output, Source

# Of one command; a journal of a start has a few megabytes.
MAX_LINES_BYTES = 64 << 20
# An environment is looked at for the secrets in it and for nothing else.
_WITHHELD = re.compile(r"/proc/\d+/environ$")


class Recorder:
    """A source that passes on what another one says, and keeps it.

    What is read twice is said twice: the recording has no room for a second answer.
    """

    def __init__(self, source: Source, withheld: t.Iterable[str] = ()) -> None:
        """C(withheld) are paths of files that may be read and are not to be kept."""
        self.origin = source.origin
        self.members: Members = {}
        #: Commands that failed or could not be run: C(status) and C(reason).
        self.failures: dict[str, dict[str, t.Any]] = {}
        #: What was read of the withheld files.
        self.secrets: list[str] = []
        #: Commands of which not all was kept.
        self.cut: set[str] = set()
        self._source = source
        self._withheld = set(withheld)
        self._texts: dict[str, str | None] = {}
        self._folders: dict[str, str] = {}
        self._shards: dict[str, dict[str, Shard]] = {}
        self._now = source.now().replace(microsecond=0)

    def now(self) -> datetime.datetime:
        return self._now

    def folder(self, part: str, path: str) -> str:
        place = self._source.folder(part, path)
        if place:
            self._folders[part] = posixpath.dirname(place) if place.endswith(".gguf") else place
        return place

    def read_text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self._source.read_text(path)
            if self._is_withheld(path):
                self.secrets.append(self._texts[path] or "")
        text = self._texts[path]
        if text is not None and not self._is_withheld(path):
            self._keep(path, text.encode())
        return text

    def read_head(self, path: str, offset: int, count: int) -> bytes | None:
        data = self._source.read_head(path, offset, count)
        if data is not None and not self._is_withheld(path):
            for name in self._names(path):
                held = self.members.get(name) or b""
                before = held[:offset].ljust(offset, b"\0")
                self.members[name] = before + data + held[offset + len(data) :]
        return data

    def listing(self, path: str, pattern: str = "") -> list[str]:
        names = self._source.listing(path, pattern)
        for name in names:
            self._keep(f"{path}/{name}", None)
        return names

    def sizes(self, path: str) -> dict[str, int] | None:
        sizes = self._source.sizes(path)
        if sizes is not None:
            self._keep_json(f"{path}/files.json", sizes)
        return sizes

    def shard(self, path: str) -> Shard | None:
        shard = self._source.shard(path)
        if shard is not None:
            folder, _slash, name = path.rpartition("/")
            shards = self._shards.setdefault(folder, {})
            shards[name] = shard
            self._keep_json(f"{folder}/shards.json", shards)
        return shard

    def storage(self, path: str) -> dict[str, t.Any] | None:
        storage = self._source.storage(path)
        if storage is not None:
            self._keep_json(f"{path}/storage.json", storage)
        return storage

    def exists(self, path: str) -> bool:
        found = self._source.exists(path)
        if found and path.strip("/") and not self._is_withheld(path):
            self._keep(path, None)
        return found

    def knows(self, name: str) -> bool:
        return self._source.knows(name)

    def note(self, name: str, text: str) -> None:
        self._keep(f"/commands/{name}", text.encode())

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        said = self._source.command(name, argv, timeout_s, stdin)
        if not self._source.knows(name):
            return said
        self.failures.pop(name, None)
        if said.reason is not None or said.status:
            self.failures[name] = {"status": said.status, "reason": said.reason}
        self._keep(f"/commands/{name}", said.text.encode())
        return said

    def lines(self, name: str, argv: list[str], timeout_s: float) -> t.Iterator[str]:
        kept: list[str] = []
        room = MAX_LINES_BYTES
        lines = self._source.lines(name, argv, timeout_s)
        try:
            for line in lines:
                room -= len(line)
                if room > 0:
                    kept.append(line)
                else:
                    self.cut.add(name)
                yield line
        finally:
            # The command ends with its reading.
            close = getattr(lines, "close", None)
            if close:
                close()
            if kept:
                self._keep(f"/commands/{name}", "\n".join([*kept, ""]).encode())

    def http_get(self, name: str, url: str, keys: t.Sequence[str]) -> str | None:
        body = self._source.http_get(name, url, keys)
        if body is not None:
            self._keep(f"/http/{name}", body.encode())
        return body

    def _is_withheld(self, path: str) -> bool:
        return path in self._withheld or _WITHHELD.match(path) is not None

    def _names(self, path: str) -> list[str]:
        """Where a path is in the recording: the model folder and the draft's have fixed names."""
        parts = [
            f"{part}{path[len(place) :]}"
            for part, place in self._folders.items()
            if path == place or path.startswith(f"{place}/")
        ]
        return [recorded_path(name) for name in parts or [path]]

    def _keep(self, path: str, data: bytes | None) -> None:
        """Keep a file, or with None that there is one."""
        for name in self._names(path):
            if data is not None or name not in self.members:
                self.members[name] = data

    def _keep_json(self, path: str, value: t.Any) -> None:
        self._keep(path, json.dumps(value).encode())

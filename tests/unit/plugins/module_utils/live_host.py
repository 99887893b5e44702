# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live host for the tests: a folder in place of `/`, answers in place of programs and servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._probe.shard import Shard
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live, Output


class FakeLive(Live):
    """Reads as the live host does, below a folder. What was not given is not there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: dict[str, Output] = {}
        self.http: dict[str, str] = {}

    def put(self, path: str, text: str) -> None:
        """Make a file of the host."""
        place = Path(self._at(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def say(self, name: str, text: str, status: int = 0) -> None:
        """Let a command say something."""
        self.commands[name] = Output(text, status, None)

    def _at(self, path: str) -> str:
        return f"{self.root}{path}" if path else ""

    def read_head(self, path: str, offset: int, count: int) -> bytes | None:
        return super().read_head(self._at(path), offset, count)

    def listing(self, path: str, pattern: str = "") -> list[str]:
        return super().listing(self._at(path), pattern)

    def sizes(self, path: str) -> dict[str, int] | None:
        return super().sizes(self._at(path))

    def shard(self, path: str) -> Shard | None:
        return super().shard(self._at(path))

    def storage(self, path: str) -> dict[str, Any] | None:
        return {"real_path": path, "free_bytes": 10**12, "total_bytes": 10**13}

    def exists(self, path: str) -> bool:
        return super().exists(self._at(path))

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        return self.commands.get(name, Output("", None, f"{argv[0]}: No such file or directory"))

    def lines(self, name: str, argv: list[str], timeout_s: float) -> Iterator[str]:
        yield from self.command(name, argv, timeout_s).text.split("\n")[:-1]

    def http_get(self, name: str, url: str, keys: Sequence[str]) -> str | None:
        return self.http.get(name)

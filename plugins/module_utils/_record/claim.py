# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One change at a time: who changes an instance right now, in a file that a reboot clears.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .files import write_whole


@dataclass(frozen=True)
class Owner:
    """A play, named by the process that runs it.

    `started` tells it from a later process with the same number; "" where the controller does not
    say when a process was started.
    """

    host: str
    user: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid})"


@dataclass(frozen=True)
class Claim:
    """Who changes the instance.

    `since_s` is in seconds since the epoch, for people. `until_s` is in seconds since boot: a clock
    that is set anew neither ends a claim nor prolongs it.
    """

    owner: Owner
    since_s: float
    until_s: float


class Held(Exception):
    """Another play has the instance."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(str(claim.owner))
        self.claim = claim


class Claims:
    """The claim file of one instance."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def take(self, owner: Owner, lease_s: float, dead: Owner | None = None) -> Claim:
        """Claim the instance for so long; raises Held while another one has it.

        A claim of the same owner is renewed; one that has run out, or of an owner known to be
        `dead`, is taken over. A file that cannot be understood is no claim.
        """
        now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        with self._locked():
            current = self._read()
            if current and current.until_s > now_s and current.owner not in (owner, dead):
                raise Held(current)
            claim = Claim(owner, time.time(), now_s + lease_s)
            write_whole(self._path, json.dumps(asdict(claim)) + "\n", 0o644)
        return claim

    def free(self, owner: Owner) -> bool:
        """Give the instance back; False when this owner does not have it."""
        with self._locked():
            current = self._read()
            if current is None or current.owner != owner:
                return False
            self._path.unlink()
        return True

    def _read(self) -> Claim | None:
        try:
            values = json.loads(self._path.read_text(encoding="utf-8"))
            owner = Owner(**values["owner"])
            return Claim(owner, float(values["since_s"]), float(values["until_s"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Between reading and writing nobody else may write."""
        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

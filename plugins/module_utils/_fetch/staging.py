# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder in which weights arrive, and how it takes its place.

This module util is private to the llmops.sglang collection.

A server is only ever given a folder that was whole when it got its name: files arrive in
C(PATH.incoming), which is renamed when nothing is missing. Killed anywhere, what has arrived stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import typing as t

from .origin import Listing

#: Tells in a folder where it came from. No ending that a server reads.
MARKER = ".sglang-origin"


class Staging:
    """The weights that are to be at a path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = f"{path}.incoming"
        self._old = f"{path}.damaged"

    def origin(self) -> dict[str, str]:
        """C(from) and C(revision) of the folder at the path; empty for one that a user made."""
        with contextlib.suppress(OSError, ValueError):
            with open(os.path.join(self.path, MARKER), encoding="utf-8") as stream:
                found = json.load(stream)
            return found if isinstance(found, dict) else {}
        return {}

    def begin(self, listing: Listing) -> None:
        """Make the folder. Of weights that are there but not whole, the sound files need not be
        fetched: each becomes a hard link. A file of another length is none of them."""
        os.makedirs(self.folder, exist_ok=True)
        for name, size in listing.sizes.items():
            old = os.path.realpath(os.path.join(self.path, name))
            new = os.path.join(self.folder, name)
            if _size(old) == size and not os.path.lexists(new):
                os.makedirs(os.path.dirname(new), exist_ok=True)
                # Another file system has no links; then it is fetched.
                with contextlib.suppress(OSError):
                    os.link(old, new)

    def forget(self, names: t.Iterable[str]) -> None:
        """Remove files that are not what they should be, so that they are fetched anew."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))

    def missing(self, listing: Listing) -> list[str]:
        """Names of the files that have not arrived in full."""
        return [
            name
            for name, size in listing.sizes.items()
            if _size(os.path.join(self.folder, name)) != size
        ]

    def needed_bytes(self, listing: Listing) -> int:
        """What is still to be written, halves of files not counted."""
        return sum(
            listing.sizes[name]
            for name in self.missing(listing)
            if _size(os.path.join(self.path, name)) != listing.sizes[name]
        )

    def arrived_bytes(self) -> int:
        """What of it is on the disk, halves of files included."""
        total = 0
        for folder, _folders, names in os.walk(self.folder):
            for name in names:
                with contextlib.suppress(OSError):
                    # Blocks, not length: half a file may have its full length.
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512
        return total

    def free_bytes(self) -> int:
        """Room on the file system that the folder is, or will be, on."""
        place = os.path.dirname(self.path)
        while not os.path.exists(place):
            place = os.path.dirname(place)
        status = os.statvfs(place)
        return status.f_bavail * status.f_frsize

    def settle(self, origin: str, listing: Listing) -> None:
        """Give the folder its name. A crash in the middle is finished by L(resume)."""
        self._tidy(listing)
        marker = os.path.join(self.folder, MARKER)
        with open(marker, "w", encoding="utf-8") as stream:
            stream.write(json.dumps({"from": origin, "revision": listing.revision}) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._swap()

    def resume(self) -> None:
        """Finish what a crash in L(settle) has left."""
        if os.path.exists(os.path.join(self.folder, MARKER)):
            self._swap()
        _remove(self._old)

    def _tidy(self, listing: Listing) -> None:
        """Remove what the downloaders keep for themselves, and halves that they have given up."""
        for folder, _folders, names in os.walk(self.folder, topdown=False):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.folder) not in listing.sizes:
                    os.unlink(path)
            if not os.listdir(folder):
                os.rmdir(folder)

    def _swap(self) -> None:
        if os.path.lexists(self.path):
            _remove(self._old)
            os.rename(self.path, self._old)
        os.rename(self.folder, self.path)
        _remove(self._old)


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:
        return None


def _remove(path: str) -> None:
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)

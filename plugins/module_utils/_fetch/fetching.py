# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb of the room: have weights at a path, whole, from an origin if need be.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import time
from typing import Any

from .._probe.model import read_model
from .._probe.source import Live
from .job import Job
from .origin import Listing, Origin
from .staging import Staging

_LOOK_S = 2.0


class Refusal(Exception):
    """Why the weights cannot be had, for a person."""


def have(
    path: str, origin: Origin | None, params: dict[str, Any], check_mode: bool
) -> dict[str, Any]:
    """Look at the weights, and fetch them when they are not whole."""
    staging = Staging(path)
    if origin is not None and not check_mode:
        staging.resume()
    found = read_model(Live(), "model", path)
    problem = problem_of(found)
    if problem is None:
        if origin is not None:
            same_origin(staging, origin)
        return report(found)
    if origin is None:
        raise Refusal(
            f"{problem}. Nothing was changed. Finish the copy, or say where the weights are "
            "(sglang_model_path) or come from (sglang_model_hub, sglang_model_rsync; of a draft "
            "model the same with sglang_model_draft_)"
        )
    if params["offline"]:
        raise Refusal(f"{problem}, and nothing may be fetched (sglang_model_offline)")
    if path.endswith(".gguf"):
        raise Refusal(f"{problem}. A single GGUF file is checked, not fetched")
    if check_mode:
        text = f"{path}: {problem}; would be fetched from {origin}"
        return {**report(found), "changed": True, "text": text}
    return Fetching(staging, origin, params).go_on()


def problem_of(found: dict[str, Any]) -> str | None:
    """Why these weights cannot be served, in words."""
    if not found["present"]:
        return str(found["reason"])
    if found["missing_count"]:
        named = ", ".join(found["missing_files"])
        return f"{found['missing_count']} of {found['weights_files']} files missing ({named})"
    if found["damaged_count"]:
        return f"{found['damaged_count']} damaged ({'; '.join(found['damaged_files'])})"
    if not found["weights_files"]:
        return "no weight files"
    return None


def same_origin(staging: Staging, origin: Origin) -> None:
    """Refuse a folder that was fetched from elsewhere: a server may be reading it."""
    there = staging.origin().get("from")
    if there not in (None, str(origin)):
        raise Refusal(
            f"holds what was fetched from {there}, wanted is {origin}. Weights are not changed in "
            "their place: give these a folder of their own (sglang_model_path)"
        )


def report(found: dict[str, Any]) -> dict[str, Any]:
    """What is returned of weights that nothing is fetched for."""
    size = (found["weights_bytes"] or 0) / 1e9
    return {
        "changed": False,
        "present": found["present"],
        "weights_bytes": found["weights_bytes"],
        "weights_files": found["weights_files"],
        "waiting": False,
        "text": f"{found['path']}: {found['weights_files']} weight files, {size:.1f} GB, whole",
    }


class Fetching:
    """A download, from its first byte to the folder's name, over as many calls as it takes."""

    def __init__(self, staging: Staging, origin: Origin, params: dict[str, Any]) -> None:
        self._staging = staging
        self._origin = origin
        self._params = params
        self._job = Job(staging.folder)
        before = params["progress"]
        self._listing = (
            Listing(before["revision"], {name: int(size) for name, size in before["sizes"].items()})
            if before
            else origin.listing()
        )
        self._arrived_bytes = int(before["arrived_bytes"]) if before else 0
        self._moved_at_s = float(before["moved_at_s"]) if before else time.monotonic()
        self._refetched = bool(before and before["refetched"])

    def go_on(self) -> dict[str, Any]:
        """Return when the weights are whole and in place, or C(wait_s) is over."""
        if not self._listing.sizes:
            raise Refusal(f"{self._origin} has no files")
        if not self._params["progress"] and not self._job.running:
            self._start()
        wait_s = self._params["wait_s"]
        until = None if wait_s is None else time.monotonic() + wait_s
        while True:
            if not self._job.running:
                done = self._ended()
                if done is not None:
                    return done
            if until is not None and time.monotonic() >= until:
                return self._report()
            time.sleep(_LOOK_S)
            self._look()

    def _start(self) -> None:
        needed = self._staging.needed_bytes(self._listing)
        free = self._staging.free_bytes() - self._params["reserve_bytes"]
        if needed > free:
            raise Refusal(
                f"{_gb(needed)} have to be fetched from {self._origin}, {_gb(max(free, 0))} are "
                f"free there beside {_gb(self._params['reserve_bytes'])} kept free. Make room, or "
                "set sglang_model_path or sglang_model_reserve_gib"
            )
        self._staging.begin(self._listing)
        if self._staging.missing(self._listing):
            self._job.start(
                self._origin.fetch(self._listing, self._staging.folder), self._origin.environment
            )

    def _ended(self) -> dict[str, Any] | None:
        """What came of a download that runs no more; None when it was started again."""
        missing = self._staging.missing(self._listing)
        if missing:
            raise Refusal(
                f"the download from {self._origin} ended with {len(missing)} of "
                f"{len(self._listing.sizes)} files missing; what arrived is kept, and the next run "
                f"goes on from there. It said: {self._job.last_words()}"
            )
        found = read_model(Live(), "model", self._staging.folder)
        problem = problem_of(found)
        if problem is not None:
            self._again(found, problem)
            return None
        self._staging.settle(str(self._origin), self._listing)
        done = report({**found, "path": self._staging.path})
        text = f"{done['text']}, fetched from {self._origin}"
        return {**self._report(), **done, "changed": True, "text": text}

    def _again(self, found: dict[str, Any], problem: str) -> None:
        """Of the right length and damaged all the same: fetched anew, once."""
        names = [entry.partition(": ")[0] for entry in found["damaged_files"]]
        if self._refetched or not names:
            raise Refusal(f"what arrived from {self._origin} is no whole model: {problem}")
        self._refetched = True
        self._staging.forget(names)
        self._start()

    def _look(self) -> None:
        arrived = self._staging.arrived_bytes()
        if arrived != self._arrived_bytes:
            self._arrived_bytes, self._moved_at_s = arrived, time.monotonic()
        elif time.monotonic() - self._moved_at_s > self._params["stall_s"] and self._job.running:
            self._job.stop()
            raise Refusal(
                f"no byte came from {self._origin} for {self._params['stall_s']} s; what arrived "
                "is kept (sglang_model_stall_s)"
            )

    def _report(self) -> dict[str, Any]:
        total = self._listing.total_bytes
        return {
            "changed": True,
            "present": False,
            "weights_bytes": None,
            "weights_files": len(self._listing.sizes),
            "waiting": True,
            "progress": {
                "arrived_bytes": self._arrived_bytes,
                "total_bytes": total,
                "revision": self._listing.revision,
                "sizes": self._listing.sizes,
                "moved_at_s": self._moved_at_s,
                "refetched": self._refetched,
            },
            "text": f"{self._staging.path}: {_gb(self._arrived_bytes)} of {_gb(total)}",
        }


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"

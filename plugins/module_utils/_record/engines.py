# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installed engines, side by side in one folder, and what still needs which of them.

Private to the collection. An engine is needed by every unit that names it, by the proven ones that
a rollback would bring back, and by every process that has a file of it open. All paths are those of
the host; `root` is the folder that stands in for `/`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MARKER = ".complete.json"
UNFINISHED = ".installing"
_REMOVING = ".removing"
_UNIT_FOLDERS = (
    "etc/systemd",
    "run/systemd",
    "usr/local/lib/systemd",
    "usr/lib/systemd",
)
_UNIT_SUFFIXES = (".service", ".conf")
_PROVEN = "etc/sglang"
# An installation that is older than this without being complete does not go on any more.
_ABANDONED_S = 24 * 3600
_PATH = re.compile(r"/[^\s\"';=,:]+")


@dataclass(frozen=True)
class Engine:
    """One installed engine; `version` is None for one whose installation or removal was cut off."""

    path: Path
    version: str | None
    installed_s: float


def find_engines(folder: Path) -> list[Engine]:
    """Return the engines that the role installed in a folder, the newest first.

    What somebody else put there is none of them.
    """
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    engines = [engine for path in names if (engine := _engine(path)) is not None]
    return sorted(engines, key=lambda engine: -engine.installed_s)


def _engine(path: Path) -> Engine | None:
    if path.is_symlink() or not path.is_dir() or path.name.endswith(UNFINISHED):
        return None
    marker = path / MARKER
    if marker.is_file():
        return Engine(path, _version(marker), marker.stat().st_mtime)
    begun_s = path.stat().st_mtime
    half = path.name.endswith(_REMOVING) or (
        unfinished(path).exists() and time.time() - begun_s > _ABANDONED_S
    )
    return Engine(path, None, begun_s) if half else None


def _version(marker: Path) -> str:
    try:
        return str(json.loads(marker.read_text(encoding="utf-8"))["version"])
    except (ValueError, KeyError, TypeError):
        return "unknown"


def unfinished(path: Path) -> Path:
    """Return the folder whose existence says that an engine is not complete yet."""
    return path.with_name(path.name + UNFINISHED)


def needed_by(engines: list[Engine], root: Path) -> dict[Path, str]:
    """Return, by path, who needs an engine: a unit's file or a process. Ask as root.

    Raises OSError where that cannot be told; then nothing may be removed.
    """
    by_place = {os.path.realpath(engine.path): engine.path for engine in engines}
    # Most paths are those of the same few libraries: each is looked at once.
    named = dict([*_paths_of_processes(root), *_paths_in_units(root)])
    needed: dict[Path, str] = {}
    for path, who in named.items():
        for place in _places(root, path):
            if place in by_place:
                needed.setdefault(by_place[place], who)
    return needed


def remove(engine: Engine) -> None:
    """Remove an engine; cut off in the middle it does not look like a complete one."""
    path = engine.path
    if not path.name.endswith(_REMOVING):
        path = path.with_name(path.name + _REMOVING)
        shutil.rmtree(path, ignore_errors=True)
        engine.path.rename(path)
    if path.exists():
        shutil.rmtree(path)
    shutil.rmtree(unfinished(engine.path), ignore_errors=True)


def _places(root: Path, path: str) -> Iterator[str]:
    """A path and the folders on the way to it, each without symbolic links.

    The way matters: an engine's interpreter is itself a link out of the engine.
    """
    here = root / path.lstrip("/")
    return (_real(place) for place in (here, *here.parents))


@cache
def _real(path: Path) -> str:
    return os.path.realpath(path)


def _paths_in_units(root: Path) -> Iterator[tuple[str, str]]:
    for path in _unit_files(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        for found in set(_PATH.findall(text)):
            yield found, f"/{path.relative_to(root)}"


def _unit_files(root: Path) -> Iterator[Path]:
    for name in _UNIT_FOLDERS:
        for suffix in _UNIT_SUFFIXES:
            # Links to units elsewhere are followed by systemd, too.
            yield from (path for path in (root / name).rglob(f"*{suffix}") if path.is_file())
    yield from (root / _PROVEN).glob("*/proven/*/*.service")


def _paths_of_processes(root: Path) -> Iterator[tuple[str, str]]:
    """A title may hide the command line, and the interpreter is a link out of the engine; the
    libraries that are mapped tell in any case."""
    for folder in (root / "proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            libraries = _mapped(folder / "maps")
        except (FileNotFoundError, ProcessLookupError):
            # It ended meanwhile.
            continue
        named = {found for word in words for found in _PATH.findall(word)}
        for path in named | libraries:
            yield path, f"process {folder.name}"


def _mapped(maps: Path) -> set[str]:
    try:
        text = maps.read_text(encoding="utf-8", errors="replace")
    except PermissionError:
        # What even root may not read, such as a container's init, has more rights than a server.
        return set()
    return {line[line.index("/") :] for line in text.splitlines() if "/" in line}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks on the host: memory, weights, engine, ports, disk, time.

Private to the collection.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._engine import endpoints
from .._engine.version import Version
from .._layout import cache_folder, state_folder
from .access import find_obstacle
from .checks import BLOCKED, GIB, WARNED, Check, Subject, gib, passed, unknown
from .processes import Process, listeners

# Caches of compiled kernels and tokenizers grow to this much on a first start.
_CACHE_NEEDED_BYTES = 4 * GIB
_STATE_NEEDED_BYTES = GIB
# Ranks that finished loading wait this long for the others, then the engine gives up.
_LOAD_BARRIER_S = 480


def check_memory(subject: Subject) -> Check:
    """The host pools must fit into what is free once the old ones are gone."""
    name, variable = "memory", "sglang_hicache_reserve_gib"
    pool_bytes = subject.planned("capacity", "host", "bytes_node")
    reserve_bytes = subject.planned("capacity", "ram", "reserve_bytes") or 0
    if pool_bytes is None:
        return unknown(name, "the plan does not know the size of its host pools", "host pools")
    if pool_bytes == 0:
        return passed(name, "no host pool is planned", "nothing")
    needed = f"{gib(pool_bytes)} for the host pools and {gib(reserve_bytes)} kept free"
    available_bytes = subject.fact("memory", "available_bytes")
    if available_bytes is None:
        return unknown(name, "the available memory could not be read", needed)
    # The plan's own number, from the same facts: gate and plan must not count differently. It only
    # comes back at the stop of a server that still runs.
    held_bytes = 0
    if subject.state.running:
        held_bytes = subject.planned("capacity", "ram", "held_by_instance_bytes") or 0
    ahead_bytes = available_bytes + held_bytes
    measured = f"{gib(ahead_bytes)} available"
    if held_bytes:
        measured += f" after the old pools ({gib(held_bytes)}) are gone"
    remedy = "stop what else holds memory, or plan a smaller pool"
    certainty = subject.planned("capacity", "host", "certainty")
    over = [
        f"{limit.get('name')} allows {gib(limit['limit_bytes'])}"
        for limit in subject.planned("capacity", "limits") or []
        if limit.get("limit_bytes") is not None
        and limit.get("needed_bytes") is not None
        and limit["needed_bytes"] > limit["limit_bytes"]
    ]
    if pool_bytes + reserve_bytes > ahead_bytes or certainty == "no":
        return Check(
            name,
            BLOCKED,
            "; ".join([measured, *over]),
            needed,
            remedy,
            variable,
            passing=subject.just_stopped and certainty != "no",
        )
    if certainty == "likely":
        return Check(
            name,
            WARNED,
            f"{measured}; it starts unless one rank allocates before another one has looked",
            needed,
            "a smaller pool starts for certain",
            "sglang_hicache_ratio",
        )
    return passed(name, measured, needed)


def check_weights(subject: Subject) -> Check:
    """Every file of model and draft must be there, whole, and readable for the unit's user."""
    name, needed = "weights", "all weight files, complete and readable"
    variable, remedy = "sglang_model_path", "fetch the files again"
    problems: list[str] = []
    unclear: list[str] = []
    fetching: list[str] = []
    seen: list[str] = []
    for part in ("model", "draft"):
        model = subject.fact(part)
        if model is None:
            if part == "model":
                unclear.append("the model folder was not probed")
            continue
        path = model.get("path") or part
        found = _weight_problems(model)
        problems += [f"{path}: {problem}" for problem in found]
        unfinished = model.get("unfinished_files") or []
        if unfinished:
            count = model.get("unfinished_count") or len(unfinished)
            fetching.append(f"{path}: {count} unfinished downloads, the first is {unfinished[0]}")
        count, size = model.get("weights_files"), model.get("weights_bytes")
        if not found and (count is None or size is None):
            unclear.append(f"{path}: the weight files could not be counted")
        elif not found:
            seen.append(f"{part}: {count} files, {size / 1e9:.1f} GB")
    if not problems:
        problems, remedy = _closed_to_the_user(subject)
        variable = "sglang_user"
    if problems:
        return Check(name, BLOCKED, "; ".join(problems), needed, remedy, variable)
    if unclear:
        return unknown(name, "; ".join(unclear), needed)
    if fetching:
        measured = "; ".join([*seen, *fetching])
        return Check(
            name, WARNED, measured, needed, "let the download end, or remove what is left of it"
        )
    return passed(name, "; ".join(seen), needed)


def _weight_problems(model: dict[str, Any]) -> list[str]:
    """Why the engine would not load a model, in words."""
    if not model.get("present"):
        return [str(model.get("reason") or "not there")]
    found: list[str] = []
    missing = model.get("missing_count") or len(model.get("missing_files") or [])
    if missing:
        first = (model.get("missing_files") or ["?"])[0]
        found.append(f"{missing} files missing, the first is {first}")
    return found + list(model.get("damaged_files") or [])


def _closed_to_the_user(subject: Subject) -> tuple[list[str], str]:
    """Files that the unit's user may not read, and the remedy; nothing where it cannot be tried."""
    user = subject.service("User") or "root"
    for part in ("model", "draft"):
        path = subject.fact(part, "path")
        if not path:
            continue
        try:
            obstacle = find_obstacle(
                subject.root / str(path).lstrip("/"), user, subject.service("Group")
            )
        except (LookupError, PermissionError):
            # The check of the arguments tells of a user that does not exist.
            return [], ""
        if obstacle:
            problem = f"{user} cannot read {obstacle.path}: {obstacle.reason}"
            return [problem], f"give {user} the right to read it, or choose another user"
    return [], ""


def check_engine(subject: Subject) -> Check:
    """The engine that the plan was made for must be the one that is installed."""
    name, variable = "engine", "sglang_engine_path"
    wanted = str(subject.planned("engine", "version") or "")
    needed = f"SGLang {wanted}" if wanted else "an installed SGLang"
    engine = subject.fact("engine")
    if engine is None:
        return unknown(name, "the engine was not probed", needed)
    path = engine.get("path") or subject.planned("engine", "path")
    if not engine.get("present"):
        reason = engine.get("reason") or "not there"
        return Check(name, BLOCKED, f"{path}: {reason}", needed, "install it", variable)
    installed = engine.get("version")
    if installed is None:
        return unknown(name, f"{path} does not tell its version", needed)
    if wanted and Version.parse(installed) != Version.parse(wanted):
        return Check(
            name,
            BLOCKED,
            f"SGLang {installed} in {path}",
            needed,
            "install the version of the plan, or plan for the installed one",
            "sglang_engine_version",
        )
    stand_in = " (a double: it answers, it does not compute)" if engine.get("double") else ""
    return passed(name, f"SGLang {installed}{stand_in}", needed)


def check_ports(subject: Subject) -> Check:
    """The server's ports must be free, or held by the very instance that will be replaced."""
    main = int(subject.flag("--port") or 30000)
    wanted = endpoints.ports(main, subject.flag("--enable-dp-attention") is not None)
    name, needed = "ports", f"port{'s' if len(wanted) > 1 else ''} {_span(wanted)} free"
    try:
        taken = listeners(subject.root, wanted)
    except OSError as error:
        return unknown(name, f"the kernel's table of sockets: {error.strerror}", needed)
    foreign = {
        port: holders
        for port, holders in taken.items()
        if not holders or any(holder.unit != subject.unit for holder in holders)
    }
    if not foreign:
        return passed(name, "held by this instance" if taken else "free", needed)
    listed = "; ".join(
        f"{port} is taken by {_owner(holders)}" for port, holders in sorted(foreign.items())
    )
    return Check(name, BLOCKED, listed, needed, "stop it, or choose another port", "sglang_port")


def _owner(holders: list[Process]) -> str:
    if not holders:
        return "a process that cannot be seen"
    first = holders[0]
    return f"{first.unit or first.title} (process {first.pid})"


def _span(ports: tuple[int, ...]) -> str:
    rest = f" and {ports[1]} to {ports[-1]}" if len(ports) > 1 else ""
    return f"{ports[0]}{rest}"


def check_disk(subject: Subject) -> Check:
    """State and caches need room, else the engine ends in the middle of a compilation."""
    instance = str(subject.planned("instance") or "")
    folders = (
        (cache_folder(instance), _CACHE_NEEDED_BYTES),
        (state_folder(instance), _STATE_NEEDED_BYTES),
    )
    name = "disk"
    needed = " and ".join(f"{gib(size)} in {folder}" for folder, size in folders)
    measured: list[str] = []
    short = False
    for folder, size in folders:
        try:
            free_bytes = _free_bytes(subject.root / folder.lstrip("/"))
        except OSError as error:
            return unknown(name, f"{folder}: {error.strerror}", needed)
        short = short or free_bytes < size
        measured.append(f"{gib(free_bytes)} free in {folder}")
    if short:
        return Check(name, BLOCKED, "; ".join(measured), needed, "make room on that file system")
    return passed(name, "; ".join(measured), needed)


def _free_bytes(folder: Path) -> int:
    """Return the free bytes of the file system that holds, or will hold, the folder."""
    while not folder.exists():
        folder = folder.parent
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def check_load_barrier(subject: Subject) -> Check:
    """A rank that loads much longer than the first one makes the engine give up."""
    name, needed = "load_barrier", f"every rank loaded within {_LOAD_BARRIER_S} s of the first"
    load_s = subject.fact("server", "startup", "load_s")
    if load_s is None:
        return unknown(name, "no load of this model has been measured yet", needed)
    measured = f"the slowest rank took {load_s:.0f} s last time"
    if load_s <= _LOAD_BARRIER_S:
        return passed(name, measured, needed)
    return Check(
        name,
        WARNED,
        measured,
        needed,
        "faster storage, or a model folder that fits the page cache",
        "sglang_model_path",
    )

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the running process already do what the plan says?

The answer comes from the process itself, not from whether a file changed: a play that was
killed between writing the unit and restarting it is finished by the next run.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._layout import CREDENTIAL, credential_path
from .._probe.redact import REDACTED, is_secret
from .processes import arguments_of, environment_of
from .unit import UnitState

FINGERPRINT = "LLMOPS_SGLANG_FINGERPRINT"
# What systemd puts into the environment of every service by itself.
_BY_SYSTEMD = re.compile(
    r"(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TERM|PWD|OLDPWD|SHLVL|_|container|TZ"
    r"|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|NOTIFY_SOCKET|MAINPID|MANAGERPID"
    r"|(?:STATE|CACHE|LOGS|RUNTIME|CONFIGURATION|CREDENTIALS)_DIRECTORY"
    r"|MEMORY_PRESSURE_\w+|WATCHDOG_\w+|LISTEN_\w+|MONITOR_\w+|XDG_RUNTIME_DIR|DEBUG_INVOCATION)"
)
_FLAG = re.compile(r"--?[A-Za-z]")
# The parts of a fingerprint, (kind, name): what argv and environment cannot show.
_FINGERPRINT_PARTS = (("engine", "engine"), ("model", "model"), ("model", "draft"))

Difference = dict[str, Any]


@dataclass(frozen=True)
class Need:
    """What must happen to the unit, and why. `doubt` says what could not be compared."""

    need: str
    differences: list[Difference] = field(default_factory=list)
    doubt: str | None = None


def flags_of(argv: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Split a command line into what stands before the first flag and {flag: values}.

    `--flag=value` counts as `--flag value`; a repeated flag collects all its values. The order
    of the flags is lost on purpose: it means nothing to the engine.
    """
    head: list[str] = []
    flags: dict[str, list[str]] = {}
    current = head
    for part in argv:
        if part.startswith("--") and _FLAG.match(part):
            name, equals, value = part.partition("=")
            current = flags.setdefault(name, [])
            if equals:
                current.append(value)
        else:
            current.append(part)
    return head, flags


def compare_arguments(running: list[str], wanted: list[str]) -> list[Difference]:
    """Compare two command lines of the engine, the interpreter first."""
    differences: list[Difference] = []
    running_head, running_flags = flags_of(running)
    wanted_head, wanted_flags = flags_of(wanted)
    if running_head[:1] != wanted_head[:1]:
        differences.append(
            _difference("engine", "interpreter", " ".join(running_head[:1]), wanted_head[0])
        )
    if running_head[1:] != wanted_head[1:]:
        differences.append(
            _difference(
                "argument", "command", " ".join(running_head[1:]), " ".join(wanted_head[1:])
            )
        )
    # In the order of the plan, then what only the running process has.
    for name in [*wanted_flags, *(flag for flag in running_flags if flag not in wanted_flags)]:
        now, then = running_flags.get(name), wanted_flags.get(name)
        if now != then:
            differences.append(_difference("argument", name, _shown(now), _shown(then)))
    return differences


def compare_environment(
    running: dict[str, str], wanted: dict[str, str], outside: Callable[[], set[str]]
) -> list[Difference]:
    """Compare two environments, without what systemd adds and what is set outside the unit.

    `outside` is asked only when something differs.
    """
    differing = [
        name
        for name in [*wanted, *(name for name in running if name not in wanted)]
        if name != FINGERPRINT
        and running.get(name) != wanted.get(name)
        and (name in wanted or not _BY_SYSTEMD.fullmatch(name))
    ]
    if differing:
        ignored = outside()
        differing = [name for name in differing if name not in ignored]
    return [
        _difference("environment", name, running.get(name), wanted.get(name)) for name in differing
    ]


def compare_fingerprints(running: str | None, wanted: str | None) -> list[Difference]:
    """Compare what argv and environment cannot show: engine, weights, draft weights."""
    if wanted is None or running == wanted:
        return []
    if running is None:
        return [_difference("environment", FINGERPRINT, None, wanted)]
    now, then = running.split(":"), wanted.split(":")
    if len(now) == len(then) == len(_FINGERPRINT_PARTS):
        return [
            _difference(kind, f"{name} fingerprint", old, new)
            for (kind, name), old, new in zip(_FINGERPRINT_PARTS, now, then)
            if old != new
        ]
    return [_difference("model", "fingerprint", running, wanted)]


def compare_secrets(
    root: Path, plan: dict[str, Any], wanted: list[str], secrets: dict[str, str] | None
) -> list[Difference]:
    """Compare the secrets that the process was started with and those it is to have.

    Nothing of either is kept; that they differ is all that is told. `secrets` is None where
    nobody told them.
    """
    given = credential_path(str(plan.get("instance") or ""))
    if secrets is None or given not in wanted:
        return []
    try:
        running = json.loads((root / given.lstrip("/")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # It is not there, or not ours: argv and the check of the unit tell why.
        return []
    if running == secrets:
        return []
    return [_difference("secrets", CREDENTIAL, REDACTED, f"{REDACTED} (changed)")]


def find_need(
    state: UnitState,
    plan: dict[str, Any],
    outside: Callable[[], set[str]],
    root: Path = Path("/"),
    proven: dict[str, Any] | None = None,
    secrets: dict[str, str] | None = None,
) -> Need:
    """Compare the main process of the unit with the plan.

    `plan` needs `argv` and `environment`. `proven` is the record of the last proof; it decides
    when the process hides both its command line and its environment.
    """
    if state.main_pid is None:
        return Need("start")
    wanted_environment = {
        name: str(value) for name, value in (plan.get("environment") or {}).items()
    }
    wanted_argv = [str(part) for part in plan["argv"]]
    fingerprint = wanted_environment.get(FINGERPRINT)
    try:
        argv = arguments_of(root, state.main_pid)
        environment = environment_of(root, state.main_pid)
    except PermissionError:
        return Need("restart", doubt=f"process {state.main_pid} may only be read by root")
    except OSError:
        # It ended between the two looks.
        return Need("start")

    if argv[0].startswith("/"):
        differences = compare_arguments(argv, wanted_argv)
        differences += compare_environment(environment, wanted_environment, outside)
        differences += compare_fingerprints(environment.get(FINGERPRINT), fingerprint)
        differences += compare_secrets(root, plan, wanted_argv, secrets)
        return Need("restart" if differences else "none", differences)

    # A process title has replaced the command line, and may reach into the environment.
    doubt = f"process {state.main_pid} shows a title instead of its command line"
    if FINGERPRINT in environment:
        differences = compare_fingerprints(environment[FINGERPRINT], fingerprint)
        return Need("restart" if differences else "none", differences, doubt)
    same = (
        proven is not None
        and fingerprint is not None
        and proven.get("fingerprint") == fingerprint
        and proven.get("invocation_id") == state.invocation_id
    )
    return Need("none" if same else "restart", [], doubt)


def _shown(values: list[str] | None) -> str | None:
    """Return the values of a flag as one text; a bare flag shows as an empty one."""
    return None if values is None else " ".join(values)


def _difference(kind: str, name: str, running: str | None, wanted: str | None) -> Difference:
    if is_secret(name):
        running = None if running is None else REDACTED
        wanted = None if wanted is None else REDACTED
    return {"kind": kind, "name": name, "running": running, "wanted": wanted}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is anything left to do beside a process that already runs as planned?

The next start reads the files and settings of now, so they must be right as well.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .._layout import secrets_file
from .checks import dig
from .unit import Run, UnitState, run_command

_PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,NeedDaemonReload"
# A unit that others start cannot be enabled.
_AT_BOOT = ("enabled", "static")


def what_is_left(
    state: UnitState,
    plan: Mapping[str, Any],
    proven: Mapping[str, Any] | None,
    wanted: Mapping[str, Any],
    secrets: Mapping[str, str] | None,
    root: Path = Path("/"),
    run: Run = run_command,
) -> list[str]:
    """Return what a deployment would still do, one phrase each; empty when nothing is left.

    `wanted` has `files`, digests by path, and `services` that must run where they are installed.
    """
    return [
        *_unproven(state, plan, proven),
        *_files(root, wanted.get("files") or {}),
        *_secrets(root, str(plan.get("instance") or ""), secrets),
        *_units(str(plan.get("unit") or ""), wanted.get("services") or [], run),
    ]


def _unproven(
    state: UnitState, plan: Mapping[str, Any], proven: Mapping[str, Any] | None
) -> Iterator[str]:
    same = (dig(proven, "invocation_id"), dig(proven, "fingerprint"))
    if state.invocation_id is None or same != (state.invocation_id, plan.get("fingerprint")):
        yield "the running server is not proven"


def _files(root: Path, digests: Mapping[str, str]) -> Iterator[str]:
    for path, digest in digests.items():
        file = root / path.lstrip("/")
        try:
            content, mode = file.read_bytes(), file.stat().st_mode
        except OSError:
            yield f"{path} is not there"
            continue
        if hashlib.sha256(content).hexdigest() != digest or mode & 0o777 != 0o644:
            yield f"{path} is not as planned"


def _secrets(root: Path, instance: str, secrets: Mapping[str, str] | None) -> Iterator[str]:
    if secrets is None:
        return
    file = root / secrets_file(instance).lstrip("/")
    try:
        same = json.loads(file.read_text(encoding="utf-8")) == secrets
        private = file.stat().st_mode & 0o777 == 0o600
    except (OSError, ValueError):
        same = private = False
    if not (same and private):
        yield "the secrets file is not as planned"


def _units(unit: str, services: Iterable[str], run: Run) -> Iterator[str]:
    """The unit must come up at boot as its file says now, and so must what GPUs need."""
    text = run(["systemctl", "show", unit, *services, f"--property={_PROPERTIES}"])
    for block in text.strip().split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        name = values.get("Id", "")
        if values.get("LoadState") == "not-found" and name != unit:
            continue
        if values.get("UnitFileState") not in _AT_BOOT:
            yield f"{name} does not start at boot"
        if values.get("ActiveState") != "active":
            yield f"{name} is not active"
        if values.get("NeedDaemonReload") == "yes" and name == unit:
            yield f"systemd has not read {name} as it is now"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other instances on the host that hold a pool in its RAM, or will once they start.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

from .._layout import proven_folder, proven_record, unit_file
from .cgroup import MemoryGroup
from .held import read_held
from .source import Source, read_json

Facts = dict[str, t.Any]

_UNITS = "/etc/systemd/system"
_ENABLED = f"{_UNITS}/multi-user.target.wants"
_GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd")
_NAME = r"^sglang-(.+)\.service$"
_HOST_POOL = re.compile(r"--enable-(?:hierarchical-cache|hicache)\b")


def read_neighbours(source: Source, unit: str) -> list[Facts]:
    """The units of other instances that run or will at the next boot, and have a host pool.

    C(host_bytes) is what all their ranks pin by their last proof; None when there was none.
    """
    enabled = source.listing(_ENABLED, _NAME)
    found: list[Facts] = []
    for name in source.listing(_UNITS, _NAME):
        match = re.fullmatch(_NAME, name)
        if not match or name == unit:
            continue
        group = f"/system.slice/{name}"
        running = any(source.exists(f"{root}{group}") for root in _GROUPS)
        if not running and name not in enabled:
            continue
        if not _HOST_POOL.search(source.read_text(unit_file(match[1])) or ""):
            continue
        memory = MemoryGroup(source, name, {"ControlGroup": group}, None)
        held = read_held(source, memory) if running else {}
        found.append(
            {
                "unit": name,
                "running": running,
                "shmem_bytes": held.get("shmem_bytes"),
                "rss_bytes": held.get("rss_bytes"),
                "host_bytes": _pinned(source, match[1]),
            }
        )
    return found


def _pinned(source: Source, instance: str) -> int | None:
    """Bytes of the host pools of all ranks, by the plan that was proven last."""
    record = _mapping(read_json(source, proven_record(instance)))
    folder = f"{proven_folder(instance)}/{record.get('invocation_id')}"
    capacity = _mapping(_mapping(read_json(source, f"{folder}/plan.json")).get("capacity"))
    pinned = _mapping(capacity.get("host")).get("bytes_node")
    return pinned if isinstance(pinned, int) else None


def _mapping(value: t.Any) -> Facts:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check is, and everything one may look at.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._facts import devices
from .unit import UnitState

GIB = 2**30

PASSED = "passed"
BLOCKED = "blocked"
WARNED = "warned"
UNKNOWN = "unknown"
SKIPPED = "skipped"
OVERRIDDEN = "overridden"


@dataclass(frozen=True)
class Check:
    """One named answer. `remedy` and `variable` are None where nothing is to be done.

    `passing` marks a state that ends by itself within a short time: memory that is still being
    released. It turns a refusal into "wait".
    """

    id: str
    status: str
    measured: str
    needed: str
    remedy: str | None = None
    variable: str | None = None
    passing: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that the module returns."""
        values = asdict(self)
        del values["passing"]
        return values


def passed(name: str, measured: str, needed: str) -> Check:
    """Return a check that found what it needs."""
    return Check(name, PASSED, measured, needed)


def unknown(name: str, reason: str, needed: str, remedy: str | None = None) -> Check:
    """Return a check that could not be made; the reason stands where the measurement would."""
    return Check(name, UNKNOWN, reason, needed, remedy)


@dataclass(frozen=True)
class Subject:
    """The host, the plan and the unit that the checks judge.

    `facts` is ansible_facts.sglang; any part may be missing. `root` stands in for `/`.
    `just_stopped` says that the last process ended moments ago, so memory may still come back.
    `window` is when restarts are allowed, as sglang_restart_window has it; "" is always.
    `restarts_max` restarts by plays are allowed in `restarts_hours`; 0 allows any number.
    """

    plan: dict[str, Any]
    facts: dict[str, Any]
    state: UnitState
    unit: str
    need: str = "restart"
    root: Path = Path("/")
    just_stopped: bool = False
    window: str = ""
    restarts_max: int = 0
    restarts_hours: float = 24

    def fact(self, *path: str) -> Any:
        """Return a fact by its path, None when any part of it is missing."""
        return dig(self.facts, *path)

    def planned(self, *path: str) -> Any:
        """Return a value of the plan by its path, None when any part of it is missing."""
        return dig(self.plan, *path)

    @property
    def devices(self) -> list[dict[str, Any]]:
        """The GPUs that the probe saw."""
        return devices(self.facts)

    @property
    def gpus_needed(self) -> int:
        """GPUs that the plan takes on this host: one per rank."""
        return int(self.planned("capacity", "ranks_per_node") or 1)

    @property
    def own_devices(self) -> list[dict[str, Any]]:
        """The GPUs that the plan gives to its ranks; the first ones where it does not say."""
        planned = self.planned("capacity", "gpus")
        if not planned:
            return self.devices[: self.gpus_needed]
        return [device for device in self.devices if device.get("index") in planned]

    @property
    def no_gpu_reason(self) -> str | None:
        """Why this is a host without any GPU, or None when it has, or should have, some.

        A loaded kernel module means that GPUs are expected even if none can be listed.
        """
        if self.devices or self.fact("gpu", "driver", "loaded"):
            return None
        if self.fact("gpu") is None:
            return "the GPUs were not probed"
        reason = self.fact("gpu", "reason")
        return "no GPU on this host" + (f" ({reason})" if reason else "")

    def flag(self, name: str) -> str | None:
        """Return the value of a planned flag: "" for a bare one, None when it is not planned."""
        for argument in self.planned("arguments") or []:
            if argument.get("flag") == name:
                return " ".join(str(value) for value in argument.get("values") or [])
        return None

    def service(self, key: str) -> str | None:
        """Return a key of the planned unit's [Service] section."""
        for section, pairs in self.planned("sections") or []:
            if section == "Service":
                for name, value in pairs:
                    if name == key:
                        return str(value)
        return None


def dig(mapping: Any, *path: str) -> Any:
    """Walk down nested mappings; None as soon as one is not there."""
    for key in path:
        if not isinstance(mapping, dict):
            return None
        mapping = mapping.get(key)
    return mapping


def gib(size_bytes: float) -> str:
    """Write bytes as GiB, with one decimal below 100; less than a tenth of one as MiB."""
    value = size_bytes / GIB
    if 0 < value < 0.1:
        return f"{size_bytes / 2**20:.1f} MiB"
    return f"{value:.0f} GiB" if value >= 100 else f"{value:.1f} GiB"

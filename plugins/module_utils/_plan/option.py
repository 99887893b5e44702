# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One way to hold more context in parallel, and the ground that all of them start from.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .device import Device
from .host import HostCase, host_case
from .ram import Ram
from .setting import Setting


@dataclass(frozen=True)
class Option:
    """One way, before it is ranked.

    Tokens are unique ones of one copy of the model: `device_tokens` on the GPUs, `tokens` in
    reach of either tier. `copies` is how many data-parallel copies there are then.
    """

    title: str
    device_tokens: int
    tokens: int
    ram_bytes: int
    certainty: str
    variables: dict[str, Any]
    arithmetic: str
    costs: list[str]
    note: str | None = None
    same_precision: bool = True
    copies: int = 1


@dataclass(frozen=True)
class Ground:
    """What all options start from."""

    facts: Mapping[str, Any]
    wishes: Mapping[str, Any]
    setting: Setting
    device: Device
    ram: Ram | None

    def case(self, setting: Setting, device_tokens: int) -> HostCase | None:
        """Host tiers on a device tier of so many tokens, None where there cannot be any."""
        if setting.unified_memory:
            return None
        error = self.device.error_percent
        return host_case(setting, self.ram, device_tokens, self.wishes, error)

    @property
    def copies(self) -> int:
        """Data-parallel copies of the model now."""
        return self.setting.parallel.dp

    @property
    def context_tokens(self) -> int:
        """Length of the requests that are counted."""
        return int(self.wishes["sglang_plan_context_tokens"])

    @property
    def is_capped(self) -> bool:
        """Whether the user fixes the device tier, so that no room on the GPU can enlarge it."""
        return self.wishes.get("sglang_max_total_tokens") is not None

    @property
    def fraction(self) -> float | None:
        """The share of RAM that the user gives the engine's own sizing."""
        value = self.wishes.get("sglang_hicache_host_memory_fraction")
        return None if value is None else float(value)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: the plain CPU platform that also accepts EAGLE-3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sglang_plain_cpu import declare_torchvision_ops
from sglang_plain_cpu.platform import PlainCpuPlatform

from .chain import cache_locs


class PlainCpuSpecPlatform(PlainCpuPlatform):
    """Adds the two seams that SGLang gives to platforms for speculative decoding."""

    def supports_speculative_algorithm(self, algorithm: str) -> bool:
        return algorithm == "EAGLE3"

    def get_speculative_cache_locs_fn(self) -> Callable[..., Any]:
        return cache_locs


def activate() -> str:
    """SGLang's entry point: the dotted name of the platform class."""
    declare_torchvision_ops()
    return "sglang_cpu_spec.platform.PlainCpuSpecPlatform"

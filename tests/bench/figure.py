# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark measured, and the bound that it has to hold.

A machine is not another one, and neither is it the same tomorrow: a figure with a bound is a size,
a count, or a ratio of two times taken in the same run, never a time by itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured value. `bound` says what is asked of it, and is empty where nothing is."""

    name: str
    value: float
    unit: str
    bound: str = ""
    holds: bool = True


def at_most(name: str, value: float, unit: str, bound: float) -> Figure:
    """A value that may not be larger than `bound`, in the same unit."""
    return Figure(name, value, unit, f"at most {bound:g}", value <= bound)


def at_least(name: str, value: float, unit: str, bound: float) -> Figure:
    """A value that may not be smaller than `bound`, in the same unit."""
    return Figure(name, value, unit, f"at least {bound:g}", value >= bound)


def told(name: str, value: float, unit: str) -> Figure:
    """A value that is only told, so that the ones with a bound can be judged."""
    return Figure(name, value, unit)

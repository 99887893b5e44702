# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are changed when, so that enough capacity is left at any time. Pure.

Private to the collection.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .member import NOTHING, Member


class NoSchedule(ValueError):
    """The wishes cannot be met; the text says which one, and what to change."""


@dataclass(frozen=True)
class Wish:
    """How hosts are to be taken.

    `serial` is as Ansible's own: numbers and percentages of all hosts, the last one repeated.
    `canary` hosts come before that. `outside` counts workers that are not part of this run, which
    are taken for serving ones.
    """

    serial: Any = 1
    canary: int = 1
    min_available: Any = 0
    min_tokens: int = 0
    outside: int = 0


@dataclass(frozen=True)
class Schedule:
    """The hosts without work, then batches of the others, in order."""

    batches: tuple[tuple[str, ...], ...]
    idle: tuple[str, ...]
    #: How many of the first batches are canaries.
    canaries: int
    #: Workers that have to serve at any time.
    floor: int

    def batch_of(self, name: str) -> int | None:
        """Number of a host's batch, from 1; None without work."""
        numbered = enumerate(self.batches, start=1)
        return next((number for number, batch in numbered if name in batch), None)

    @property
    def order(self) -> list[str]:
        """All hosts as the play goes through them."""
        return [name for batch in (self.idle, *self.batches) for name in batch]

    @property
    def sizes(self) -> list[int]:
        """As the keyword `serial` takes them; the hosts without work go first, all at once."""
        return [len(batch) for batch in (self.idle, *self.batches) if batch]


def compose(members: Sequence[Member], wish: Wish) -> Schedule:
    """Put hosts into batches. Raises NoSchedule."""
    floor = _count(wish.min_available, len(members) + wish.outside, "sglang_rollout_min_available")
    serving = {member.name: member.tokens_before or 0 for member in members if member.serves}
    # A host that is down costs nothing to change, and is one more that serves afterwards.
    todo = sorted(
        (member for member in members if member.work != NOTHING), key=lambda one: one.serves
    )
    sizes = _sizes(wish, len(members))
    batches: list[tuple[str, ...]] = []
    while todo:
        size = sizes[min(len(batches), len(sizes) - 1)]
        taken: list[Member] = []
        for member in todo[:size]:
            left = {name: serving[name] for name in serving}
            for one in (*taken, member):
                left.pop(one.name, None)
            cost = len(left) != len(serving)
            enough = len(left) + wish.outside >= floor and sum(left.values()) >= wish.min_tokens
            if cost and not enough:
                break
            taken.append(member)
        if not taken:
            raise NoSchedule(_unreachable(todo[0], serving, floor, wish))
        batches.append(tuple(member.name for member in taken))
        todo = todo[len(taken) :]
        serving.update({member.name: member.tokens_after or 0 for member in taken})
    idle = tuple(member.name for member in members if member.work == NOTHING)
    canaries = 1 if wish.canary and batches else 0
    return Schedule(tuple(batches), idle, canaries, floor)


def _unreachable(member: Member, serving: dict[str, int], floor: int, wish: Wish) -> str:
    count = len(serving) + wish.outside
    if count - 1 < floor:
        return (
            f"{count} workers serve and {floor} have to (sglang_rollout_min_available), so "
            f"{member.name} cannot be taken out: lower it, or add a worker"
        )
    left = sum(serving.values()) - serving.get(member.name, 0)
    return (
        f"without {member.name} {left:,} tokens would be in reach, and {wish.min_tokens:,} have to "
        "be (sglang_rollout_min_available_tokens): lower it, or add a worker"
    )


def _sizes(wish: Wish, hosts: int) -> list[int]:
    given = wish.serial if isinstance(wish.serial, (list, tuple)) else [wish.serial]
    sizes = [_count(size, hosts, "sglang_rollout_serial", up=False) for size in given]
    if not sizes or min(sizes) < 1:
        raise NoSchedule(
            f"sglang_rollout_serial is {wish.serial!r}: a number of hosts above 0, a percentage "
            "such as 20%, or a list of them"
        )
    return [wish.canary, *sizes] if wish.canary else sizes


def _count(size: Any, hosts: int, variable: str, up: bool = True) -> int:
    """A number of hosts. Of a percentage, a floor is rounded up; a batch down, but not to none."""
    text = str(size).strip()
    if re.fullmatch(r"\d{1,6}", text):
        return int(text)
    share = re.fullmatch(r"(\d{1,3}(?:\.\d{1,3})?)%", text)
    if share is None or float(share[1]) > 100:
        raise NoSchedule(f"{variable} is {size!r}: a number of hosts, or a percentage such as 50%")
    exact = hosts * float(share[1]) / 100
    return math.ceil(exact) if up else (max(1, int(exact)) if exact else 0)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders in which the ranks of a start ask for host memory and take it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import NamedTuple


class Step(NamedTuple):
    """One rank asks for one of its pools, or pins what it was granted (`pins`)."""

    rank: int
    pool: int
    pins: bool


def steps(ranks: int, pools: int) -> Iterator[Step]:
    """Every step of a start, in the order that LAB_DOUBLE_RANK_ORDER names.

    A rank always pins a pool before it asks for the next one. Raises ValueError for an order that
    does not exist.
    """
    name, _colon, seed = (os.environ.get("LAB_DOUBLE_RANK_ORDER") or "together").partition(":")
    if name == "together":
        deeds = [(pool, pins) for pool in range(pools) for pins in (False, True)]
        yield from (Step(rank, pool, pins) for pool, pins in deeds for rank in range(ranks))
    elif name == "by_pool":
        for pool in range(pools):
            for rank in range(ranks):
                yield from (Step(rank, pool, pins) for pins in (False, True))
    elif name == "late":
        for rank in range(ranks):
            yield from _of_rank(rank, pools)
    elif name == "random":
        yield from _shuffled(ranks, pools, random.Random(seed))
    else:
        raise ValueError(f"no such order of ranks: {name}")


def _of_rank(rank: int, pools: int) -> list[Step]:
    return [Step(rank, pool, pins) for pool in range(pools) for pins in (False, True)]


def _shuffled(ranks: int, pools: int, dice: random.Random) -> Iterator[Step]:
    waiting = [_of_rank(rank, pools) for rank in range(ranks)]
    while waiting:
        rank = dice.choice(waiting)
        yield rank.pop(0)
        waiting = [rest for rest in waiting if rest]

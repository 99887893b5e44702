# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's own check of host pools, walked through every order in which ranks may arrive.

Written from what the engine does, and shares nothing with the plan: each rank takes its pools one
after the other, and before each it reads the free RAM and compares. Reading and allocating are
separate steps, so another rank may come in between. Ranks are alike, so a state is how many of
them stand at each step.
"""

from __future__ import annotations

from functools import cache

TEN_GIB = 10 * 2**30

STARTED, REFUSED, KILLED = "started", "refused", "killed"

# Since 0.5.19 a rank may take its share of what is free; since 0.5.21 the cgroup bounds that.
SHARED_SINCE = (0, 5, 19)
CGROUP_SINCE = (0, 5, 21)

#: Some of each kind of check, and those beside the changes.
VERSIONS = (
    "0.5.4.post3",
    "0.5.10.post1",
    "0.5.14",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
    "0.5.23",
)


def release(version: str) -> tuple[int, ...]:
    """The three numbers of a version."""
    return tuple(int(number) for number in version.split(".")[:3])


def outcomes(
    free: int,
    pools: tuple[int, ...],
    ranks: int,
    *,
    share: int,
    seen: int | None = None,
    hugepages: bool = False,
) -> set[str]:
    """All ways in which `ranks` processes that allocate `pools` one by one can end.

    `free` is what there really is, `seen` what the check starts from where that is another number
    (a cgroup that it does not know), `share` the ranks by which it divides (1 before 0.5.19).
    Pools in huge pages are taken from elsewhere: the check compares with what is seen all the
    same. A rank's step 2k is before it asks for pool k, 2k + 1 between answer and allocation.
    """
    steps = 2 * len(pools)
    start = free if seen is None else seen

    @cache
    def walk(standing: tuple[int, ...]) -> frozenset[str]:
        taken = sum(count * sum(pools[: step // 2]) for step, count in enumerate(standing))
        if not hugepages and taken > free:
            return frozenset({KILLED})
        if standing[steps] == ranks:
            return frozenset({STARTED})
        allowed = (start - (0 if hugepages else taken) - TEN_GIB) // share
        found: set[str] = set()
        for step in range(steps):
            if not standing[step]:
                continue
            if step % 2 == 0 and pools[step // 2] > allowed:
                found.add(REFUSED)
                continue
            moved = list(standing)
            moved[step] -= 1
            moved[step + 1] += 1
            found |= walk(tuple(moved))
        return frozenset(found)

    return set(walk((ranks, *[0] * steps)))


def booked(free: int, fraction: float, pools: tuple[int, ...], ranks: int, share: int) -> str:
    """How the engine's own sizing ends: all ranks read the RAM before any allocates."""
    left = int((free - TEN_GIB) // share * fraction)
    for pool in pools:
        if pool > left:
            return REFUSED
        left -= pool
    return KILLED if ranks * sum(pools) > free else STARTED


def share_of(version: str, ranks: int) -> int:
    """By how many ranks a version divides the RAM that it found."""
    return ranks if release(version) >= SHARED_SINCE else 1

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold for the inventory as a whole, and can be seen without a host. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from .member import Member

#: What may differ behind one router when it is asked for: the words of sglang_rollout_mixed.
MIXED = ("models", "versions")


def problems(members: Sequence[Member], mixed: Collection[str] = ()) -> list[str]:
    """One sentence for each thing that is wrong, with the variable to change."""
    planned = [member for member in members if member.failure is None]
    return [
        *_twice_on_a_host(planned),
        *_twice_behind_a_router(planned),
        *_apart(planned, "models", "sglang_served_model_name", lambda m: m.model, mixed),
        *_apart(planned, "versions", "sglang_engine_version", lambda m: m.engine_version, mixed),
        *_behind_different_routers(planned),
    ]


def _twice_on_a_host(members: Iterable[Member]) -> Iterator[str]:
    ports: dict[tuple[str, int], str] = {}
    instances: dict[tuple[str, str], str] = {}
    for member in members:
        for port in member.ports:
            other = ports.setdefault((member.address, port), member.name)
            if other != member.name:
                yield (
                    f"{other} and {member.name} are both on {member.address} and both take port "
                    f"{port}: give one of them another sglang_port"
                )
        other = instances.setdefault((member.address, str(member.instance)), member.name)
        if other != member.name:
            yield (
                f"{other} and {member.name} are both on {member.address} and both named "
                f"{member.instance}: give one of them another sglang_instance"
            )


def _twice_behind_a_router(members: Iterable[Member]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for member in members:
        if not member.routers or member.worker_url is None:
            continue
        other = seen.setdefault(member.worker_url, member.name)
        if other != member.name:
            yield (
                f"{other} and {member.name} are one worker to their routers, {member.worker_url}: "
                "give one of them another url in sglang_rollout_worker"
            )


def _apart(
    members: Iterable[Member],
    word: str,
    variable: str,
    value: Callable[[Member], str | None],
    mixed: Collection[str],
) -> Iterator[str]:
    """What all workers of a router must have in common, since any of them may get any request."""
    if word in mixed:
        return
    for router, behind in _by_router(members).items():
        kinds: dict[str, list[str]] = {}
        for member in behind:
            kinds.setdefault(str(value(member)), []).append(member.name)
        if len(kinds) > 1:
            listed = "; ".join(f"{kind}: {_some(names)}" for kind, names in sorted(kinds.items()))
            yield (
                f"router {router} would have workers of different {word} ({listed}): make "
                f"{variable} the same, or allow it by sglang_rollout_mixed: [{word}]"
            )


def _behind_different_routers(members: Iterable[Member]) -> Iterator[str]:
    """Of two routers for availability each has to have every worker of the other."""
    groups = _by_router(members)
    for router, behind in groups.items():
        for other in sorted({url for member in behind for url in member.routers} - {router}):
            missing = [m.name for m in groups[other] if router not in m.routers]
            if missing:
                yield (
                    f"routers {router} and {other} share workers, but {_some(missing)} is not "
                    f"behind {router}: name both in sglang_rollout_routers"
                )


def _by_router(members: Iterable[Member]) -> dict[str, list[Member]]:
    groups: dict[str, list[Member]] = {}
    for member in members:
        for router in member.routers:
            groups.setdefault(router, []).append(member)
    return groups


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")

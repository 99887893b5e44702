# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole rollout as data: what is planned for every host, and what became of it. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .checks import problems
from .member import NOTHING, Member
from .schedule import NoSchedule, Schedule, Wish, compose

#: Outcomes after which the rollout goes on.
GOOD = ("nothing_to_do", "proven")
_LOST = (
    "the host was lost in the middle of its change. Look at it, then run this again: what was not "
    "finished is finished then"
)
_GONE = "the host cannot be reached any more since its new server was proven"
_REBOOTED = (
    "the host was rebooted since its new server was proven, and nobody asked for that. It was left "
    "as it is: look at its console and at the journal of the boot before (journalctl --boot=-1), "
    "then run this again, or llmops.sglang.rollback on this host"
)


def plan_rollout(
    members: Sequence[Member], wish: Wish, mixed: Collection[str] = ()
) -> dict[str, Any]:
    """The schedule with a row for each host; nothing may be touched while it has problems."""
    found = problems(members, mixed)
    blocked = [
        f"{member.name} is not fit for it: {_first_line(member.blocked)}"
        for member in members
        if member.blocked is not None
    ]
    idle = tuple(member.name for member in members)
    schedule = Schedule((), idle, 0, 0)
    try:
        schedule = compose(members, wish)
    except NoSchedule as error:
        # Without what is blocked the schedule says nothing about the floor.
        found += [] if blocked else [str(error)]
    return {
        "batches": [list(batch) for batch in schedule.batches],
        "canaries": schedule.canaries,
        "order": schedule.order,
        "sizes": schedule.sizes,
        "floor": {"workers": schedule.floor, "tokens": wish.min_tokens},
        "outside": wish.outside,
        "problems": [*found, *blocked],
        "hosts": {member.name: _row(member, schedule) for member in members},
    }


def _row(member: Member, schedule: Schedule) -> dict[str, Any]:
    return {
        "batch": schedule.batch_of(member.name),
        "work": member.work if member.failure is None else NOTHING,
        "verdict": member.verdict,
        "blocked": member.blocked,
        "serves": member.serves,
        "instance": member.instance,
        "engine_version": member.engine_version,
        "tokens_before": member.tokens_before,
        "tokens_after": member.tokens_after,
        "changes": [
            {key: change.get(key) for key in ("name", "running", "wanted")}
            for change in member.changes
        ],
    }


def _first_line(text: str | None) -> str:
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[0] if lines else "for a reason that the run's output tells"


def sum_up(
    rollout: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Any]],
    boots: Mapping[str, str],
    check_mode: bool,
) -> dict[str, Any]:
    """The rollout with what became of every host.

    `results` are the notes of the hosts whose turn came. `boots` are the boots of those that were
    looked at since, "" of one that could not be reached.
    """
    hosts = {
        name: {**row, **_ended(row, results.get(name), boots.get(name))}
        for name, row in rollout["hosts"].items()
    }
    bad = [name for name, host in hosts.items() if host["failed"]]
    done = not bad and not rollout["problems"]
    return {
        **rollout,
        "hosts": hosts,
        "check_mode": check_mode,
        "finished": done and not check_mode,
        "failed": bad,
        "stops": bool(bad or rollout["problems"]),
        "next": _next(bad, hosts, rollout, check_mode),
    }


def _ended(
    row: Mapping[str, Any],
    result: Mapping[str, Any] | None,
    boot_now: str | None,
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "outcome": "untouched",
        "message": None,
        "seconds": None,
        "tokens_now": row["tokens_before"],
        "failed": False,
    }
    if row["blocked"]:
        return {**told, "outcome": "blocked", "message": row["blocked"], "failed": True}
    if not result:
        return {**told, "outcome": "nothing_to_do" if row["work"] == NOTHING else "untouched"}
    outcome = str(result.get("outcome") or "lost")
    told.update(outcome=outcome, message=result.get("message") or None, failed=outcome not in GOOD)
    if result.get("ended_s") is not None:
        told["seconds"] = round(result["ended_s"] - result["began_s"])
    if outcome == "lost":
        told.update(message=_LOST, tokens_now=None)
    elif outcome == "failed":
        told["tokens_now"] = None
    elif outcome in ("proven", "not_routed"):
        told["tokens_now"] = row["tokens_after"]
    if outcome == "proven" and boot_now is not None and boot_now != result.get("boot_id"):
        told.update(
            outcome="rebooted" if boot_now else "lost",
            failed=True,
            message=_REBOOTED if boot_now else _GONE,
        )
    return told


def _next(
    bad: Sequence[str],
    hosts: Mapping[str, Mapping[str, Any]],
    rollout: Mapping[str, Any],
    check_mode: bool,
) -> str:
    if rollout["problems"]:
        return "Nothing was changed. Mend what is named above, then run this again."
    left = [name for name, host in hosts.items() if host["outcome"] == "untouched"]
    if check_mode:
        return "Check mode: nothing was changed; a real run goes by this schedule." if left else ""
    if bad:
        rest = f"; {len(left)} hosts were not touched" if left else ""
        return (
            f"Stopped at {', '.join(bad)}{rest}. Mend it and run this again: hosts that are as "
            "wanted and proven are left alone, the others follow."
        )
    return (
        ""
        if not left
        else f"{len(left)} hosts were not reached; run this again to go on with them."
    )

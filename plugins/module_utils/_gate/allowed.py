# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a restart is allowed now: freeze file, maintenance window, restart budget.

Private to the collection.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .._layout import notes_file, secrets_file
from .._record.notes import read_notes, restarts_since
from .checks import BLOCKED, Check, Subject, passed, unknown

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SPAN = re.compile(
    r"(?:(?P<days>[A-Z][a-z]{2}(?:(?:,|-)[A-Z][a-z]{2})*)\s+)?"
    r"(?P<from>\d{1,2}:\d{2})-(?P<to>\d{1,2}:\d{2})"
)


def freeze_file(instance: str) -> str:
    """Return the file whose presence forbids restarts; its first line says why."""
    return str(Path(secrets_file(instance)).with_name("freeze"))


def check_window(subject: Subject) -> Check:
    """Neither a freeze file nor the time of day may forbid restarts."""
    path = freeze_file(str(subject.planned("instance") or ""))
    name, needed = "window", f"no file {path}"
    try:
        text = (subject.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return _check_time(subject, needed)
    except OSError as error:
        return unknown(name, f"{path}: {error.strerror}", needed)
    reason = text.partition("\n")[0].strip()
    return Check(
        name,
        BLOCKED,
        f"frozen: {reason or 'no reason given'}",
        needed,
        f"remove {path} when restarts are allowed again",
    )


def _check_time(subject: Subject, no_freeze: str) -> Check:
    if not subject.window:
        return passed("window", "no freeze", no_freeze)
    now = datetime.now().astimezone()
    measured, needed = f"{now:%a %H:%M %Z} on the host", f"a time within {subject.window}"
    if in_window(subject.window, now):
        return passed("window", f"no freeze, {measured}", needed)
    remedy = "run the play then, or give it another window"
    return Check("window", BLOCKED, measured, needed, remedy, "sglang_restart_window")


def in_window(window: str, now: datetime) -> bool:
    """Whether a time lies in spans such as "Mon-Thu 22:00-05:00; Sat,Sun 00:00-24:00".

    A span over midnight belongs to the day on which it begins; without days it is every day's.
    Raises ValueError for a text that is none.
    """
    minute = now.hour * 60 + now.minute
    today = now.weekday()
    for text in window.split(";"):
        found = _SPAN.fullmatch(text.strip())
        if not found:
            raise ValueError(
                f"{text.strip()!r} is no span of time such as 'Mon-Fri 22:00-05:00' "
                "(sglang_restart_window)"
            )
        days = _days_of(found["days"])
        begin, end = _minutes(found["from"]), _minutes(found["to"])
        if begin <= end:
            if today in days and begin <= minute < end:
                return True
        elif (today in days and minute >= begin) or ((today - 1) % 7 in days and minute < end):
            return True
    return False


def _days_of(text: str | None) -> set[int]:
    if text is None:
        return set(range(7))
    days: set[int] = set()
    for part in text.split(","):
        first, _dash, last = part.partition("-")
        try:
            begin, end = _DAYS.index(first), _DAYS.index(last or first)
        except ValueError:
            raise ValueError(
                f"{part!r}: days are {', '.join(_DAYS)} (sglang_restart_window)"
            ) from None
        days.update((begin + step) % 7 for step in range((end - begin) % 7 + 1))
    return days


def _minutes(text: str) -> int:
    hours, minutes = (int(part) for part in text.split(":"))
    if hours * 60 + minutes > 24 * 60 or minutes > 59:
        raise ValueError(f"{text!r} is no time of day (sglang_restart_window)")
    return hours * 60 + minutes


def check_budget(subject: Subject) -> Check:
    """The diary of the instance must have room for one more restart by a play."""
    name, variable = "budget", "sglang_restart_max"
    most, hours = subject.restarts_max, subject.restarts_hours
    if most <= 0:
        return passed(name, "not limited", "nothing")
    if subject.need == "start":
        return passed(name, "the server is down, so a start takes nothing away", "nothing")
    now = datetime.now(timezone.utc)
    path = notes_file(str(subject.planned("instance") or ""))
    notes = read_notes(subject.root / path.lstrip("/"))
    recent = sorted(restarts_since(notes, now - timedelta(hours=hours)))
    needed = f"fewer than {most} restarts by plays in {hours:g} hours"
    measured = f"{len(recent)} in {hours:g} hours"
    if len(recent) < most:
        return passed(name, measured, needed)
    free_at = recent[len(recent) - most] + timedelta(hours=hours)
    return Check(
        name,
        BLOCKED,
        f"{measured}, the last one at {recent[-1]:%H:%M} UTC",
        needed,
        f"look at {path} for what keeps changing; there is room again at "
        f"{free_at:%Y-%m-%d %H:%M} UTC",
        variable,
    )

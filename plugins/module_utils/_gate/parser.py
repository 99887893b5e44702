# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed engine judges the planned arguments itself.

Private to the collection.
"""

from __future__ import annotations

import re
from pathlib import Path

from .._probe.parser import TIMEOUT_S, ask_engine
from .checks import BLOCKED, Check, Subject, passed, unknown


def check_arguments(subject: Subject, timeout_s: int = TIMEOUT_S) -> Check:
    """Ask the installed engine whether it accepts the planned command line; takes 5 to 25 s."""
    name, needed = "arguments", "a command line that the installed engine accepts"
    argv = [str(part) for part in subject.planned("argv") or []]
    if not argv or not Path(argv[0]).exists():
        return unknown(name, "the engine is not installed", needed)
    user = subject.service("User") or "root"
    environment = {key: str(value) for key, value in (subject.planned("environment") or {}).items()}
    try:
        accepted, message = ask_engine(argv, environment, user, timeout_s)
    except LookupError:
        return Check(
            name,
            BLOCKED,
            f"the unit's user {user} does not exist",
            needed,
            "create it (role sglang_host does), or name another",
            "sglang_user",
        )
    if accepted:
        return passed(name, f"accepted by its own parser, as {user}", needed)
    if accepted is None:
        return unknown(name, message or "no answer", needed)
    return Check(
        name,
        BLOCKED,
        message or "refused without a message",
        needed,
        "correct the variable behind that flag",
        _variable_behind(subject, message or ""),
    )


def _variable_behind(subject: Subject, message: str) -> str:
    """Return the variable of the first planned flag that the message names."""
    words = message.replace("_", "-")
    named: list[tuple[int, str]] = []
    for argument in subject.planned("arguments") or []:
        flag = str(argument.get("flag", "")).lstrip("-")
        found = re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", words) if flag else None
        if found and argument.get("source"):
            named.append((found.start(), str(argument["source"])))
    return min(named)[1] if named else "sglang_extra_args"

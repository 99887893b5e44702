# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a module that waits, in parts, so that something can be shown meanwhile.

This plugin util is private to the collection and runs on the controller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Values = dict[str, Any]

#: A module cannot print while it runs, so the wait is cut into parts of so many seconds.
PART_S = 20


def run_in_parts(
    arguments: Values,
    carried: str,
    ask: Callable[[Values], Values],
    show: Callable[[Values], None],
) -> Values:
    """What the module returns when it waits no more.

    `ask` runs it for one part; what it returns as `carried` is an argument of the next part. `show`
    gets every part. Who asks for one part only, by `wait_s`, sees it in the result alone.
    """
    one_part = "wait_s" in arguments
    arguments = {"wait_s": PART_S, **arguments}
    while True:
        part = ask(arguments)
        if one_part:
            return part
        show(part)
        if not part.get("waiting"):
            return part
        arguments[carried] = part[carried]

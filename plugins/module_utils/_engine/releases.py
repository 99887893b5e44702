# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recorded of every known SGLang release: its packages, variables and flags.

Private to the collection, and for the controller only: `releases.json` is read from beside this
file and never travels to a target. There, the installed engine itself has the last word.

    requires      by version: the oldest Python and C library, the CUDA it is built for, and the
                  packages that it pins. What a release does not tell is absent.
    environment   by name of a variable that the engine declares: the first version that reads it
                  and, if it is gone again, the last one
    choices       the distinct sets of values that flags allow
    flags         the definitions in the order of their first name, one for each stretch of
                  versions in which a flag did not change:

        names     all spellings, the one upstream shows first at the front
        since     first version with this definition; absent: the oldest known
        until     last version with it; absent: still so in the newest known
        dest      attribute name; absent: the first name without dashes at the front, "-" as "_"
        action    absent: "store". Without a value: "store_true", "boolean_optional" (has a --no-
                  twin), "deprecated" (warned about, without effect), "deprecated_store_true",
                  "deprecated_store_const". With one: "lora_path", "deprecated_alias" (stores
                  where the renamed flag does)
        type      upstream's name for it; absent: "str" with a value, none without
        nargs     absent: 0 for actions without a value, one value for the others
        const, default    absent: true and false for the two "store_true", else null
        choices   index into the list above
        required, deprecated    absent: false

`tools/add_release.py` adds a release from its wheel.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from .version import Version

_FIRST_WITH_ENVIRONMENT = "0.5.3.post3"
"""Since this release the engine declares in one place which variables it reads."""


@cache
def release_data() -> dict[str, Any]:
    """Return all that is recorded."""
    text = Path(__file__).with_name("releases.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def requirements_of(version: Version) -> dict[str, str]:
    """Return what a version needs, or the known version nearest to it."""
    found: dict[str, str] = release_data()["requires"][version.nearest_known()[0].text]
    return found


def variable_span(name: str) -> tuple[str, str | None] | None:
    """Return the first and the last version that read a variable; no last one: still read.

    None for a variable that no release declares.
    """
    span = release_data()["environment"].get(name)
    return (span[0], span[1] if len(span) > 1 else None) if span else None


def reads_variable(name: str, version: Version) -> bool | None:
    """Tell whether a version reads a variable; None where that is not recorded."""
    span = variable_span(name)
    # A version in between has what its nearest known sibling has.
    known = version.nearest_known()[0]
    if span is None or known < _FIRST_WITH_ENVIRONMENT == span[0]:
        return None
    return known >= span[0] and (span[1] is None or known <= span[1])

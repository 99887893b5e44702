# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang versions: parse, compare, and find the nearest one this collection knows.

Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Any

KNOWN: tuple[str, ...] = (
    "0.5.1.post3",
    "0.5.2",
    "0.5.3.post3",
    "0.5.4.post3",
    "0.5.5.post3",
    "0.5.6.post2",
    "0.5.7",
    "0.5.8.post1",
    "0.5.9",
    "0.5.10.post1",
    "0.5.11",
    "0.5.12.post1",
    "0.5.13.post1",
    "0.5.14",
    "0.5.15.post1",
    "0.5.16",
    "0.5.17",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
    "0.5.22",
    "0.5.23",
)
"""Every version whose behaviour is recorded in this collection, oldest first."""

_FORM = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[.-]?(?P<stage>a|b|rc)(?P<pre>\d+))?"
    r"(?:\.post(?P<post>\d+))?"
    r"(?:\.dev(?P<dev>\d+))?"
    r"(?:\+(?P<local>[a-z0-9.]+))?",
    re.IGNORECASE,
)
# Before a release come its dev builds, then alpha, beta and candidates.
_STAGES = {"dev": 0, "a": 1, "b": 2, "rc": 3, "final": 4}
_NO_DEV = 2**31


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """One SGLang version. Compares with another Version or with a string.

    A local label ("+double", "+cu130") stays in `text` and counts for nothing in a comparison.
    """

    text: str
    release: tuple[int, ...]
    local: str | None
    _key: tuple[tuple[int, ...], int, int, int, int]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read "0.5.10.post1", "0.5.24rc1", "0.5.24.dev12+g1a2b" or "v0.5.23".

        Raises ValueError for anything else.
        """
        return _parse(text.strip())

    def nearest_known(self) -> tuple[Version, bool]:
        """Return the known version to treat this one as, and whether it is this very version.

        A version in between is treated as its sibling of the same release (0.5.12 as
        0.5.12.post1), else as the newest known one before it, else as the oldest.
        """
        known = [Version.parse(text) for text in KNOWN]
        if self in known:
            return known[known.index(self)], True
        siblings = [version for version in known if version.release == self.release]
        older = [version for version in known if version < self]
        return (siblings or older or known[:1])[-1], False

    def __eq__(self, other: object) -> bool:
        key = _key_of(other)
        return NotImplemented if key is None else self._key == key

    def __lt__(self, other: Any) -> bool:
        key = _key_of(other)
        return NotImplemented if key is None else self._key < key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=256)
def _parse(text: str) -> Version:
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"not an SGLang version: {text!r}")
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    post = -1 if found["post"] is None else int(found["post"])
    dev = _NO_DEV if found["dev"] is None else int(found["dev"])
    stage = (found["stage"] or "").lower() or ("dev" if dev != _NO_DEV and post < 0 else "final")
    key = (tuple(release), _STAGES[stage], int(found["pre"] or 0), post, dev)
    return Version(text, tuple(release), found["local"], key)


def _key_of(other: object) -> tuple[tuple[int, ...], int, int, int, int] | None:
    """Return the sort key of a Version or of a string that is one, else None."""
    if isinstance(other, str):
        try:
            return _parse(other.strip())._key
        except ValueError:
            return None
    return other._key if isinstance(other, Version) else None

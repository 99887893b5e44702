# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a server, from the text of its secrets file.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Keys:
    """The keys of one server; None when it has none. Never shown."""

    normal: str | None = field(default=None, repr=False)
    admin: str | None = field(default=None, repr=False)

    def known(self) -> list[str]:
        """The keys that there are, the one for requests first."""
        return [key for key in (self.normal, self.admin) if key]


def parse_keys(text: str) -> Keys:
    """The keys in a JSON object with C(api-key) and C(admin-api-key), as the engine names them.

    Raises ValueError when it is none; the message holds nothing of the text.
    """
    try:
        values = json.loads(text)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(values, dict):
        raise ValueError("not a mapping of key names to keys")
    found = [values.get(name) for name in ("api-key", "admin-api-key")]
    return Keys(*(key if isinstance(key, str) and key else None for key in found))

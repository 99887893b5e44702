# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows the journal of one invocation of a unit, from its beginning, by cursor.

Private to the collection.
"""

from __future__ import annotations

import contextlib

from .._engine.log_lines import StartupParser
from .._probe.journal import of_invocation, read_entries
from .._probe.source import Live

_TIMEOUT_S = 60.0


class Journal:
    """Feeds a parser with the lines that are new since the last look.

    Bound to one invocation, so that neither an earlier start nor one that systemd tries in the
    meantime mixes in. Reading stops at the line that says the server is up: a server that has run
    for weeks costs no more than its start.
    """

    def __init__(self, invocation_id: str, parser: StartupParser) -> None:
        self._selection = of_invocation(invocation_id)
        self._parser = parser
        self._cursor: str | None = None

    def read_new(self) -> None:
        """Read on; a journal that cannot be read adds nothing."""
        options = [f"--after-cursor={self._cursor}"] if self._cursor else []
        entries = read_entries(Live(), "journal.log", self._selection, _TIMEOUT_S, *options)
        # Closed at once, so that journalctl does not outlive the look.
        with contextlib.closing(entries):
            for entry in entries:
                self._cursor = entry.cursor or self._cursor
                self._parser.feed(entry.message, entry.at)
                if self._parser.ready:
                    break

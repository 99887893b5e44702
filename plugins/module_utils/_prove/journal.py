# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows the journal of one invocation of a unit, from its beginning, by cursor.

Private to the collection.
"""

from __future__ import annotations

import subprocess
import threading

from .._engine.log_lines import StartupParser

_CURSOR = "-- cursor: "
_TIMEOUT_S = 60.0


class Journal:
    """Feeds a parser with the lines that are new since the last look.

    Bound to one invocation, so that neither an earlier start nor one that systemd tries in the
    meantime mixes in. Reading stops at the line that says the server is up: a server that has run
    for weeks costs no more than its start.
    """

    def __init__(self, invocation_id: str, parser: StartupParser) -> None:
        self._invocation_id = invocation_id
        self._parser = parser
        self._cursor: str | None = None

    def read_new(self) -> None:
        """Read on; a journal that cannot be read adds nothing."""
        argv = ["journalctl", "--quiet", "--no-pager", "--output=cat", "--show-cursor"]
        if self._cursor:
            argv.append(f"--after-cursor={self._cursor}")
        # The first field marks lines of the processes, the second one lines of systemd about them.
        argv += [
            f"_SYSTEMD_INVOCATION_ID={self._invocation_id}",
            "+",
            f"INVOCATION_ID={self._invocation_id}",
        ]
        try:
            # Not run_command: a journal is read line by line.
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                argv,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )
        except OSError:
            return
        watchdog = threading.Timer(_TIMEOUT_S, process.kill)
        watchdog.start()
        try:
            for line in process.stdout or ():
                if line.startswith(_CURSOR):
                    self._cursor = line[len(_CURSOR) :].strip()
                    continue
                self._parser.feed(line.rstrip("\n"))
                if self._parser.ready:
                    break
        finally:
            watchdog.cancel()
            process.kill()
            if process.stdout is not None:
                process.stdout.close()
            process.wait()

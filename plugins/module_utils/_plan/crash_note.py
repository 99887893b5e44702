# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command with which a unit writes into the diary that its server ended by itself.

Private to the collection. Nobody watches a host at night; systemd does, and starts the server anew.
Without a note of it a server that crashes every hour looks like one that is up.
"""

from __future__ import annotations

from .._layout import notes_file, unit_name

# Root, outside the sandbox, and never a reason for the unit to fail.
_SHELL = "-+/bin/sh"
_NOTE = (
    '{"at": "%s", "who": "systemd", "outcome": "crashed", "invocation_id": "%s", '
    '"result": "%s", "code": "%s", "status": "%s"}\\n'
)
# A stop that was asked for is a job of systemd's. The result alone does not tell: a launcher can
# end with status 0 when its child crashed, and up to 0.5.18 by SIGKILL on itself. A job to start
# is no such order: the process that was started ended. $0 is the unit, $1 the diary, $2 the line.
# No text of the journal, so no secret.
_SCRIPT = (
    'jobs=$(systemctl list-jobs --no-legend "$0") || exit 0; '
    'case "$jobs" in *" stop "*|*" restart "*) exit 0;; esac; '
    'mkdir -p "${1%/*}" && printf "$2" "$(date -u +%FT%TZ)" "$INVOCATION_ID" '
    '"$SERVICE_RESULT" "$EXIT_CODE" "$EXIT_STATUS" >> "$1"'
)


def crash_note(instance: str) -> list[str]:
    """Return the argument vector for ``ExecStopPost=``."""
    return [_SHELL, "-c", _SCRIPT, unit_name(instance), notes_file(instance), _NOTE]

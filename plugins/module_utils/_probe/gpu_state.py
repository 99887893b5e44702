# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a GPU is, in one word and one sentence, from what it told.

This module util is private to the llmops.sglang collection.

The words, the worst first: C(lost), C(reset), C(stuck), C(failing), C(repair), C(unreadable),
C(ok).
"""

from __future__ import annotations

import re
import typing as t

# Contexts of display servers and monitors stay below this.
NOISE_BYTES = 1 << 30
_BUSY_PERCENT = 90
_LOST = re.compile(r"lost|fallen off|unknown error|timeout", re.IGNORECASE)
_GONE = re.compile(r"gpu is lost|fallen off", re.IGNORECASE)
_RESET = re.compile(r"requires? re(?:set|start)|reset required", re.IGNORECASE)
_FAILED = re.compile(r"^ERR!$|^unknown error$", re.IGNORECASE)
_REPAIRS = {
    "remapped_failure": "replacing broken memory rows failed, the card must be exchanged",
    "remapped_pending": "broken memory rows wait for a reset to be replaced",
    "retired_pending": "broken memory pages wait for a reboot to be retired",
}

Facts = dict[str, t.Any]


def judge(device: Facts, unreachable: str | None) -> tuple[str, str | None]:
    """(word, sentence) for one GPU of the facts; the sentence is None for a sound one.

    C(unreachable) is why NVML gives no handle for it, None when it does.
    """
    if unreachable is not None:
        if _RESET.search(unreachable):
            return "reset", unreachable
        return ("lost" if _LOST.search(unreachable) else "unreadable"), unreachable
    reasons: dict[str, str] = device.get("unknown") or {}
    gone = next((reason for reason in reasons.values() if _GONE.search(reason)), None)
    if gone is not None:
        return "lost", gone
    action = device.get("recovery_action")
    if action not in (None, "None"):
        return "reset", f"the driver asks for: {action}"
    locked = next((reason for reason in reasons.values() if _RESET.search(reason)), None)
    if locked is not None:
        return "reset", locked
    held = _held_by_nobody(device)
    if held is not None:
        return "stuck", held
    failed = sorted(name for name, reason in reasons.items() if _FAILED.search(reason))
    if failed:
        return "failing", f"the driver fails to read {', '.join(failed)}"
    for field, sentence in _REPAIRS.items():
        if device.get(field):
            return "repair", sentence
    return "ok", None


def _held_by_nobody(device: Facts) -> str | None:
    """What a GPU without a process still does; a part of one, or shared memory, tells nothing."""
    processes = device.get("processes")
    whole = device.get("mig") is not True and device.get("memory_kind") != "unified"
    if not whole or "processes" in (device.get("unknown") or {}):
        return None
    sizes = [process.get("memory_bytes") for process in processes or []]
    used, busy = device.get("memory_used_bytes"), device.get("utilization_percent")
    if used is not None and None not in sizes and used - sum(sizes) > NOISE_BYTES:
        return f"{(used - sum(sizes)) / NOISE_BYTES:.1f} GiB in use that no process holds"
    if not sizes and busy is not None and busy >= _BUSY_PERCENT:
        return f"busy at {busy} % without a process"
    return None

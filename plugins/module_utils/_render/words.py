# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts in words and numbers, the same in every report. Private to the collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._facts import devices

_GIB = 1 << 30
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

#: How surely a host tier starts, in words.
STARTS = {"certain": "for certain", "likely": "with luck", "no": "not"}

Facts = Mapping[str, Any]


def part(facts: Facts | None, *names: str) -> Facts:
    """A nested part; empty when it is missing or unknown."""
    for name in names:
        found = (facts or {}).get(name)
        facts = found if isinstance(found, Mapping) else {}
    return facts or {}


def server_state(server: Facts, startup: Facts) -> str:
    """One phrase: what systemd and the log say together."""
    if server.get("reason"):
        return f"unknown ({server['reason']})"
    if server.get("load_state") == "not-found":
        return "not installed"
    if startup.get("state") == "failed":
        return f"failed ({startup.get('cause') or 'cause unknown'})"
    uptime = server.get("uptime_s")
    since = "" if uptime is None else f" {duration(uptime)}"
    if startup.get("state") == "starting":
        return f"starting{since}"
    return f"{server.get('active_state') or 'unknown'}{since}"


def gpu_words(facts: Facts) -> list[str]:
    """One phrase for each kind of GPU; the last one tells the links and the driver as well."""
    gpu = part(facts, "gpu")
    if not gpu.get("devices"):
        return [f"none ({gpu.get('reason') or 'the host has no GPU'})"]
    kinds: dict[str, int] = {}
    for device in devices(facts):
        if device.get("state") == "lost":
            kinds["lost"] = kinds.get("lost", 0) + 1
            continue
        kind = f"{short_name(device.get('name'))}, {_gpu_size(device)}"
        kinds[kind] = kinds.get(kind, 0) + 1
    lost = kinds.pop("lost", 0)
    items = [f"{count} x {kind}" for kind, count in kinds.items()] or ["none that answers"]
    if gpu.get("topology"):
        items[-1] += ", NVLink" if gpu["topology"] == "NVLINK" else ", PCIe"
    driver = part(gpu, "driver")
    items[-1] += f", driver {driver.get('loaded') or 'unknown'}"
    if driver.get("library") and driver["library"] != driver.get("loaded"):
        items[-1] += f" ({driver['library']} on disk)"
    return [*items, f"{lost} lost"] if lost else items


def gpu_troubles(facts: Facts) -> list[str]:
    """A sentence for every GPU that is not sound, then one for those that the driver misses."""
    sentences = []
    for device in devices(facts):
        if device.get("state") not in ("ok", None):
            place = f" ({device['bus_id']})" if device.get("bus_id") else ""
            xids = ", ".join(str(number) for number in device.get("xids") or [])
            logged = f" (Xid {xids})" if xids else ""
            reason = device.get("state_reason") or "no reason told"
            sentences.append(
                f"GPU {device.get('index')}{place} {device['state']}: {reason}{logged}"
            )
    sentences += [
        f"a GPU at {address} fell off the bus; the driver does not list it"
        for address in part(facts, "gpu").get("fallen_off") or []
    ]
    return sentences


def mig_words(facts: Facts) -> list[str]:
    """A phrase for every GPU that MIG splits: the sizes of its parts, as far as they are told."""
    phrases = []
    for device in devices(facts):
        if device.get("mig") is not True:
            continue
        parts = device.get("mig_instances") or []
        named = [
            f"{entry.get('profile') or 'part'}"
            + (f" {_gib(entry['memory_total_bytes'])}" if entry.get("memory_total_bytes") else "")
            for entry in parts
        ]
        what = ", ".join(named) if named else "no part that could be listed"
        phrases.append(f"GPU {device.get('index')} has {what}")
    return phrases


def _gpu_size(device: Facts) -> str:
    if device.get("memory_kind") == "unified":
        return "memory shared with the host"
    if device.get("mig") is True and device.get("memory_total_bytes") is None:
        return "split by MIG"
    reason = part(device, "unknown").get("memory_total_bytes")
    return _gib(device.get("memory_total_bytes"), reason)


def short_name(name: Any) -> str:
    """A GPU's name without its maker and edition."""
    short = re.sub(
        r"^NVIDIA (?:GeForce )?| (?:Max-Q )?(?:Server|Workstation) Edition$",
        "",
        str(name or "unknown GPU"),
    )
    return short or str(name)


def _gib(size: int | None, reason: str | None = None) -> str:
    if size is None:
        return f"memory unknown ({reason})" if reason else "memory unknown"
    return f"{size / _GIB:.1f} GiB"


def gib_number(size: int | None) -> str:
    """GiB with one decimal."""
    return "unknown" if size is None else f"{size / _GIB:.1f}"


def gib_whole(size: int | None) -> str:
    """Whole GiB."""
    return "unknown" if size is None else f"{size / _GIB:.0f}"


def number(value: int | None) -> str:
    """With thousands set apart."""
    return "unknown" if value is None else f"{value:,}"


def duration(seconds: int) -> str:
    """The two largest units: 3 d 04 h, 2 h 05 min, 40 s."""
    days, rest = divmod(int(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    if days:
        return f"{days} d {hours:02d} h"
    if hours:
        return f"{hours} h {rest // 60:02d} min"
    return f"{rest // 60} min" if rest >= 60 else f"{rest} s"


def day(moment: str, today: str) -> str:
    """27 Nov; with the year when it is another one."""
    year, month, date = (moment[:10].split("-") + ["", ""])[:3]
    if not (month.isdigit() and 0 < int(month) <= 12):
        return moment
    text = f"{date} {_MONTHS[int(month) - 1]}"
    return text if today.startswith(year) else f"{text} {year}"


def moment(text: str) -> str:
    """30 Nov 2026, 20:00 UTC, of a time as facts have it; as it is where it is none."""
    date, _t, clock = text.partition("T")
    known = day(date, "")
    return text if known == date or not clock.endswith("Z") else f"{known}, {clock[:5]} UTC"

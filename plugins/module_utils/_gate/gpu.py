# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks on driver and GPUs: would a new process get them, all of them, and empty?

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from .checks import BLOCKED, WARNED, Check, Subject, gib, passed, unknown
from .processes import processes_titled, read_process

# Left-overs below this are contexts of display servers and monitors, not a model.
_NOISE_BYTES = 2**30
_TITLE = "sglang::"
_HEALTHY = ("none", "no action", "n/a", "")


def check_driver(subject: Subject) -> Check:
    """A new process loads the library on disk, which must match the kernel module."""
    name, needed = "driver", "libnvidia-ml on disk of the loaded kernel module's version"
    loaded = subject.fact("gpu", "driver", "loaded")
    library = subject.fact("gpu", "driver", "library")
    if subject.no_gpu_reason:
        return unknown(name, subject.no_gpu_reason, needed)
    if loaded is None or library is None:
        missing = "kernel module" if loaded is None else "libnvidia-ml"
        return unknown(name, f"the version of the {missing} could not be read", needed)
    if loaded == library:
        return passed(name, f"{loaded}, loaded and on disk", needed)
    return Check(
        name,
        BLOCKED,
        "a new process could not use the GPUs: the loaded kernel module is "
        f"{loaded}, libnvidia-ml on disk is {library}",
        needed,
        "reboot, or unload and reload the driver, then run again; the running server keeps "
        "working until it stops",
    )


def check_gpus(subject: Subject) -> Check:
    """There must be one GPU per rank."""
    name, wanted = "gpus", subject.gpus_needed
    needed = f"{wanted} GPU{'s' if wanted != 1 else ''}, one per rank"
    if subject.no_gpu_reason:
        return unknown(name, subject.no_gpu_reason, needed)
    gone = [device for device in subject.own_devices if device.get("state") == "lost"]
    count = len(subject.own_devices) - len(gone)
    if count >= wanted:
        return passed(name, f"{count} present", needed)
    reasons = [f"GPU {device.get('index')}: {device.get('state_reason')}" for device in gone]
    reasons += [f"{place} fell off the bus" for place in subject.fact("gpu", "fallen_off") or []]
    told = "; ".join(reasons) or subject.fact("gpu", "reason")
    return Check(
        name,
        BLOCKED,
        f"{count} present" + (f" ({told})" if told else ""),
        needed,
        "look for a GPU that fell off the bus (dmesg, lspci), or plan fewer ranks",
        "sglang_tp_size",
    )


def check_gpu_busy(subject: Subject) -> Check:
    """GPU memory must be free once the instance's own processes are gone."""
    name, needed = "gpu_busy", "no GPU memory held by others, or by nobody"
    if subject.no_gpu_reason or not subject.devices:
        return unknown(name, subject.no_gpu_reason or "no GPU could be listed", needed)
    held: list[str] = []
    unclear: list[str] = []
    nobody = False
    for device in subject.own_devices:
        used = device.get("memory_used_bytes")
        own, others, unsized = _holders(subject, device)
        label = f"GPU {device.get('index')}"
        if others:
            held.append(f"{label}: {', '.join(others)}")
        elif used is None or unsized:
            unclear.append(label)
        elif used - own > _NOISE_BYTES:
            nobody = nobody or not own
            held.append(f"{label}: {gib(used - own)} without a process")
        elif device.get("state") == "stuck":
            held.append(f"{label}: {device.get('state_reason')}")
    if held:
        return Check(
            name,
            BLOCKED,
            "; ".join(held),
            needed,
            "the memory of the stopped server is still being released: run again in a minute"
            if subject.just_stopped and nobody
            else "stop what holds it; what no process holds needs a GPU reset or a reboot",
            passing=subject.just_stopped and nobody,
        )
    if unclear:
        return unknown(name, f"the memory in use is not told by {', '.join(unclear)}", needed)
    return passed(name, "free beside this instance", needed)


def _holders(subject: Subject, device: dict[str, Any]) -> tuple[int, list[str], bool]:
    """Split the memory of one GPU: bytes of this unit, other holders in words, any unsized."""
    own, others, unsized = 0, [], False
    for process in device.get("processes") or []:
        size = process.get("memory_bytes")
        mine = process.get("unit") == subject.unit
        if size is None:
            unsized = True
        elif mine:
            own += size
        if not mine and (size is None or size > _NOISE_BYTES):
            owner = process.get("unit") or f"process {process.get('pid')}"
            others.append(f"{owner} holds {'memory' if size is None else gib(size)}")
    # Facts in short have the processes of the instance as one number.
    return own or device.get("instance_bytes") or 0, others, unsized


def check_orphans(subject: Subject) -> Check:
    """Engine processes that outlived their launcher keep GPU memory and pinned RAM."""
    name, needed = "orphans", "no engine process without its launcher"
    found = [
        process
        for process in processes_titled(subject.root, _TITLE)
        if process.parent == 1 and process.pid != subject.state.main_pid
    ]
    known = {process.pid for process in found}
    for device in subject.devices:
        for holder in device.get("processes") or []:
            pid = holder.get("pid")
            if pid in known or not isinstance(pid, int) or holder.get("unit") == subject.unit:
                continue
            process = read_process(subject.root, pid)
            if process is not None and process.title.startswith(_TITLE) and process.parent == 1:
                known.add(pid)
                found.append(process)
    if not found:
        return passed(name, "none", needed)
    leaving = subject.just_stopped and all(process.unit == subject.unit for process in found)
    listed = ", ".join(
        f"{process.pid} {process.title} ({process.unit or 'no unit'})" for process in found[:5]
    )
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return Check(
        name,
        BLOCKED,
        listed + more,
        needed,
        f"end them: kill {' '.join(str(process.pid) for process in found[:5])}",
        passing=leaving,
    )


def check_recovery(subject: Subject) -> Check:
    """A GPU that asks for a reset does not start a model."""
    name, needed = "recovery", "no GPU that asks for a reset or a reboot"
    if subject.no_gpu_reason or not subject.devices:
        return unknown(name, subject.no_gpu_reason or "no GPU could be listed", needed)
    pending = [
        f"GPU {device.get('index')} asks for: {device['recovery_action']}"
        for device in subject.devices
        if (device.get("recovery_action") or "").lower() not in _HEALTHY
    ] + [
        f"GPU {device.get('index')}: {device.get('state_reason')}"
        for device in subject.devices
        if device.get("state") == "reset" and device.get("recovery_action") is None
    ]
    if pending:
        return Check(
            name,
            BLOCKED,
            "; ".join(pending),
            needed,
            "drain the host and do what the GPU asks for, then run again",
        )
    worn = [
        f"GPU {device.get('index')}: {device.get('state_reason')}"
        for device in subject.devices
        if device.get("state") in ("repair", "failing")
    ]
    if worn:
        remedy = "it starts; reset the GPU, or reboot, before it fails under load"
        return Check(name, WARNED, "; ".join(worn), needed, remedy)
    if any(device.get("recovery_action") is None for device in subject.devices):
        return unknown(name, "this driver does not report a recovery action", needed)
    return passed(name, f"none on {len(subject.devices)} GPUs", needed)


def check_balance(subject: Subject) -> Check:
    """The engine refuses GPUs whose free memory differs by more than a tenth."""
    name, needed = "balance", "GPUs of the same size"
    if subject.no_gpu_reason or not subject.devices:
        return unknown(name, subject.no_gpu_reason or "no GPU could be listed", needed)
    devices = subject.own_devices
    sizes = [device["memory_total_bytes"] for device in devices if device.get("memory_total_bytes")]
    if len(sizes) < len(devices):
        return unknown(name, "a GPU does not tell the size of its memory", needed)
    smallest, largest = min(sizes), max(sizes)
    if smallest < 0.9 * largest:
        return Check(
            name,
            WARNED,
            f"from {gib(smallest)} to {gib(largest)}",
            needed,
            "the smallest GPU bounds the pool of every rank; use GPUs of one kind",
        )
    return passed(name, f"{gib(smallest)} each", needed)

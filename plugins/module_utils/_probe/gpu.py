# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of a host: through NVML, else through one nvidia-smi query, else none, with the reason.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import typing as t

from .._facts import is_int
from .cgroup import unit_of
from .gpu_state import judge
from .pci import KernelLog, driver_addresses, numa_node, pci_address, read_kernel_log
from .source import Source, last_line, parse_json

if t.TYPE_CHECKING:
    # Ansible sends it along for this line; it runs in a process of its own.
    from . import nvml_reader  # noqa: F401

# What a GPU tells, in the order of the facts.
_FIELDS = (
    "uuid",
    "bus_id",
    "name",
    "compute_capability",
    "memory_total_bytes",
    "memory_used_bytes",
    "memory_free_bytes",
    "mig",
    "ecc",
    "persistence",
    "temperature_c",
    "utilization_percent",
    "power_limit_w",
    "vbios",
    "retired_pending",
    "remapped_pending",
    "remapped_failure",
    "recovery_action",
)
_MEMORY = ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes")
_SWITCHES = ("retired_pending", "remapped_pending", "remapped_failure")
_MIG_FIELDS = ("profile", "uuid", "gpu_instance", "compute_instance", *_MEMORY)
_TEXTS = ("uuid", "bus_id", "name", "compute_capability", "vbios", "profile")
_OTHER_KINDS: dict[str, type] = {"power_limit_w": float, "recovery_action": str}
_RECOVERY = (
    "None",
    "Reset",
    "Reboot",
    "Drain P2P",
    "Drain and Reset",
    "Recover IMEX Domain",
    "Bus Reset",
    "System Reboot",
)
# NVML's common ancestors by the words of the facts.
_ANCESTORS: dict[t.Any, str] = {0: "PIX", 10: "PIX", 20: "PIX", 30: "NODE", 40: "NODE", 50: "SYS"}
_WORST_FIRST = ("SYS", "NODE", "PIX", "NVLINK")
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
)
_NOT_SUPPORTED = re.compile(r"not supported|^n/?a$", re.IGNORECASE)
# They have no memory of their own; some tell a few GB all the same.
_INTEGRATED = re.compile(r"\b(GB10|N1X?|Thor|Orin|Xavier|Tegra)\b", re.IGNORECASE)
_REASON_LENGTH = 80

Facts = dict[str, t.Any]


def read_gpu(source: Source, engine_path: str, timeout_s: float, unit: str = "") -> Facts:
    """The C(gpu) part of the facts; C(unit) is the one whose memory is counted apart.

    A driver that hangs costs C(timeout_s) for NVML and as much for all of nvidia-smi.
    """
    raw, reason = _ask_nvml(source, engine_path, timeout_s)
    origin = "nvml"
    if raw is None:
        from .nvidia_smi import ask_smi  # compiled at every run that imports it

        raw, smi_reason = ask_smi(source, timeout_s)
        origin = "nvidia-smi"
        reason = "; ".join(dict.fromkeys(r for r in (reason, smi_reason) if r)) or None
    if raw is None:
        raw, origin = {"devices": []}, "none"
    loaded = _loaded_driver(source) or _text(raw.get("driver"))
    log = read_kernel_log(source, timeout_s) if loaded else KernelLog(None, None)
    addresses = driver_addresses(source)
    if len(addresses) != len(raw["devices"]):
        addresses = [""] * len(raw["devices"])
    devices = [
        _device(source, device, address, log, unit)
        for device, address in zip(raw["devices"], addresses)
    ]
    listed = {pci_address(device["bus_id"]) for device in devices}
    return {
        "source": origin,
        "reason": reason,
        "driver": {"loaded": loaded, "library": _library(source, raw.get("library"), reason)},
        "cuda_version": _cuda(raw.get("cuda")),
        "devices": devices,
        "fallen_off": [address for address in log.fallen or [] if address not in listed],
        "topology": _topology(raw.get("topology")) if len(devices) > 1 else None,
    }


def _ask_nvml(
    source: Source, engine_path: str, timeout_s: float
) -> tuple[Facts | None, str | None]:
    """The reader's answer, or why there is none."""
    python = sys.executable
    if source.origin == "live" and importlib.util.find_spec("pynvml") is None:
        python = f"{engine_path}/bin/python"
        if not engine_path or not source.exists(python):
            reason = "no nvidia-ml-py for the host's Python, and no engine that has it"
            source.note("nvml.json", json.dumps({"unknown": reason}))
            return None, reason
    said = source.command("nvml.json", [python, "-"], timeout_s, stdin=_reader())
    answer = parse_json(said.text)
    if answer is None and not source.knows("nvml.json"):
        return None, None  # recorded with nvidia-smi
    if isinstance(answer, dict) and isinstance(answer.get("devices"), list):
        return {**answer, "devices": _numbered(answer["devices"])}, None
    if isinstance(answer, dict) and "unknown" in answer:
        return None, str(answer["unknown"])
    return None, f"NVML: {said.reason or last_line(said.text)}"


def _reader() -> str:
    """The program that asks NVML. Its text is all that is needed of it here."""
    loader: t.Any = __spec__.loader  # of a folder, or of the archive that Ansible sends
    text: bytes = loader.get_data(os.path.join(os.path.dirname(__file__), "nvml_reader.py"))
    return text.decode()


def _numbered(devices: list[t.Any]) -> list[Facts]:
    """The devices, each with its index; the driver lists them in its order."""
    told = [device if isinstance(device, dict) else {} for device in devices]
    return [
        device if is_int(device.get("index")) else {**device, "index": position}
        for position, device in enumerate(told)
    ]


def _told(raw: Facts, fields: t.Iterable[str]) -> tuple[Facts, dict[str, str]]:
    """What was told by field, null for what was not, and why it was not."""
    values: Facts = {}
    unknown: dict[str, str] = {}
    for field in fields:
        answer = raw.get(field)
        if isinstance(answer, dict) and "unknown" in answer:
            unknown[field] = _short(answer["unknown"])
            answer = None
        elif answer is not None and not _is_answer(field, answer):
            unknown[field] = "an answer of another kind"
            answer = None
        values[field] = answer
    return values, unknown


def _is_answer(field: str, answer: t.Any) -> bool:
    """Whether an answer is of the kind that the field is of; of a recording it may be another."""
    if field == "processes":
        return isinstance(answer, list) and all(map(_is_process, answer))
    if field == "mig_instances":
        return isinstance(answer, list) and all(isinstance(part, dict) for part in answer)
    if field in _TEXTS:
        return isinstance(answer, str)
    return isinstance(answer, (int, _OTHER_KINDS.get(field, int)))


def _is_process(told: t.Any) -> bool:
    if not isinstance(told, dict) or not is_int(told.get("pid")):
        return False
    return told.get("memory_bytes") is None or is_int(told["memory_bytes"])


def _short(reason: t.Any) -> str:
    return " ".join(str(reason).split())[:_REASON_LENGTH]


def _device(source: Source, raw: Facts, address: str, log: KernelLog, unit: str) -> Facts:
    """One device of the facts; C(address) is where the driver's list has it, if it tells."""
    handle = raw.get("handle")
    unreachable = _short(handle["unknown"]) if isinstance(handle, dict) else None
    values, unknown = _told(raw, [*_FIELDS, "processes"])
    place = pci_address(values["bus_id"]) or address or None
    processes = values.pop("processes") or []
    kind = _memory_kind(values, unknown)
    device = {
        "index": raw["index"],
        **values,
        "bus_id": values["bus_id"] or place,
        "memory_kind": kind,
        "numa_node": _node(source, place, raw.get("numa_node")),
        "xids": None if log.xids is None else log.xids.get(str(place), []),
        "processes": [
            {
                "pid": process["pid"],
                "memory_bytes": process.get("memory_bytes"),
                "unit": unit_of(source, process["pid"]),
            }
            for process in processes
        ],
    }
    for field in _SWITCHES:
        device[field] = None if device[field] is None else bool(device[field])
    recovery = device["recovery_action"]
    if isinstance(recovery, int):
        known = 0 <= recovery < len(_RECOVERY)
        device["recovery_action"] = _RECOVERY[recovery] if known else f"unknown action {recovery}"
    if device["mig"] is True:
        parts, reasons = _told(raw, ["mig_instances"])
        device["mig_instances"] = _mig_instances(parts["mig_instances"])
        unknown.update(reasons)
    if unit:
        device["instance_bytes"] = _held_by(unit, device["processes"])
    if unreachable is not None:
        unknown = {"device": unreachable}
    if unknown:
        device["unknown"] = unknown
    device["state"], device["state_reason"] = judge(device, unreachable)
    return device


def _held_by(unit: str, processes: list[Facts]) -> int | None:
    """Bytes that a unit's processes hold on a GPU; None when one of them does not tell."""
    sizes = [process["memory_bytes"] for process in processes if process["unit"] == unit]
    return None if None in sizes else sum(sizes)


def _mig_instances(raw: list[Facts] | None) -> list[Facts]:
    """The parts of a GPU; NVML's name of a part ends with its profile."""
    parts = []
    for part in raw or []:
        values, unknown = _told(part, _MIG_FIELDS)
        values["profile"] = str(values["profile"] or "").rsplit(" ", 1)[-1] or None
        parts.append({**values, "unknown": unknown} if unknown else values)
    return parts


def _memory_kind(values: Facts, unknown: dict[str, str]) -> str | None:
    """Where a GPU's memory is. Sizes that one tells that shares the host's RAM become unknown."""
    total = values["memory_total_bytes"]
    if _INTEGRATED.search(str(values["name"] or "")):
        for field in _MEMORY:
            if values[field] is not None:
                unknown[field] = f"not trusted: told {values[field] >> 20} MiB, shares the RAM"
                values[field] = None
        return "unified"
    if total is not None:
        return "dedicated"
    # A GPU that has no memory of its own says "not supported", never another error.
    reason = unknown.get("memory_total_bytes")
    return "unified" if reason and _NOT_SUPPORTED.search(reason) else None


def _node(source: Source, place: str | None, told: t.Any) -> int | None:
    """The kernel's NUMA node of a GPU; where the firmware hides it, the driver's."""
    node = numa_node(source, place)
    return told if node is None and isinstance(told, int) else node


def _topology(ways: t.Any) -> str | None:
    """The worst way between any two GPUs: words of the facts, or NVML's numbers."""
    links = {
        _ANCESTORS.get(way, way) if isinstance(way, (int, str)) else None for way in ways or []
    }
    return next((word for word in _WORST_FIRST if word in links), None)


def _loaded_driver(source: Source) -> str | None:
    """The version of the loaded kernel module."""
    text = source.read_text("/proc/driver/nvidia/version") or ""
    match = re.search(r"NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", text)
    return match[1] if match else None


def _library(source: Source, nvml: t.Any, reason: str | None) -> str | None:
    """The version of the library a new process would load: NVML's own word, else its file's name,
    else what its error said."""
    if isinstance(nvml, str):
        return nvml.split(".", 1)[-1]  # NVML puts the CUDA version before the driver's
    for folder in _LIBRARY_FOLDERS:
        names = (
            re.match(r"libnvidia-ml\.so\.(\d+\.\d+(?:\.\d+)?)$", name)
            for name in source.listing(folder, r"^libnvidia-ml\.")
        )
        found = [match[1] for match in names if match]
        if found:  # an older one may be left over
            return max(found, key=lambda version: [int(part) for part in version.split(".")])
    match = re.search(r"NVML library version: (\d+\.\d+(?:\.\d+)?)", reason or "")
    return match[1] if match else None


def _cuda(version: t.Any) -> str | None:
    """13000 -> 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}" if isinstance(version, int) else None


def _text(value: t.Any) -> str | None:
    return value if isinstance(value, str) and value[:1].isdigit() else None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of a host: through NVML, else through one nvidia-smi query, else none, with the reason.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import typing as t

from . import nvml_reader
from .cgroup import unit_of
from .source import Source, parse_json

MIB = 1 << 20

# Field of the facts -> column of nvidia-smi.
_COLUMNS = {
    "index": "index",
    "uuid": "uuid",
    "bus_id": "pci.bus_id",
    "name": "name",
    "compute_capability": "compute_cap",
    "memory_total_bytes": "memory.total",
    "memory_used_bytes": "memory.used",
    "memory_free_bytes": "memory.free",
    "mig": "mig.mode.current",
    "ecc": "ecc.mode.current",
    "temperature_c": "temperature.gpu",
    "power_limit_w": "power.limit",
    "recovery_action": "gpu_recovery_action",
}
_OTHER_NAMES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "enforced.power.limit": "power.limit",
}
_RECOVERY = {0: "None", 1: "Reset", 2: "Reboot", 3: "Drain P2P", 4: "Drain and Reset"}
# NVML's common ancestors, nearest first, and nvidia-smi's words, by the four words of the facts.
_ANCESTORS = {0: "PIX", 10: "PIX", 20: "PIX", 30: "NODE", 40: "NODE", 50: "SYS"}
_LINKS = {"PIX": "PIX", "PXB": "PIX", "PHB": "NODE", "NODE": "NODE", "SYS": "SYS"}
_WORST_FIRST = ("SYS", "NODE", "PIX", "NVLINK")
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
)
_NOT_SUPPORTED = re.compile(r"not supported|^n/?a$", re.IGNORECASE)

Facts = dict[str, t.Any]


def read_gpu(source: Source, engine_path: str, timeout_s: float) -> Facts:
    """The C(gpu) part of the facts. Takes at most three times C(timeout_s)."""
    raw, reason = _ask_nvml(source, engine_path, timeout_s)
    origin = "nvml"
    if raw is None:
        raw, smi_reason = _ask_smi(source, timeout_s)
        origin = "nvidia-smi"
        reason = "; ".join(dict.fromkeys(r for r in (reason, smi_reason) if r)) or None
    if raw is None:
        raw, origin = {"devices": []}, "none"
    devices = [_device(source, device) for device in raw["devices"]]
    loaded = _loaded_driver(source) or _text(raw.get("driver"))
    return {
        "source": origin,
        "reason": reason,
        "driver": {"loaded": loaded, "library": _library(source, raw.get("library"), reason)},
        "cuda_version": _cuda(raw.get("cuda")),
        "devices": devices,
        "topology": _topology(source, raw, timeout_s) if len(devices) > 1 else None,
    }


def _ask_nvml(
    source: Source, engine_path: str, timeout_s: float
) -> tuple[Facts | None, str | None]:
    """The reader's answer, or why there is none."""
    python = sys.executable
    if source.origin == "live" and importlib.util.find_spec("pynvml") is None:
        python = f"{engine_path}/bin/python"
        if not engine_path or not source.exists(python):
            return None, "no nvidia-ml-py for the host's Python, and no engine that has it"
    said = source.command(
        "nvml.json", [python, "-"], timeout_s, stdin=inspect.getsource(nvml_reader)
    )
    answer = parse_json(said.text)
    if source.origin == "recording" and answer is None:
        return None, None  # recorded with nvidia-smi
    if isinstance(answer, dict) and "devices" in answer:
        return answer, None
    if isinstance(answer, dict) and "unknown" in answer:
        return None, str(answer["unknown"])
    return None, f"NVML: {said.reason or _last_line(said.text)}"


def _ask_smi(source: Source, timeout_s: float) -> tuple[Facts | None, str | None]:
    """The same from nvidia-smi: one query for the GPUs, one for their processes."""
    columns = [*_COLUMNS.values(), "driver_version"]
    said = _query_smi(source, "nvidia-smi.csv", "gpu", columns, timeout_s)
    refused = re.search(r'Field "([^"]+)" is not a valid field', said.text)
    if refused and refused[1] in columns:  # a driver older than the newest column
        columns.remove(refused[1])
        said = _query_smi(source, "nvidia-smi.csv", "gpu", columns, timeout_s)
    rows = _rows(said.text)
    if said.reason or said.status or not rows:
        return None, said.reason or f"nvidia-smi: {_last_line(said.text)}"
    devices = [_smi_device(position, row) for position, row in enumerate(rows)]
    apps = _query_smi(
        source, "nvidia-smi-apps.csv", "compute-apps", ["gpu_uuid", "pid", "used_memory"], timeout_s
    )
    for device in devices:
        device["processes"] = _smi_processes(apps.text, device, len(devices))
        if apps.reason:
            device["processes"] = {"unknown": apps.reason}
    return {"devices": devices, "driver": rows[0].get("driver_version")}, None


def _query_smi(source: Source, name: str, what: str, columns: list[str], timeout_s: float) -> t.Any:
    return source.command(
        name,
        ["nvidia-smi", f"--query-{what}={','.join(columns)}", "--format=csv,nounits"],
        timeout_s,
    )


def _rows(text: str) -> list[dict[str, str]]:
    """The rows of a csv by column name; the units in the header are cut off."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = [re.sub(r" *\[.*", "", cell).strip() for cell in (lines or [""])[0].split(",")]
    header = [_OTHER_NAMES.get(cell, cell) for cell in header]
    if not {"index", "name", "uuid", "pci.bus_id", "pid"} & set(header):
        return []
    cells = ([cell.strip() for cell in line.split(",")] for line in lines[1:])
    return [dict(zip(header, row)) for row in cells if len(row) == len(header)]


def _smi_device(position: int, row: dict[str, str]) -> Facts:
    """A row as the NVML reader would have told it."""
    device: Facts = {}
    for field, column in _COLUMNS.items():
        device[field] = (
            _smi_value(field, row[column]) if column in row else {"unknown": "not queried"}
        )
    if not isinstance(device["index"], int):
        device["index"] = position
    return device


def _smi_value(field: str, cell: str) -> t.Any:
    """One cell; C([N/A]), C(ERR!), C([Unknown Error]) and their kin are unknown."""
    if cell.startswith("[") or cell in ("", "N/A", "ERR!", "Not Supported"):
        return {"unknown": cell.strip("[]") or "empty"}
    if field in ("mig", "ecc"):
        return cell == "Enabled"
    if field in ("uuid", "bus_id", "name", "compute_capability", "recovery_action"):
        return cell
    number = re.match(r"-?\d+(\.\d+)?", cell)
    if number is None:
        return {"unknown": cell}
    value = float(number[0])
    if field.endswith("_bytes"):
        return int(value) * MIB
    return value if field.endswith("_w") else int(value)


def _smi_processes(text: str, device: Facts, devices: int) -> list[Facts]:
    """The processes on one GPU."""
    result = []
    for row in _rows(text):
        here = row.get("uuid", row.get("pci.bus_id"))
        if here in (device["uuid"], device["bus_id"]) or (here is None and devices == 1):
            size = _smi_value(
                "memory_bytes", row.get("used_memory", row.get("used_gpu_memory", ""))
            )
            pid = _smi_value("pid", row.get("pid", ""))
            if isinstance(pid, int):
                result.append({"pid": pid, "memory_bytes": size if isinstance(size, int) else None})
    return result


def _device(source: Source, raw: Facts) -> Facts:
    """One device of the facts. What was not told stands in C(unknown) with the reason."""
    unknown: dict[str, str] = {}
    whole = raw.get("handle")

    def value(field: str) -> t.Any:
        answer = whole if whole is not None else raw.get(field)
        if isinstance(answer, dict) and "unknown" in answer:
            unknown[field] = str(answer["unknown"])[:80]
            return None
        return answer

    device: Facts = {field: value(field) for field in _COLUMNS if field != "index"}
    recovery = device["recovery_action"]
    if isinstance(recovery, int):
        device["recovery_action"] = _RECOVERY.get(recovery, f"unknown action {recovery}")
    processes = value("processes") or []
    facts = {
        "index": raw["index"],
        **device,
        "memory_kind": _memory_kind(
            device["memory_total_bytes"], unknown.get("memory_total_bytes")
        ),
        "numa_node": _numa_node(source, device["bus_id"], raw.get("numa_node")),
        "processes": [
            {**process, "unit": unit_of(source, process["pid"])} for process in processes
        ],
    }
    if unknown:
        facts["unknown"] = {"device": unknown["uuid"]} if whole is not None else unknown
    return facts


def _memory_kind(total: int | None, reason: str | None) -> str | None:
    """A GPU that has no memory of its own says "not supported", never another error."""
    if total is not None:
        return "dedicated"
    return "unified" if reason and _NOT_SUPPORTED.search(reason) else None


def _numa_node(source: Source, bus_id: str | None, nvml: t.Any) -> int | None:
    """The kernel's node of a PCI device (-1 means that there is only one), else NVML's."""
    # nvidia-smi prints an eight digit domain, the kernel a four digit one, in lower case.
    place = re.sub(r"^0000(?=[0-9a-f]{4}:)", "", (bus_id or "").lower())
    text = source.read_text(f"/sys/bus/pci/devices/{place}/numa_node") if place else None
    match = re.match(r"\d+", text or "")
    if match:
        return int(match[0])
    return nvml if isinstance(nvml, int) else None


def _topology(source: Source, raw: Facts, timeout_s: float) -> str | None:
    """The worst way between any two GPUs."""
    if "topology" in raw:
        links = {
            way if way == "NVLINK" else _ANCESTORS.get(way) if isinstance(way, int) else None
            for way in raw["topology"]
        }
    else:
        said = source.command("nvidia-smi-topo.txt", ["nvidia-smi", "topo", "-m"], timeout_s)
        links = set()
        for line in re.sub(r"\x1b\[[0-9;]*m", "", said.text).splitlines():
            cells = line.split()
            if cells and re.match(r"GPU\d+$", cells[0]) and "X" in cells:
                links |= {
                    "NVLINK" if re.match(r"NV\d+$", cell) else _LINKS.get(cell) for cell in cells
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
        for name in source.listing(folder):
            match = re.match(r"libnvidia-ml\.so\.(\d+\.\d+(?:\.\d+)?)$", name)
            if match:
                return match[1]
    match = re.search(r"NVML library version: (\d+\.\d+(?:\.\d+)?)", reason or "")
    return match[1] if match else None


def _cuda(version: t.Any) -> str | None:
    """13000 -> 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}" if isinstance(version, int) else None


def _text(value: t.Any) -> str | None:
    return value if isinstance(value, str) and value[:1].isdigit() else None


def _last_line(text: str) -> str:
    """What a failed program said, in short."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[-2:])[:200] if lines else "no output"

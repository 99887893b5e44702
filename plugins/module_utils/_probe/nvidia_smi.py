# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs through nvidia-smi, told as the NVML reader tells them.

This module util is private to the llmops.sglang collection.

Every cell is read alone: one that holds no value is C({"unknown": reason}), never a dropped row.
"""

from __future__ import annotations

import re
import time
import typing as t

from .pci import driver_addresses, pci_address
from .source import Output, Source, last_line

MIB = 1 << 20

# Field of the facts -> column of nvidia-smi.
COLUMNS = {
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
    "persistence": "persistence_mode",
    "temperature_c": "temperature.gpu",
    "utilization_percent": "utilization.gpu",
    "power_limit_w": "power.limit",
    "vbios": "vbios_version",
    "retired_pending": "retired_pages.pending",
    "recovery_action": "gpu_recovery_action",
}
_ROWS = {
    "remapped_pending": "remapped_rows.pending",
    "remapped_failure": "remapped_rows.failure",
}
_OTHER_NAMES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "enforced.power.limit": "power.limit",
}
_TEXTS = ("uuid", "bus_id", "name", "compute_capability", "recovery_action", "vbios")
_SWITCHES = ("mig", "ecc", "persistence", "retired_pending", *_ROWS)
_WORDS = {"Enabled": True, "Disabled": False, "Yes": True, "No": False, "1": True, "0": False}
_NO_VALUE = ("", "N/A", "ERR!", "Not Supported")
_LINKS = {"PIX": "PIX", "PXB": "PIX", "PHB": "NODE", "NODE": "NODE", "SYS": "SYS"}
_LOST = re.compile(r"device handle for GPU\s?(?:\d+: )?([0-9A-Fa-f:.]+): (.+)")
_REFUSED = re.compile(r'Field "([^"]+)" is not a valid field')
_MIG = re.compile(r"^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: ([^)]+)\)", re.MULTILINE)

Facts = dict[str, t.Any]


def ask_smi(source: Source, timeout_s: float) -> tuple[Facts | None, str | None]:
    """What the NVML reader would have said, or why nvidia-smi cannot.

    All queries together take at most C(timeout_s).
    """
    smi = _Smi(source, timeout_s)
    said = smi.gpus("nvidia-smi.csv", [])
    lost = _LOST.search(said.text)
    if lost:  # one GPU without a handle fails the whole query, so the others are asked for by name
        others = [a for a in driver_addresses(source) if a != pci_address(lost[1])]
        said = smi.gpus("nvidia-smi-others.csv", ["-i", ",".join(others)]) if others else said
    rows = read_csv(said.text)
    if said.reason or said.status or not rows:
        return None, said.reason or f"nvidia-smi: {last_line(said.text)}"
    devices = [_device(position, row) for position, row in enumerate(rows)]
    smi.add_processes(devices)
    smi.add_remapped_rows(devices)
    if any(device["mig"] is True for device in devices):
        smi.add_mig_instances(devices)
    topology = smi.topology(devices) if len(devices) > 1 else []
    if lost:
        devices.append(_lost_device(source, lost[1], lost[2]))
        devices.sort(key=lambda device: device["index"])
    return {
        "devices": devices,
        "driver": rows[0].get("driver_version"),
        "topology": topology,
    }, None


class _Smi:
    """Asks nvidia-smi for one thing after another within one time limit."""

    def __init__(self, source: Source, timeout_s: float) -> None:
        self._source = source
        self._until = time.monotonic() + timeout_s

    def _ask(self, name: str, *arguments: str) -> Output:
        left_s = round(max(self._until - time.monotonic(), 0.1), 1)
        return self._source.command(name, ["nvidia-smi", *arguments], left_s)

    def _query(self, name: str, what: str, columns: t.Iterable[str], options: list[str]) -> Output:
        query = f"--query-{what}={','.join(columns)}"
        return self._ask(name, *options, query, "--format=csv,nounits")

    def gpus(self, name: str, options: list[str]) -> Output:
        """One row per GPU. An older driver refuses newer columns by name, one at a time."""
        columns = [*COLUMNS.values(), "driver_version"]
        while True:
            said = self._query(name, "gpu", columns, options)
            refused = _REFUSED.search(said.text)
            if refused is None or refused[1] not in columns:
                return said
            columns.remove(refused[1])

    def add_processes(self, devices: list[Facts]) -> None:
        """Whatever computes on the GPUs."""
        columns = ["gpu_uuid", "pid", "used_memory"]
        said = self._query("nvidia-smi-apps.csv", "compute-apps", columns, [])
        rows = read_csv(said.text)
        for device in devices:
            found = [row for row in rows if _is_of(row, device, len(devices))]
            device["processes"] = (
                {"unknown": said.reason} if said.reason else [*filter(None, map(_process, found))]
            )

    def add_remapped_rows(self, devices: list[Facts]) -> None:
        """Memory that waits for a reset to be taken out of use."""
        said = self._query(
            "nvidia-smi-rows.csv", "remapped-rows", ["gpu_uuid", *_ROWS.values()], []
        )
        rows = {row.get("uuid"): row for row in read_csv(said.text)}
        for device in devices:
            row = rows.get(device["uuid"], {}) if isinstance(device["uuid"], str) else {}
            for field, column in _ROWS.items():
                device[field] = read_cell(field, row.get(column, "not queried"))

    def add_mig_instances(self, devices: list[Facts]) -> None:
        """The parts of each GPU. Only NVML tells their memory."""
        said = self._ask("nvidia-smi-list.txt", "-L")
        for block in re.split(r"^(?=GPU \d+:)", said.text, flags=re.MULTILINE):
            for device in devices:
                if isinstance(device["uuid"], str) and device["uuid"] in block:
                    device["mig_instances"] = [
                        {"profile": profile, "uuid": uuid} for profile, uuid in _MIG.findall(block)
                    ]

    def topology(self, devices: list[Facts]) -> list[str | None]:
        """The ways between the GPUs; sets C(numa_node) of the devices from the same table."""
        said = self._ask("nvidia-smi-topo.txt", "topo", "-m")
        links: list[str | None] = []
        header: list[str] = []
        for line in re.sub(r"\x1b\[[0-9;]*m", "", said.text).splitlines():
            cells = [cell.strip() for cell in line.split("\t")]
            if "GPU0" in cells and not cells[0]:
                header = cells
            elif re.match(r"GPU\d+$", cells[0]) and "X" in cells:
                row = dict(zip(header, cells))
                links += [
                    "NVLINK" if re.match(r"NV\d+$", cell) else _LINKS.get(cell)
                    for name, cell in row.items()
                    if name.startswith("GPU") and name[3:].isdigit()
                ]
                for device in devices:
                    if f"GPU{device['index']}" == cells[0]:
                        node = re.match(r"\d{1,4}$", row.get("NUMA Affinity", ""))
                        device["numa_node"] = int(node[0]) if node else None
        return links


def read_csv(text: str) -> list[dict[str, str]]:
    """The rows of a csv by column name; the units in the header are cut off."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = [re.sub(r" *\[.*", "", cell).strip() for cell in (lines or [""])[0].split(",")]
    header = [_OTHER_NAMES.get(cell, cell) for cell in header]
    if not {"index", "name", "uuid", "pci.bus_id", "pid"} & set(header):
        return []
    cells = ([cell.strip() for cell in line.split(",")] for line in lines[1:])
    return [dict(zip(header, row)) for row in cells if len(row) == len(header)]


def read_cell(field: str, cell: str) -> t.Any:
    """The value of one cell by the field it is for."""
    if cell.startswith("[") or cell in _NO_VALUE:
        return {"unknown": cell.strip("[]") or "empty"}
    if field in _TEXTS:
        return cell
    if field in _SWITCHES:
        return _WORDS.get(cell, {"unknown": cell})
    number = re.match(r"-?\d{1,15}(?!\d)(\.\d+)?", cell)
    if number is None:
        return {"unknown": cell}
    value = float(number[0])
    if field.endswith("_bytes"):
        return int(value) * MIB
    return value if field.endswith("_w") else int(value)


def _device(position: int, row: dict[str, str]) -> Facts:
    device: Facts = {
        field: read_cell(field, row[column]) if column in row else {"unknown": "not queried"}
        for field, column in COLUMNS.items()
    }
    if not isinstance(device["index"], int):
        device["index"] = position
    return device


def _lost_device(source: Source, bus_id: str, reason: str) -> Facts:
    """The GPU that failed the query; the driver counts GPUs by their addresses."""
    addresses, address = driver_addresses(source), pci_address(bus_id)
    index = addresses.index(address) if address in addresses else len(addresses)
    return {"index": index, "bus_id": bus_id, "handle": {"unknown": reason}}


def _is_of(row: dict[str, str], device: Facts, devices: int) -> bool:
    here = row.get("uuid", row.get("pci.bus_id"))
    return here in (device["uuid"], device["bus_id"]) or (here is None and devices == 1)


def _process(row: dict[str, str]) -> Facts | None:
    pid = read_cell("pid", row.get("pid", ""))
    if not isinstance(pid, int):
        return None
    size = read_cell("memory_bytes", row.get("used_memory", row.get("used_gpu_memory", "")))
    return {"pid": pid, "memory_bytes": size if isinstance(size, int) else None}

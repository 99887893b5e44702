# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs as the kernel knows them: where they are, and what it logged about them.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import re
import typing as t

from .source import Source

_DRIVER_FOLDER = "/proc/driver/nvidia/gpus"
# The driver's lines only: the rest of the kernel's log is nobody's business.
_KERNEL_LOG = ["sh", "-c", "dmesg | grep -F NVRM"]
_ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F]+)?"
# The address and the verdict may stand on different lines, with or without an Xid.
_FALLEN = re.compile(
    rf"(?:NVIDIA GPU |Xid \(PCI:)({_ADDRESS})(?:(?!NVIDIA GPU |Xid \().){{0,300}}?"
    "fallen off the bus",
    re.DOTALL,
)
_XID = re.compile(rf"Xid \(PCI:({_ADDRESS})\): (\d+)")


class KernelLog(t.NamedTuple):
    """What the driver logged since the boot, as far as the kernel still has it.

    C(fallen) has addresses that fell off the bus, C(xids) the error numbers by address; both are
    None when the log may not be read.
    """

    fallen: list[str] | None
    xids: dict[str, list[int]] | None


def pci_address(bus_id: t.Any) -> str | None:
    """An address as the kernel writes it: four digits of domain, lower case, with a function.

    nvidia-smi prints a domain of eight digits, recordings have an underscore for each colon.
    """
    match = re.fullmatch(_ADDRESS, str(bus_id or "").strip().replace("_", ":"))
    if match is None:
        return None
    domain, place = match[0].lower().split(":", 1)
    return f"{int(domain, 16):04x}:{place}" + ("" if "." in place else ".0")


def numa_node(source: Source, address: str | None) -> int | None:
    """The node of a device; None when the firmware does not tell (the kernel then says -1)."""
    text = source.read_text(f"/sys/bus/pci/devices/{address}/numa_node") if address else None
    match = re.match(r"\d+", text or "")
    return int(match[0]) if match else None


def driver_addresses(source: Source) -> list[str]:
    """Addresses of the GPUs that the driver took over, in the order in which it counts them."""
    found = (pci_address(name) for name in source.listing(_DRIVER_FOLDER))
    return sorted(address for address in found if address)


def read_kernel_log(source: Source, timeout_s: float) -> KernelLog:
    """The driver's lines of the kernel's log."""
    said = source.command("dmesg.txt", _KERNEL_LOG, timeout_s)
    if said.reason or "Operation not permitted" in said.text or "not found" in said.text:
        return KernelLog(None, None)
    fallen = {pci_address(address) for address in _FALLEN.findall(said.text)}
    xids: dict[str, set[int]] = {}
    for address, number in _XID.findall(said.text):
        xids.setdefault(str(pci_address(address)), set()).add(int(number))
    return KernelLog(
        sorted(address for address in fallen if address),
        {address: sorted(numbers) for address, numbers in xids.items()},
    )

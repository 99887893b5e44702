# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The doubles of NVIDIA's driver: management library, nvidia-smi, /proc/driver/nvidia."""

from __future__ import annotations

from pathlib import Path

from base import LAB, LabError, cached, key_of, run

NVML = LAB / "nvml"
PRESETS = NVML / "presets"
SOURCE = NVML / "nvml.c"
SMI = NVML / "nvidia_smi.py"
FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC")


def library() -> Path:
    """The folder with the compiled libnvidia-ml.so.1."""

    def fill(path: Path) -> None:
        run("gcc", *FLAGS, "-o", path / "libnvidia-ml.so.1", SOURCE)

    return cached("nvml", key_of(SOURCE, *FLAGS), fill)


def preset(name: str) -> str:
    """The text of a preset. Raises LabError with the names there are."""
    path = PRESETS / name
    if not path.is_file():
        known = ", ".join(sorted(p.name for p in PRESETS.iterdir()))
        raise LabError(f"no GPU preset {name!r}; there are: {known}")
    return path.read_text()


def last_value(state: str, key: str) -> str | None:
    """The value of the last line of a state text with that key."""
    values = [line.partition("=")[2] for line in state.splitlines() if line.startswith(f"{key}=")]
    return values[-1] if values else None


def proc_version(driver: str) -> str:
    """/proc/driver/nvidia/version of a loaded open kernel module."""
    return (
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build  "
        "(lab@double)\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n"
    )


def fill_state(folder: Path, name: str) -> None:
    """Write a guest's GPU files below its state folder.

    `gpus` is the state, `proc-driver` what is bound over /proc/driver (empty when no driver is
    loaded), `nvidia` what is installed into the guest.
    """
    state = preset(name)
    (folder / "gpus").write_text(state)
    proc = folder / "proc-driver"
    proc.mkdir()
    driver = last_value(state, "driver")
    if driver:
        (proc / "nvidia").mkdir()
        (proc / "nvidia" / "version").write_text(proc_version(driver))
    install = folder / "nvidia"
    install.mkdir()
    version = last_value(state, "library") or driver
    (install / "libnvidia-ml.so.1").write_bytes((library() / "libnvidia-ml.so.1").read_bytes())
    (install / "version").write_text(f"{version}\n")
    (install / "nvidia-smi").write_text("#!/usr/bin/python3\n" + SMI.read_text())


# Run in the guest: what the driver's packages and the kernel module would bring.
INSTALL = """
set -eu
from=/run/lab/nvidia
libraries=/usr/lib/x86_64-linux-gnu
name=libnvidia-ml.so.$(cat $from/version)
install -m 0644 $from/libnvidia-ml.so.1 $libraries/$name
ln -sf $name $libraries/libnvidia-ml.so.1
install -m 0755 $from/nvidia-smi /usr/bin/nvidia-smi
mount --bind /run/lab/proc-driver /proc/driver
"""

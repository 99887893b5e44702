# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's own GPU probe on the driver doubles: through the real nvidia-ml-py, and through
nvidia-smi. Both ways must tell the same."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import gpus
import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe.gpu import read_gpu
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live, Output

WAYS = ("nvml", "nvidia-smi")
MIB = 2**20
# What only one of the two can tell.
ONE_WAY = ("unknown", "mig_instances", "retired_pending")


class Host(Live):
    """This machine with a driver that is doubled, and without a kernel log."""

    def __init__(self, folder: Path, addresses: list[str]) -> None:
        self._bin = folder
        self._addresses = addresses

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        if name == "dmesg.txt":
            return Output("", None, "not asked")
        program = str(self._bin / argv[0]) if argv[0] == "nvidia-smi" else argv[0]
        return super().command(name, [program, *argv[1:]], timeout_s, stdin)

    def listing(self, path: str, pattern: str = "") -> list[str]:
        if path == "/proc/driver/nvidia/gpus":
            return self._addresses
        return super().listing(path, pattern)


class Lab:
    """A state file, and the facts that the probe makes of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._state = folder / "gpus"
        self._monkeypatch = monkeypatch
        self._folder = folder
        monkeypatch.setenv("LAB_GPU_STATE", str(self._state))
        monkeypatch.setenv("LD_LIBRARY_PATH", str(gpus.library()))
        smi = folder / "nvidia-smi"
        smi.write_text(f'#!/bin/sh\nexec {sys.executable} {gpus.SMI} "$@"\n')
        smi.chmod(0o755)

    def read(self, way: str, preset: str, *lines: str, timeout_s: float = 20) -> dict[str, Any]:
        state = gpus.preset(preset) + "".join(f"{line}\n" for line in lines)
        self._state.write_text(state)
        buses = [gpus.last_value(state, f"gpu.{gpu}.bus_id") for gpu in range(8)]
        host = Host(self._folder, [bus[4:].lower() for bus in buses if bus])
        with self._monkeypatch.context() as patched:
            if way == "nvidia-smi":
                patched.setattr("importlib.util.find_spec", lambda name: None)
            facts = read_gpu(host, "", timeout_s, "sglang-kimi.service")
        assert facts["source"] in (way, "none")
        return facts


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


@pytest.mark.parametrize("preset", ["rtx-pro-6000-x8", "h200-x8", "gb10"])
def test_both_ways_tell_the_same(lab: Lab, preset: str) -> None:
    nvml, smi = (lab.read(way, preset) for way in WAYS)
    assert len(nvml["devices"]) == len(smi["devices"]) > 0
    assert nvml["topology"] == smi["topology"]
    for one, other in zip(nvml["devices"], smi["devices"]):
        assert one["state"] == "ok", one["state_reason"]
        differing = {key for key in one if one[key] != other[key]}
        # A single GPU has no table of links, which is where nvidia-smi tells the node.
        assert differing <= {*ONE_WAY, *(["numa_node"] if preset == "gb10" else [])}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", ["handle=error:GPU_IS_LOST", "handle=error:UNKNOWN"])
def test_one_lost_gpu_of_eight(lab: Lab, way: str, error: str) -> None:
    devices = lab.read(way, "rtx-pro-6000-x8", f"gpu.3.{error}")["devices"]
    assert [device["index"] for device in devices] == list(range(8))
    assert [device["state"] for device in devices].count("ok") == 7
    lost = devices[3]
    assert (lost["state"], lost["memory_total_bytes"]) == ("lost", None)
    assert lost["bus_id"].lower().endswith("0000:61:00.0")
    assert set(lost["unknown"]) == {"device"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("lines", "state", "words"),
    [
        (["gpu.2=error:GPU_IS_LOST"], "lost", "GPU is lost"),
        (["gpu.2.recovery_action=1"], "reset", "Reset"),
        (["gpu.2.recovery_action=4"], "reset", "Drain and Reset"),
        (["gpu.2.memory=error:RESET_REQUIRED"], "reset", "GPU requires re"),
        (["gpu.2.utilization=93"], "stuck", "busy at 93 % without a process"),
        (["gpu.2.memory_used_mib=20480"], "stuck", "20.0 GiB in use that no process holds"),
        (["gpu.2.temperature=error:UNKNOWN"], "failing", "temperature_c"),
        (["gpu.2.remapped_pending=1"], "repair", "rows wait for a reset"),
        (["gpu.2.remapped_failure=1"], "repair", "must be exchanged"),
        (["gpu.2.retired_pending=1"], "repair", "pages wait for a reboot"),
    ],
)
def test_one_odd_gpu_of_eight(lab: Lab, way: str, lines: list[str], state: str, words: str) -> None:
    devices = lab.read(way, "rtx-pro-6000-x8", *lines)["devices"]
    assert (devices[2]["state"], words in str(devices[2]["state_reason"])) == (state, True)
    assert {device["state"] for device in devices if device["index"] != 2} == {"ok"}


@pytest.mark.parametrize("way", WAYS)
def test_a_split_gpu_hides_its_memory_and_lists_its_parts(lab: Lab, way: str) -> None:
    part = [
        "gpu.0.mig.{}.name=NVIDIA H200 MIG 3g.71gb",
        "gpu.0.mig.{}.uuid=MIG-0a{}",
        "gpu.0.mig.{}.gpu_instance={}",
        "gpu.0.mig.{}.compute_instance=0",
        "gpu.0.mig.{}.memory_total_mib=71424",
        "gpu.0.mig.{}.memory_reserved_mib=0",
        "gpu.0.mig.{}.memory_used_mib=12",
    ]
    lines = [line.format(place, place) for place in (1, 2) for line in part]
    gpu = lab.read(way, "h200-x8", "gpu.0.mig=1", "gpu.0.memory=error:NO_PERMISSION", *lines)[
        "devices"
    ][0]
    assert (gpu["mig"], gpu["memory_total_bytes"], gpu["state"]) == (True, None, "ok")
    assert gpu["unknown"]["memory_total_bytes"] == "Insufficient Permissions"
    assert [(p["profile"], p["uuid"]) for p in gpu["mig_instances"]] == [
        ("3g.71gb", "MIG-0a1"),
        ("3g.71gb", "MIG-0a2"),
    ]
    sizes = {p["memory_total_bytes"] for p in gpu["mig_instances"]}
    assert sizes == ({71424 * MIB} if way == "nvml" else {None})


@pytest.mark.parametrize("way", WAYS)
def test_a_driver_that_hangs_is_a_fact_after_a_bound(lab: Lab, way: str) -> None:
    began = time.monotonic()
    facts = lab.read(way, "rtx-pro-6000-x8", "delay_s=60", timeout_s=1)
    assert time.monotonic() - began < 10
    assert (facts["source"], facts["devices"]) == ("none", [])
    assert "did not answer within 1 s" in facts["reason"]


@pytest.mark.parametrize("way", WAYS)
def test_a_driver_of_another_version_than_its_library(lab: Lab, way: str) -> None:
    facts = lab.read(way, "rtx-pro-6000-x8", "library=580.95.05")
    assert (facts["source"], facts["devices"]) == ("none", [])
    assert "mismatch" in facts["reason"]

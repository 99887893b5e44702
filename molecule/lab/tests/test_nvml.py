# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver doubles: the real nvidia-ml-py on the C library, and nvidia-smi, from one file."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpus
import pynvml
import pytest

MIB = 2**20
SMI = [sys.executable, str(gpus.SMI)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    subprocess.run(["gcc", *gpus.FLAGS, "-Werror", "-o", path, gpus.SOURCE], check=True)
    return path


class State:
    """A GPU state file; what is added at its end holds from then on."""

    def __init__(self, path: Path, preset: str) -> None:
        self.path = path
        path.write_text(gpus.preset(preset))

    def add(self, *lines: str) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def smi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LAB_GPU_STATE": str(self.path)}
        return subprocess.run(
            [*SMI, *arguments], capture_output=True, text=True, env=environment, check=False
        )


@pytest.fixture
def state(request: pytest.FixtureRequest, tmp_path: Path) -> State:
    """The preset that a test names with `indirect`, else the headline's."""
    return State(tmp_path / "gpus", getattr(request, "param", "rtx-pro-6000-x8"))


@pytest.fixture
def nvml(library: Path, state: State, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The real nvidia-ml-py, loaded with the double and not yet initialised."""
    monkeypatch.setenv("LAB_GPU_STATE", str(state.path))
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(library)))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    yield pynvml
    with contextlib.suppress(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlShutdown()


def test_headline_host(nvml: Any) -> None:
    nvml.nvmlInit()
    assert nvml.nvmlSystemGetDriverVersion() == "580.82.07"
    assert nvml.nvmlSystemGetNVMLVersion() == "13.580.82.07"
    assert nvml.nvmlSystemGetCudaDriverVersion() == 13000
    assert nvml.nvmlDeviceGetCount() == 8
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(8)]
    assert {nvml.nvmlDeviceGetName(h) for h in handles} == {
        "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    }
    assert len({nvml.nvmlDeviceGetUUID(h) for h in handles}) == 8
    assert nvml.nvmlDeviceGetMinorNumber(handles[5]) == 5
    assert nvml.nvmlDeviceGetCudaComputeCapability(handles[0]) == (12, 0)
    pci = nvml.nvmlDeviceGetPciInfo(handles[7])
    assert (pci.busId, pci.bus, pci.pciDeviceId) == ("00000000:E1:00.0", 0xE1, 0x2BB510DE)
    assert nvml.nvmlDeviceGetEnforcedPowerLimit(handles[0]) == 600_000
    assert nvml.nvmlDeviceGetTemperature(handles[0], nvml.NVML_TEMPERATURE_GPU) == 31
    assert nvml.nvmlDeviceGetTemperatureV(handles[0], nvml.NVML_TEMPERATURE_GPU) == 31
    assert nvml.nvmlDeviceGetPersistenceMode(handles[0]) == 1
    assert nvml.nvmlDeviceGetMigMode(handles[0]) == [0, 0]
    assert nvml.nvmlDeviceGetEccMode(handles[0]) == [1, 1]
    assert nvml.nvmlDeviceGetComputeRunningProcesses(handles[0]) == []
    levels = [nvml.nvmlDeviceGetTopologyCommonAncestor(handles[6], handles[i]) for i in (7, 5, 0)]
    assert levels == [nvml.NVML_TOPOLOGY_SINGLE, nvml.NVML_TOPOLOGY_NODE, nvml.NVML_TOPOLOGY_SYSTEM]
    nodes = [nvml.nvmlDeviceGetMemoryAffinity(h, 1, nvml.NVML_AFFINITY_SCOPE_NODE) for h in handles]
    assert [node[0] for node in nodes] == [1, 1, 1, 1, 2, 2, 2, 2]


def test_memory_of_both_versions(nvml: Any, state: State) -> None:
    state.add("gpu.2.memory_used_mib=1000")
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(2)
    old = nvml.nvmlDeviceGetMemoryInfo(handle)
    new = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    assert old.total == new.total == 97_887 * MIB
    assert new.reserved == 636 * MIB
    assert (old.used, new.used) == (1636 * MIB, 1000 * MIB)
    assert old.free == new.free == (97_887 - 1636) * MIB


def test_changes_show_at_the_next_call(nvml: Any, state: State) -> None:
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(3)
    state.add("gpu.3.temperature=91", "gpu.3.processes=4711:2048,4712:N/A")
    assert nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU) == 91
    processes = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    found = [(process.pid, process.usedGpuMemory) for process in processes]
    assert found == [(4711, 2048 * MIB), (4712, None)]
    state.add("gpu.3=error:GPU_IS_LOST")
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    state.add("gpu.3=ok")
    assert nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU) == 91


def test_field_values_fail_one_by_one(nvml: Any, state: State) -> None:
    state.add("gpu.1.recovery_action=2", "gpu.1.remapped_failure=error:NO_PERMISSION")
    nvml.nvmlInit()
    fields = [
        nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION,
        nvml.NVML_FI_DEV_REMAPPED_FAILURE,
        nvml.NVML_FI_DEV_ECC_CURRENT,
    ]
    values = nvml.nvmlDeviceGetFieldValues(nvml.nvmlDeviceGetHandleByIndex(1), fields)
    assert [value.nvmlReturn for value in values] == [
        nvml.NVML_SUCCESS,
        nvml.NVML_ERROR_NO_PERMISSION,
        nvml.NVML_ERROR_NOT_SUPPORTED,
    ]
    assert values[0].value.uiVal == nvml.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT


def test_a_broken_handle_leaves_the_others(nvml: Any, state: State) -> None:
    state.add("gpu.4.handle=error:UNKNOWN")
    nvml.nvmlInit()
    with pytest.raises(nvml.NVMLError_Unknown):
        nvml.nvmlDeviceGetHandleByIndex(4)
    assert nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(5))
    listed = state.smi("-L")
    assert listed.returncode != 0
    assert "device handle for GPU4: 00000000:81:00.0: Unknown Error" in listed.stdout


def test_a_newer_library_than_driver(nvml: Any, state: State) -> None:
    state.add("library=580.95.05")
    with pytest.raises(nvml.NVMLError_LibRmVersionMismatch):
        nvml.nvmlInit()
    answer = state.smi("-L")
    assert answer.returncode == 18
    assert "Driver/library version mismatch" in answer.stdout


@pytest.mark.parametrize("state", ["none"], indirect=True)
def test_no_driver(nvml: Any, state: State) -> None:
    with pytest.raises(nvml.NVMLError_DriverNotLoaded):
        nvml.nvmlInit()
    assert state.smi("-L").returncode == 9


@pytest.mark.parametrize("state", ["h200-x8"], indirect=True)
def test_nvlink(nvml: Any, state: State) -> None:
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    assert [nvml.nvmlDeviceGetNvLinkState(handle, link) for link in range(18)] == [1] * 18
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetNvLinkState(handle, 18)
    assert "GPU0\t X \tNV18\tNV18" in state.smi("topo", "-m").stdout


@pytest.mark.parametrize("state", ["gb10"], indirect=True)
def test_unified_memory(nvml: Any, state: State) -> None:
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    for call in (nvml.nvmlDeviceGetMemoryInfo, nvml.nvmlDeviceGetMigMode):
        with pytest.raises(nvml.NVMLError_NotSupported):
            call(handle)
    query = "--query-gpu=name,memory.total,memory.free,compute_cap"
    answer = state.smi(query, "--format=csv,noheader,nounits")
    assert answer.stdout == "NVIDIA GB10, [N/A], [N/A], 12.1\n"


def test_what_is_absent_is_not_found(nvml: Any) -> None:
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(nvml.NVMLError_FunctionNotFound):
        nvml.nvmlDeviceGetSerial(handle)


def test_nothing_is_answered_before_init(nvml: Any) -> None:
    with pytest.raises(nvml.NVMLError_Uninitialized):
        nvml.nvmlDeviceGetCount()


def test_smi_shows_errors_in_place_of_values(state: State) -> None:
    state.add(
        "gpu.0.temperature=error:UNKNOWN",
        "gpu.0.mig=error:NO_PERMISSION",
        "gpu.1.memory_used_mib=7",
    )
    query = "--query-gpu=index,temperature.gpu,mig.mode.current,memory.used,power.limit"
    lines = state.smi(query, "--format=csv").stdout.splitlines()
    assert lines[:3] == [
        "index, temperature.gpu, mig.mode.current, memory.used [MiB], power.limit [W]",
        "0, [Unknown Error], [Insufficient Permissions], 0 MiB, 600.00 W",
        "1, 31, Disabled, 7 MiB, 600.00 W",
    ]


def test_smi_lists_processes(state: State) -> None:
    state.add(f"gpu.6.processes={os.getpid()}:512,999999999:N/A")
    query = "--query-compute-apps=pid,name,used_memory,gpu_uuid"
    lines = state.smi(query, "--format=csv,noheader,nounits").stdout.splitlines()
    own, gone = (line.split(", ") for line in lines)
    assert (own[0], own[2]) == (str(os.getpid()), "512")
    assert Path(own[1]).name.startswith("python")
    assert gone[:3] == ["999999999", "[Not Found]", "[N/A]"]
    assert own[3] == gone[3] == gpus.last_value(state.path.read_text(), "gpu.6.uuid")


@pytest.mark.parametrize("arguments", [[], ["-q"], ["--query-gpu=index"], ["topo"]])
def test_smi_refuses_the_rest_by_name(state: State, arguments: list[str]) -> None:
    answer = state.smi(*arguments)
    assert answer.returncode == 2
    assert "(double)" in answer.stdout


def test_library_says_what_it_is(library: Path) -> None:
    assert b"a double of libnvidia-ml.so.1, no GPU behind it" in library.read_bytes()

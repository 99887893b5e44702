# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs as NVML and nvidia-smi tell of them, whole and broken."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import nvml_reader
from ansible_collections.llmops.sglang.plugins.module_utils._probe.gpu import read_gpu
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live, Output
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)

MIB = 1 << 20


def gpu_of(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    return read_gpu(record(folder, files), "", 1)


def test_eight_gpus_from_nvidia_smi() -> None:
    gpu = facts_of("headline")["gpu"]
    assert gpu["source"] == "nvidia-smi"
    assert gpu["driver"] == {"loaded": "580.82.07", "library": "580.82.07"}
    assert gpu["topology"] == "SYS"
    assert len(gpu["devices"]) == 8
    assert [device["numa_node"] for device in gpu["devices"]] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert gpu["devices"][3] == {
        "index": 3,
        "uuid": "GPU-6f1d0a03-7c41-4e0b-9a55-1b2c3d4e5f03",
        "bus_id": "00000000:46:00.0",
        "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "compute_capability": "12.0",
        "memory_kind": "dedicated",
        "memory_total_bytes": 97887 * MIB,
        "memory_used_bytes": 89164 * MIB,
        "memory_free_bytes": 8087 * MIB,
        "mig": False,
        "ecc": True,
        "temperature_c": 44,
        "power_limit_w": 600.0,
        "recovery_action": "None",
        "numa_node": 0,
        "processes": [{"pid": 41213, "memory_bytes": 89123 * MIB, "unit": "sglang-kimi.service"}],
    }


def test_eight_gpus_from_nvml() -> None:
    gpu = facts_of("h200-nvlink")["gpu"]
    assert (gpu["source"], gpu["reason"], gpu["topology"]) == ("nvml", None, "NVLINK")
    assert gpu["cuda_version"] == "13.0"
    assert gpu["driver"] == {"loaded": "580.95.05", "library": "580.95.05"}
    assert {device["recovery_action"] for device in gpu["devices"]} == {"None"}
    assert {device["processes"][0]["unit"] for device in gpu["devices"]} == {"sglang-kimi.service"}


def test_unified_memory_is_a_kind_not_a_zero() -> None:
    device = facts_of("gb10")["gpu"]["devices"][0]
    assert device["memory_kind"] == "unified"
    assert device["memory_total_bytes"] is None
    assert device["unknown"]["memory_total_bytes"] == "N/A"
    assert device["temperature_c"] == 38
    assert device["processes"] == [{"pid": 2222, "memory_bytes": 31456 * MIB, "unit": None}]


def test_every_field_is_unknown_alone() -> None:
    first, second = facts_of("mig")["gpu"]["devices"]
    assert first["mig"] is True
    assert first["memory_kind"] is None
    assert first["unknown"]["memory_free_bytes"] == "Insufficient Permissions"
    assert first["power_limit_w"] == 400.0
    assert second["memory_total_bytes"] == 81920 * MIB
    assert second["unknown"]["temperature_c"] == "Unknown Error"
    assert second["unknown"]["power_limit_w"] == "ERR!"


def test_a_driver_that_does_not_match_its_library() -> None:
    gpu = facts_of("driver-mismatch")["gpu"]
    assert (gpu["source"], gpu["devices"]) == ("none", [])
    assert "Driver/library version mismatch" in gpu["reason"]
    assert gpu["driver"] == {"loaded": "580.82.07", "library": "580.95"}


def test_the_library_on_disk_is_known_by_its_file(tmp_path: Path) -> None:
    gpu = gpu_of(
        tmp_path,
        {
            "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "",
            "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.95.05": "",
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  "
            "Fri Jan 24 12:00:00 UTC 2025\n",
        },
    )
    assert gpu["driver"] == {"loaded": "570.86.15", "library": "580.95.05"}


def test_no_gpu(tmp_path: Path) -> None:
    gpu = gpu_of(tmp_path, {"proc/meminfo": ""})
    assert (gpu["source"], gpu["devices"], gpu["topology"]) == ("none", [], None)
    assert gpu["reason"] == "the recording has no commands/nvidia-smi.csv"
    assert gpu["driver"] == {"loaded": None, "library": None}


def test_a_lost_gpu_does_not_hide_the_others(tmp_path: Path) -> None:
    lost = {"unknown": "GPU is lost"}
    raw = {
        "driver": "580.1",
        "library": {"unknown": "x"},
        "cuda": lost,
        "topology": [lost, 50],
        "devices": [
            {"index": 0, "handle": lost},
            {
                "index": 1,
                "name": "GPU B",
                "recovery_action": 2,
                "memory_total_bytes": 8 * MIB,
                "processes": lost,
            },
            {"index": 2, "recovery_action": 77},
        ],
    }
    gpu = gpu_of(tmp_path, {"commands/nvml.json": json.dumps(raw)})
    first, second, third = gpu["devices"]
    assert first["unknown"] == {"device": "GPU is lost"}
    assert first["memory_total_bytes"] is None and first["processes"] == []
    assert (second["name"], second["recovery_action"]) == ("GPU B", "Reboot")
    assert second["unknown"] == {"processes": "GPU is lost"}
    assert third["recovery_action"] == "unknown action 77"
    assert gpu["topology"] == "SYS"


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (("NV18", "NV18"), "NVLINK"),
        (("NV4", "SYS"), "SYS"),
        (("PHB", "PIX"), "NODE"),
        (("PXB", "PIX"), "PIX"),
    ],
)
def test_the_worst_link_counts(tmp_path: Path, cells: tuple[str, str], word: str) -> None:
    table = (
        f"\tGPU0\tGPU1\tGPU2\nGPU0\t X \t{cells[0]}\t{cells[1]}\t0-9\nGPU1\t{cells[0]}\t X \t"
        f"{cells[0]}\nGPU2\t{cells[1]}\t{cells[0]}\t X \n\nLegend:\n  SYS  = far\n"
    )
    gpu = gpu_of(
        tmp_path,
        {
            "commands/nvidia-smi.csv": "index, name\n0, A\n1, A\n2, A\n",
            "commands/nvidia-smi-topo.txt": table,
        },
    )
    assert gpu["topology"] == word


class Smi(Live):
    """A live host whose nvidia-smi is a script."""

    def __init__(self, script: Path) -> None:
        self.script = str(script)

    def command(
        self, name: str, argv: list[str], timeout_s: float, stdin: str | None = None
    ) -> Output:
        if argv[0] == "nvidia-smi":
            argv = [sys.executable, self.script, *argv[1:]]
        return super().command(name, argv, timeout_s, stdin)


def test_an_older_nvidia_smi_is_asked_again_without_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    script = tmp_path / "smi.py"
    script.write_text(
        "import sys\n"
        "query = sys.argv[1].split('=', 1)[1].split(',')\n"
        "if 'gpu_recovery_action' in query:\n"
        "    print('Field \"gpu_recovery_action\" is not a valid field to query.'); sys.exit(2)\n"
        "values = {'index': '0', 'name': 'Old GPU', 'memory.total': '4096'}\n"
        "print(', '.join(query)); print(', '.join(values.get(n, '[N/A]') for n in query))\n"
    )
    gpu = read_gpu(Smi(script), "", 10)
    assert gpu["source"] == "nvidia-smi"
    assert gpu["devices"][0]["name"] == "Old GPU"
    assert gpu["devices"][0]["memory_total_bytes"] == 4096 * MIB
    assert gpu["devices"][0]["unknown"]["recovery_action"] == "not queried"


def test_a_driver_that_hangs_is_a_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    script = tmp_path / "smi.py"
    script.write_text("import time; time.sleep(60)\n")
    python = tmp_path / "engine" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nsleep 60\n")
    python.chmod(0o755)
    gpu = read_gpu(Smi(script), str(tmp_path / "engine"), 0.3)
    assert gpu["source"] == "none"
    assert "NVML: " in gpu["reason"] and gpu["reason"].count("did not answer within 0.3 s") == 2


def test_the_engines_interpreter_reads_where_the_hosts_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(
        '#!/bin/sh\ncat >"$0.in"\n'
        'echo \'{"devices": [{"index": 0, "name": "X"}], "topology": []}\'\n'
    )
    python.chmod(0o755)
    gpu = read_gpu(Live(), str(tmp_path), 10)
    assert (gpu["source"], gpu["devices"][0]["name"]) == ("nvml", "X")
    assert "def read_device" in (tmp_path / "bin" / "python.in").read_text()


class NVMLError(Exception):
    """The library's error."""


def fake_nvml(count: int, lost: int | None = None) -> types.SimpleNamespace:
    """A library with a few GPUs, of which one may be lost."""

    def handle(index: int) -> int:
        if index == lost:
            raise NVMLError("GPU is lost")
        return index

    def memory(_handle: int, version: int | None = None) -> types.SimpleNamespace:
        if version is not None:
            raise NVMLError("Function Not Found")
        return types.SimpleNamespace(total=100, used=40, free=60)

    def refuse(*_args: Any) -> None:
        raise NVMLError("Not Supported")

    return types.SimpleNamespace(
        NVMLError=NVMLError,
        NVML_SUCCESS=0,
        NVML_TEMPERATURE_GPU=0,
        nvmlMemory_v2=2,
        NVML_FI_DEV_GET_GPU_RECOVERY_ACTION=1,
        NVML_P2P_CAPS_INDEX_NVLINK=2,
        NVML_P2P_STATUS_OK=0,
        NVML_AFFINITY_SCOPE_NODE=0,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlSystemGetDriverVersion=lambda: b"580.1",
        nvmlSystemGetNVMLVersion=lambda: "13.580.1",
        nvmlSystemGetCudaDriverVersion_v2=lambda: 13000,
        nvmlDeviceGetHandleByIndex=handle,
        nvmlDeviceGetUUID=lambda h: f"GPU-{h}",
        nvmlDeviceGetName=lambda h: "GPU",
        nvmlDeviceGetPciInfo=lambda h: types.SimpleNamespace(busId=b"00000000:01:00.0"),
        nvmlDeviceGetCudaComputeCapability=lambda h: (12, 0),
        nvmlDeviceGetMemoryInfo=memory,
        nvmlDeviceGetMigMode=refuse,
        nvmlDeviceGetEccMode=lambda h: (1, 1),
        nvmlDeviceGetTemperature=lambda h, kind: 40,
        nvmlDeviceGetPowerManagementLimit=lambda h: 600000,
        nvmlDeviceGetFieldValues=lambda h, f: [
            types.SimpleNamespace(nvmlReturn=0, value=types.SimpleNamespace(uiVal=1))
        ],
        nvmlDeviceGetMemoryAffinity=lambda h, size, scope: [0b10],
        nvmlDeviceGetComputeRunningProcesses=lambda h: [
            types.SimpleNamespace(pid=7, usedGpuMemory=None)
        ],
        nvmlDeviceGetP2PStatus=lambda a, b, index: 1,
        nvmlDeviceGetTopologyCommonAncestor=lambda a, b: 40,
    )


def test_the_nvml_reader_asks_every_value_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(3, lost=1))
    raw = nvml_reader.read()
    assert (raw["driver"], raw["library"], raw["cuda"]) == ("580.1", "13.580.1", 13000)
    assert raw["topology"] == [40]
    first, second, _third = raw["devices"]
    assert second == {"index": 1, "handle": {"unknown": "GPU is lost"}}
    assert (first["memory_used_bytes"], first["memory_free_bytes"]) == (40, 60)
    assert first["mig"] == {"unknown": "Not Supported"}
    assert (first["recovery_action"], first["power_limit_w"], first["numa_node"]) == (1, 600.0, 1)
    assert first["processes"] == [{"pid": 7, "memory_bytes": None}]


def test_the_nvml_reader_says_why_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    library = fake_nvml(0)
    library.nvmlInit = lambda: library.nvmlDeviceGetMigMode(0)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert nvml_reader.read() == {"unknown": "Not Supported"}
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml_reader.read()["unknown"].startswith("nvidia-ml-py: ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "index\n",
        "index, name\n0\n",
        "garbage",
        "pid, x\n1, 2\n",
        "index, name, memory.total [MiB]\nx, y, z\n",
        "[1, 2]",
        "{}",
    ],
)
def test_garbage_is_no_gpu_and_no_traceback(tmp_path: Path, text: str) -> None:
    gpu = gpu_of(
        tmp_path,
        {
            "commands/nvidia-smi.csv": text,
            "commands/nvml.json": text,
            "commands/nvidia-smi-apps.csv": text,
        },
    )
    for device in gpu["devices"]:
        assert device["memory_total_bytes"] is None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs as NVML and nvidia-smi tell of them, whole and broken."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import nvml_reader
from ansible_collections.llmops.sglang.plugins.module_utils._probe.gpu import read_gpu
from ansible_collections.llmops.sglang.plugins.module_utils._probe.gpu_state import (
    NOISE_BYTES,
    judge,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.nvidia_smi import COLUMNS
from ansible_collections.llmops.sglang.plugins.module_utils._probe.pci import (
    KernelLog,
    pci_address,
    read_kernel_log,
)
from ansible_collections.llmops.sglang.plugins.module_utils._probe.source import Live, Output
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
    record,
)
from hypothesis import given
from hypothesis import strategies as st

MIB = 1 << 20
STATES = ("ok", "lost", "reset", "stuck", "failing", "repair", "unreadable")
# What the recorded host was not asked for.
NEWER_COLUMNS = (
    "persistence",
    "utilization_percent",
    "vbios",
    "retired_pending",
    "remapped_pending",
    "remapped_failure",
)


def gpu_of(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    return read_gpu(record(folder, files), "", 1)


def test_eight_gpus_from_nvidia_smi() -> None:
    gpu = facts_of("headline", detail=True)["gpu"]
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
        "persistence": None,
        "temperature_c": 44,
        "utilization_percent": None,
        "power_limit_w": 600.0,
        "vbios": None,
        "retired_pending": None,
        "remapped_pending": None,
        "remapped_failure": None,
        "recovery_action": "None",
        "numa_node": 0,
        "xids": None,
        "processes": [{"pid": 41213, "memory_bytes": 89123 * MIB, "unit": "sglang-kimi.service"}],
        "instance_bytes": 89123 * MIB,
        "unknown": dict.fromkeys(NEWER_COLUMNS, "not queried"),
        "state": "ok",
        "state_reason": None,
    }


def test_eight_gpus_from_nvml() -> None:
    gpu = facts_of("h200-nvlink", detail=True)["gpu"]
    assert (gpu["source"], gpu["reason"], gpu["topology"]) == ("nvml", None, "NVLINK")
    assert gpu["cuda_version"] == "13.0"
    assert gpu["driver"] == {"loaded": "580.95.05", "library": "580.95.05"}
    assert {device["recovery_action"] for device in gpu["devices"]} == {"None"}
    assert {device["processes"][0]["unit"] for device in gpu["devices"]} == {"sglang-kimi.service"}


def test_unified_memory_is_a_kind_not_a_zero() -> None:
    device = facts_of("gb10", detail=True)["gpu"]["devices"][0]
    assert device["memory_kind"] == "unified"
    assert device["memory_total_bytes"] is None
    assert device["unknown"]["memory_total_bytes"] == "N/A"
    assert device["temperature_c"] == 38
    assert device["processes"] == [{"pid": 2222, "memory_bytes": 31456 * MIB, "unit": None}]


def test_every_field_is_unknown_alone() -> None:
    first, second = facts_of("mig", detail=True)["gpu"]["devices"]
    assert first["mig"] is True
    assert first["memory_kind"] is None
    assert first["unknown"]["memory_free_bytes"] == "Insufficient Permissions"
    assert first["power_limit_w"] == 400.0
    assert second["memory_total_bytes"] == 81920 * MIB
    assert second["unknown"]["temperature_c"] == "Unknown Error"
    assert second["unknown"]["power_limit_w"] == "ERR!"


def test_a_driver_that_does_not_match_its_library() -> None:
    gpu = facts_of("driver-mismatch", detail=True)["gpu"]
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
    assert (first["state"], first["state_reason"]) == ("lost", "GPU is lost")
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


def test_the_nvml_reader_lists_a_process_once_with_what_it_computes_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = fake_nvml(1)
    library.nvmlDeviceGetGraphicsRunningProcesses = lambda handle: [
        types.SimpleNamespace(pid=7, usedGpuMemory=1),
        types.SimpleNamespace(pid=8, usedGpuMemory=2),
    ]
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert nvml_reader.read()["devices"][0]["processes"] == [
        {"pid": 7, "memory_bytes": None},
        {"pid": 8, "memory_bytes": 2},
    ]


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


# --- odd GPUs ------------------------------------------------------------------------------------


def judged(**told: Any) -> tuple[str, str | None]:
    """The word and the sentence for a GPU that is sound but for what is told."""
    sound = {"mig": False, "processes": [], "memory_used_bytes": 0, "utilization_percent": 0}
    return judge({**sound, **told}, None)


def test_a_sound_gpu_is_ok() -> None:
    assert judged() == ("ok", None)
    assert judged(unknown={"power_limit_w": "Not Supported", "mig": "N/A"}) == ("ok", None)
    assert judged(memory_used_bytes=NOISE_BYTES, utilization_percent=89) == ("ok", None)


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("GPU is lost", "lost"),
        ("GPU is lost. Reboot the system to recover this GPU", "lost"),
        ("Unknown Error", "lost"),
        ("Timeout", "lost"),
        ("GPU requires reset", "reset"),
        ("GPU requires restart", "reset"),
        ("Insufficient Permissions", "unreadable"),
    ],
)
def test_a_gpu_without_a_handle(reason: str, word: str) -> None:
    assert judge({}, reason) == (word, reason)


def test_a_gpu_that_works_without_a_process_is_stuck() -> None:
    assert judged(utilization_percent=97) == ("stuck", "busy at 97 % without a process")
    process = {"pid": 1, "memory_bytes": 5, "unit": None}
    assert judged(utilization_percent=97, processes=[process])[0] == "ok"


def test_memory_that_no_process_holds_is_stuck() -> None:
    process = {"pid": 1, "memory_bytes": 10 * NOISE_BYTES, "unit": None}
    assert judged(memory_used_bytes=15 * NOISE_BYTES, processes=[process]) == (
        "stuck",
        "5.0 GiB in use that no process holds",
    )
    unsized = {**process, "memory_bytes": None}
    assert judged(memory_used_bytes=15 * NOISE_BYTES, processes=[unsized])[0] == "ok"


@pytest.mark.parametrize(
    "told",
    [
        {"mig": True},
        {"memory_kind": "unified"},
        {"unknown": {"processes": "Insufficient Permissions"}},
    ],
)
def test_who_cannot_tell_its_processes_is_not_called_stuck(told: dict[str, Any]) -> None:
    assert judged(memory_used_bytes=9 * NOISE_BYTES, utilization_percent=99, **told)[0] == "ok"


def test_the_worst_word_wins() -> None:
    troubles = {
        "recovery_action": "Reset",
        "memory_used_bytes": 9 * NOISE_BYTES,
        "remapped_pending": True,
        "unknown": {"temperature_c": "ERR!"},
    }
    words = []
    for name in troubles:
        words.append(judged(**troubles)[0])
        troubles = {key: value for key, value in troubles.items() if key != name}
    assert words == ["reset", "stuck", "failing", "failing"]
    assert judged(remapped_pending=True)[0] == "repair"
    assert judged(unknown={"name": "GPU is lost"}, recovery_action="Reset")[0] == "lost"


def test_one_of_eight_lost_fails_nvidia_smi_and_the_others_are_asked_for_alone() -> None:
    gpu = facts_of("lost-gpu", detail=True)["gpu"]
    assert (gpu["source"], len(gpu["devices"])) == ("nvidia-smi", 8)
    lost = gpu["devices"][3]
    assert (lost["index"], lost["bus_id"], lost["xids"]) == (3, "0000:45:00.0", [79])
    assert (lost["state"], lost["memory_total_bytes"]) == ("lost", None)
    assert [device["state"] for device in gpu["devices"]].count("ok") == 7
    assert gpu["fallen_off"] == []


def test_odd_gpus_from_nvml() -> None:
    gpu = facts_of("odd-gpus", detail=True)["gpu"]
    states = [device["state"] for device in gpu["devices"]]
    assert states == ["ok", "stuck", "stuck", "reset", "repair", "failing", "ok"]
    assert gpu["devices"][2]["xids"] == [31]
    assert gpu["fallen_off"] == ["0000:db:00.0"]
    parts = gpu["devices"][6]["mig_instances"]
    assert [(part["profile"], part["gpu_instance"]) for part in parts] == [
        ("3g.40gb", 1),
        ("3g.40gb", 2),
    ]
    assert {part["memory_total_bytes"] for part in parts} == {40448 * MIB}


@pytest.mark.parametrize("name", ["NVIDIA N1X", "NVIDIA Thor", "Orin (nvgpu)"])
def test_a_size_that_an_integrated_gpu_tells_is_not_trusted(tmp_path: Path, name: str) -> None:
    csv = f"index, name, memory.total [MiB], memory.free [MiB]\n0, {name}, 8128, 7929\n"
    device = gpu_of(tmp_path, {"commands/nvidia-smi.csv": csv})["devices"][0]
    assert (device["memory_kind"], device["memory_total_bytes"]) == ("unified", None)
    assert device["memory_free_bytes"] is None
    assert device["unknown"]["memory_total_bytes"] == ("not trusted: told 8128 MiB, shares the RAM")


def test_numa_nodes_that_the_firmware_hides_are_the_drivers(tmp_path: Path) -> None:
    raw = {"devices": [{"index": 0, "bus_id": "00000000:41:00.0", "numa_node": 3}]}
    files = {
        "commands/nvml.json": json.dumps(raw),
        "sys/bus/pci/devices/0000_41_00.0/numa_node": "-1\n",
    }
    assert gpu_of(tmp_path, files)["devices"][0]["numa_node"] == 3
    files["sys/bus/pci/devices/0000_41_00.0/numa_node"] = "1\n"
    assert gpu_of(tmp_path, files)["devices"][0]["numa_node"] == 1


def test_nvidia_smi_tells_numa_nodes_in_its_table() -> None:
    device = facts_of("headline", detail=True)["gpu"]["devices"][7]
    assert device["numa_node"] == 1


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("", KernelLog([], {})),
        (
            "[1.0] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
            "      NVRM: (PCI ID: 10de:2bb5) installed in this system has\n"
            "      NVRM: fallen off the bus and is not responding to commands.\n",
            KernelLog(["0000:b3:00.0"], {}),
        ),
        (
            "[2.0] NVRM: Xid (PCI:0000:c1:00): 79, pid=1, GPU has fallen off the bus.\n"
            "[2.1] NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed\n"
            "[2.2] NVRM: Xid (PCI:0000:06:00): 31, pid=2, MMU fault\n",
            KernelLog(["0000:c1:00.0"], {"0000:c1:00.0": [79, 154], "0000:06:00.0": [31]}),
        ),
        ("dmesg: read kernel buffer failed: Operation not permitted\n", KernelLog(None, None)),
        ("sh: 1: dmesg: not found\n", KernelLog(None, None)),
    ],
)
def test_what_the_kernel_logged(tmp_path: Path, text: str, log: KernelLog) -> None:
    assert read_kernel_log(record(tmp_path, {"commands/dmesg.txt": text}), 1) == log


def test_a_kernel_log_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    assert read_kernel_log(record(tmp_path, {"taken_at": ""}), 1) == KernelLog(None, None)


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("00000000:0A:00.0", "0000:0a:00.0"),
        ("0000000F:01:00.0", "000f:01:00.0"),
        ("0000_45_00.0", "0000:45:00.0"),
        ("0000:b3:00", "0000:b3:00.0"),
        ("0000:BA:80.0", "0000:ba:80.0"),
        ("[N/A]", None),
        (None, None),
    ],
)
def test_addresses_are_written_in_one_way(told: str | None, address: str | None) -> None:
    assert pci_address(told) == address


def test_a_program_that_cannot_be_killed_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a process that waits for a driver in the kernel."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    stubborn: list[subprocess.Popen[str]] = []
    kill = subprocess.Popen.kill

    def survive(process: subprocess.Popen[str]) -> None:
        stubborn.append(process)

    monkeypatch.setattr(subprocess.Popen, "kill", survive)
    script = tmp_path / "smi.py"
    script.write_text("import time; time.sleep(60)\n")
    began = time.monotonic()
    gpu = read_gpu(Smi(script), "", 0.5)
    assert time.monotonic() - began < 10
    assert gpu["source"] == "none" and "did not answer within 0.5 s" in gpu["reason"]
    for process in stubborn:
        kill(process)
        process.wait()
    assert stubborn


CELLS = st.one_of(
    st.sampled_from(
        ["[N/A]", "ERR!", "[Unknown Error]", "[Insufficient Permissions]", "[GPU is lost]", "Yes"]
    ),
    st.text(st.characters(blacklist_characters="\r\n"), max_size=12),
    st.integers().map(str),
    st.floats().map(str),
)


@given(
    columns=st.lists(st.sampled_from([*COLUMNS.values(), "pid", "x"]), min_size=1, max_size=18),
    cells=st.lists(st.lists(CELLS, max_size=18), max_size=4),
    rows=st.text(max_size=200),
)
def test_no_csv_ends_in_a_traceback(columns: list[str], cells: list[list[str]], rows: str) -> None:
    csv = "\n".join([", ".join(columns), *(", ".join(row) for row in cells), rows])
    with tempfile.TemporaryDirectory() as folder:
        names = ("nvidia-smi", "nvidia-smi-apps", "nvidia-smi-rows")
        gpu = gpu_of(Path(folder), {f"commands/{name}.csv": csv for name in names})
    for device in gpu["devices"]:
        assert device["state"] in STATES
        for field in ("memory_total_bytes", "temperature_c"):
            assert device[field] is None or isinstance(device[field], int)
        assert device["mig"] in (True, False, None)


@given(text=st.text(max_size=400))
def test_no_table_of_links_ends_in_a_traceback(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "commands/nvidia-smi.csv": "index, name\n0, A\n1, A\n",
            "commands/nvidia-smi-topo.txt": f"\tGPU0\tGPU1\tNUMA Affinity\nGPU0\t X \t{text}",
            "commands/dmesg.txt": text,
        }
        gpu = gpu_of(Path(folder), files)
    assert gpu["topology"] in ("NVLINK", "PIX", "NODE", "SYS", None)

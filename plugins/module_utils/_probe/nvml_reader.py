# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all GPUs through NVML and prints them as JSON.

This module util is private to the llmops.sglang collection.

Its source text is also a program: it always runs in a process of its own, because a driver that
hangs would hang its caller, and under the engine's interpreter where the host's has no
nvidia-ml-py. So it imports nothing but the standard library and pynvml.

Every value is asked alone. An answer is the value, or C({"unknown": REASON}).
"""

from __future__ import annotations

import json
import sys
import typing as t


def ask(question: t.Callable[..., t.Any], *args: t.Any, **kwargs: t.Any) -> t.Any:
    """The answer to one question, as text, number, list or C({"unknown": reason})."""
    try:
        answer = question(*args, **kwargs)
    except Exception as error:  # the library raises a class per error code, all unrelated
        return {"unknown": str(error)}
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def known(answer: t.Any) -> bool:
    """Whether L(ask) got an answer."""
    return not (isinstance(answer, dict) and "unknown" in answer)


def read_memory(nvml: t.Any, handle: t.Any) -> dict[str, t.Any]:
    """Total, used and free bytes of a GPU, or of a part of one."""

    def memory() -> t.Any:
        # Version 2 tells used bytes without what the driver keeps for itself.
        second = ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2))
        return second if known(second) else nvml.nvmlDeviceGetMemoryInfo(handle)

    answer = ask(memory)
    return {
        f"memory_{field}_bytes": getattr(answer, field) if known(answer) else answer
        for field in ("total", "used", "free")
    }


def read_mig_instances(nvml: t.Any, handle: t.Any) -> list[dict[str, t.Any]]:
    """The parts of a GPU that is split by MIG; a place without one has no handle."""
    places = range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    handles = [ask(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place) for place in places]
    return [
        {
            "profile": ask(lambda part=part: nvml.nvmlDeviceGetName(part)),
            "uuid": ask(nvml.nvmlDeviceGetUUID, part),
            "gpu_instance": ask(lambda part=part: nvml.nvmlDeviceGetGpuInstanceId(part)),
            "compute_instance": ask(lambda part=part: nvml.nvmlDeviceGetComputeInstanceId(part)),
            **read_memory(nvml, part),
        }
        for part in handles
        if known(part)
    ]


def read_processes(nvml: t.Any, handle: t.Any) -> list[dict[str, t.Any]]:
    """Whatever computes or draws on a GPU, each process once."""
    drawing = ask(lambda: nvml.nvmlDeviceGetGraphicsRunningProcesses(handle))
    computing = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    sizes = {
        process.pid: process.usedGpuMemory
        for process in [*(drawing if known(drawing) else []), *computing]
    }
    return [{"pid": pid, "memory_bytes": size} for pid, size in sizes.items()]


def read_device(nvml: t.Any, index: int) -> dict[str, t.Any]:
    """One GPU. Bytes, degrees Celsius, watts, percent."""
    handle = ask(nvml.nvmlDeviceGetHandleByIndex, index)
    if not known(handle):
        return {"index": index, "handle": handle}

    def field(name: str) -> t.Any:
        def value() -> int:
            answer = nvml.nvmlDeviceGetFieldValues(handle, [getattr(nvml, name)])[0]
            if answer.nvmlReturn != nvml.NVML_SUCCESS:
                raise nvml.NVMLError(answer.nvmlReturn)
            return int(answer.value.uiVal)

        return ask(value)

    def numa_node() -> int | None:
        nodes = nvml.nvmlDeviceGetMemoryAffinity(handle, 1, nvml.NVML_AFFINITY_SCOPE_NODE)[0]
        return (int(nodes) & -int(nodes)).bit_length() - 1 if nodes else None

    # A function that this nvidia-ml-py lacks is an unknown value too, hence the lambdas.
    device = {
        "index": index,
        "uuid": ask(lambda: nvml.nvmlDeviceGetUUID(handle)),
        "bus_id": ask(lambda: nvml.nvmlDeviceGetPciInfo(handle).busId),
        "name": ask(lambda: nvml.nvmlDeviceGetName(handle)),
        "compute_capability": ask(
            lambda: "{}.{}".format(*nvml.nvmlDeviceGetCudaComputeCapability(handle))
        ),
        "mig": ask(lambda: bool(nvml.nvmlDeviceGetMigMode(handle)[0])),
        "ecc": ask(lambda: bool(nvml.nvmlDeviceGetEccMode(handle)[0])),
        "persistence": ask(lambda: bool(nvml.nvmlDeviceGetPersistenceMode(handle))),
        "temperature_c": ask(
            lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
        ),
        "utilization_percent": ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        "power_limit_w": ask(lambda: nvml.nvmlDeviceGetPowerManagementLimit(handle) / 1000),
        "vbios": ask(lambda: nvml.nvmlDeviceGetVbiosVersion(handle)),
        "retired_pending": field("NVML_FI_DEV_RETIRED_PENDING"),
        "remapped_pending": field("NVML_FI_DEV_REMAPPED_PENDING"),
        "remapped_failure": field("NVML_FI_DEV_REMAPPED_FAILURE"),
        "recovery_action": field("NVML_FI_DEV_GET_GPU_RECOVERY_ACTION"),
        "numa_node": ask(numa_node),
        "processes": ask(read_processes, nvml, handle),
        **read_memory(nvml, handle),
    }
    if device["mig"] is True:
        device["mig_instances"] = ask(read_mig_instances, nvml, handle)
    return device


def is_linked(nvml: t.Any, first: t.Any, second: t.Any) -> bool:
    """Whether two GPUs reach each other over NVLink. A driver that cannot tell of pairs tells at
    least whether each has an active link."""
    status = ask(
        lambda: nvml.nvmlDeviceGetP2PStatus(first, second, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
    )
    if known(status):
        return bool(status == nvml.NVML_P2P_STATUS_OK)
    return all(
        ask(lambda handle=handle: nvml.nvmlDeviceGetNvLinkState(handle, 0)) == 1
        for handle in (first, second)
    )


def read_topology(nvml: t.Any, count: int) -> list[t.Any]:
    """The way between every two GPUs: C(NVLINK), or NVML's number of the common ancestor."""
    handles = [ask(nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
    handles = [handle for handle in handles if known(handle)]
    return [
        "NVLINK"
        if is_linked(nvml, first, second)
        else ask(nvml.nvmlDeviceGetTopologyCommonAncestor, first, second)
        for position, first in enumerate(handles)
        for second in handles[position + 1 :]
    ]


def read() -> dict[str, t.Any]:
    """Everything. C({"unknown": reason}) when there is no library or no driver."""
    try:
        import pynvml as nvml  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except Exception as error:
        return {"unknown": f"nvidia-ml-py: {error}"}
    begun = ask(nvml.nvmlInit)
    if not known(begun):
        return t.cast("dict[str, t.Any]", begun)
    try:
        count = ask(nvml.nvmlDeviceGetCount)
        devices = range(count if isinstance(count, int) else 0)
        return {
            "driver": ask(nvml.nvmlSystemGetDriverVersion),
            "library": ask(nvml.nvmlSystemGetNVMLVersion),
            "cuda": ask(nvml.nvmlSystemGetCudaDriverVersion_v2),
            "count": count,
            "devices": [read_device(nvml, index) for index in devices],
            "topology": read_topology(nvml, len(devices)),
        }
    finally:
        ask(nvml.nvmlShutdown)


if __name__ == "__main__":
    json.dump(read(), sys.stdout)

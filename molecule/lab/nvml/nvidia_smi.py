# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A DOUBLE of nvidia-smi: csv queries, -L and `topo -m` from the lab's GPU state file.

Runs on Python 3.9 and later with the standard library only. Anything else it is asked for, the
table above all, it refuses by name.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Callable, NoReturn

STATE = os.environ.get("LAB_GPU_STATE", "/run/lab/gpus")
# how nvidia-smi writes an NVML error in place of a value
SHOWN = {
    "NOT_SUPPORTED": "[N/A]",
    "NO_PERMISSION": "[Insufficient Permissions]",
    "GPU_IS_LOST": "[GPU is lost]",
    "RESET_REQUIRED": "[GPU requires reset]",
    "UNKNOWN": "[Unknown Error]",
}
TEXTS = {"GPU_IS_LOST": "GPU is lost", "RESET_REQUIRED": "GPU requires reset"}
RECOVERY = ("None", "Reset", "Reboot", "Drain P2P", "Drain and Reset")
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)


class Failed(Exception):
    """Ends the run: the text for stdout and the exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class State:
    """The state file; a later line overrides an earlier one."""

    def __init__(self, path: str) -> None:
        self.lines: list[tuple[str, str]] = []
        self.chosen: list[str] = []
        try:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    key, sign, value = line.rstrip("\r\n").partition("=")
                    if sign and not line.startswith("#"):
                        self.lines.append((key, value))
        except FileNotFoundError:
            raise Failed(NO_DRIVER, 9) from None

    def last(self, *keys: str) -> str | None:
        """The value of the last line with one of these keys."""
        return next((value for key, value in reversed(self.lines) if key in keys), None)

    def value(self, gpu: int, name: str) -> str | None:
        """One field of one GPU; a failed GPU (gpu.N=error:...) fails every field."""
        failed = self.error(f"gpu.{gpu}", "gpu.*")
        return failed or self.last(f"gpu.{gpu}.{name}", f"gpu.*.{name}")

    def is_chosen(self, gpu: int) -> bool:
        """Whether `-i` names a GPU, by index, UUID or address; without it all are."""
        address = (self.last(f"gpu.{gpu}.bus_id", "gpu.*.bus_id") or "").lower()
        uuid = (self.last(f"gpu.{gpu}.uuid", "gpu.*.uuid") or "").lower()
        names = {str(gpu), uuid, address, address[4:]}
        return not self.chosen or any(name in names for name in self.chosen)

    def error(self, *keys: str) -> str | None:
        """The error that keys carry which never carry a value."""
        value = self.last(*keys)
        return value if value and value.startswith("error:") else None

    def link(self, one: int, other: int) -> str:
        """What `topo -m` shows for a pair."""
        links = self.value(one, "nvlinks")
        if links:
            return f"NV{links}"
        low, high = sorted((one, other))
        return self.last(f"link.{low}.{high}", "link.*") or "SYS"


def shown(value: str | None) -> str:
    """The value, or how nvidia-smi writes that there is none."""
    if value is None:
        return "[N/A]"
    if value.startswith("error:"):
        return SHOWN.get(value[len("error:") :], "ERR!")
    return value


def plain(name: str) -> Callable[[State, int], str]:
    return lambda state, gpu: shown(state.value(gpu, name))


def switch(name: str, on: str = "Enabled", off: str = "Disabled") -> Callable[[State, int], str]:
    names = {"0": off, "1": on}
    return lambda state, gpu: names.get(plain(name)(state, gpu), plain(name)(state, gpu))


def memory(name: str) -> Callable[[State, int], str]:
    def read(state: State, gpu: int) -> str:
        failed = state.error(f"gpu.{gpu}.memory", "gpu.*.memory")
        return shown(failed or state.value(gpu, f"memory_{name}_mib"))

    return read


def memory_free(state: State, gpu: int) -> str:
    values = [memory(name)(state, gpu) for name in ("total", "reserved", "used")]
    if not all(value.isdigit() for value in values):
        return values[0]
    total, reserved, used = map(int, values)
    return str(total - reserved - used)


def watts(state: State, gpu: int) -> str:
    value = plain("power_limit_w")(state, gpu)
    return f"{int(value):.2f}" if value.isdigit() else value


def recovery(state: State, gpu: int) -> str:
    value = plain("recovery_action")(state, gpu)
    return RECOVERY[int(value)] if value.isdigit() else value


# field -> (unit, reader)
FIELDS: dict[str, tuple[str, Callable[[State, int], str]]] = {
    "timestamp": ("", lambda state, gpu: time.strftime("%Y/%m/%d %H:%M:%S.000")),
    "driver_version": ("", lambda state, gpu: shown(state.last("driver"))),
    "count": ("", lambda state, gpu: shown(state.last("count"))),
    "index": ("", lambda state, gpu: str(gpu)),
    "name": ("", plain("name")),
    "uuid": ("", plain("uuid")),
    "pci.bus_id": ("", plain("bus_id")),
    "compute_cap": ("", plain("compute_capability")),
    "memory.total": ("MiB", memory("total")),
    "memory.reserved": ("MiB", memory("reserved")),
    "memory.used": ("MiB", memory("used")),
    "memory.free": ("MiB", memory_free),
    "temperature.gpu": ("", plain("temperature")),
    "power.limit": ("W", watts),
    "enforced.power.limit": ("W", watts),
    "persistence_mode": ("", switch("persistence")),
    "mig.mode.current": ("", switch("mig")),
    "ecc.mode.current": ("", switch("ecc")),
    "utilization.gpu": ("%", plain("utilization")),
    "vbios_version": ("", plain("vbios")),
    "retired_pages.pending": ("", switch("retired_pending", "Yes", "No")),
    "gpu_recovery_action": ("", recovery),
}
ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "used_memory": "used_gpu_memory",
    "name": "process_name",
}
GPU_ALIASES = ("gpu_name", "gpu_uuid", "gpu_bus_id")
ROWS = {
    "remapped_rows.pending": switch("remapped_pending", "1", "0"),
    "remapped_rows.failure": switch("remapped_failure", "1", "0"),
}
APPS = ("pid", "process_name", "used_gpu_memory", *GPU_ALIASES)


def csv(rows: list[list[str]], header: list[str], options: list[str]) -> str:
    """The lines of a csv answer, with nvidia-smi's comma and blank."""
    lines = [] if "noheader" in options else [", ".join(header)]
    return "".join(f"{line}\n" for line in lines + [", ".join(row) for row in rows])


def with_unit(value: str, unit: str, options: list[str]) -> str:
    number = value.replace(".", "", 1).isdigit()
    return f"{value} {unit}" if unit and number and "nounits" not in options else value


def heading(name: str, unit: str, options: list[str]) -> str:
    return f"{name} [{unit}]" if unit and "nounits" not in options else name


def gpus(state: State) -> list[int]:
    """The indices of the GPUs; fails as nvidia-smi does when one has no handle."""
    found = [gpu for gpu in range(int(state.last("count") or 0)) if state.is_chosen(gpu)]
    for gpu in found:
        error = state.error(f"gpu.{gpu}.handle", "gpu.*.handle")
        if error:
            name = error.partition(":")[2]
            bus = state.last(f"gpu.{gpu}.bus_id")
            text = TEXTS.get(name, "Unknown Error")
            raise Failed(
                f"Unable to determine the device handle for GPU{gpu}: {bus}: {text}\n", 255
            )
    return found


def query_gpu(state: State, names: list[str], options: list[str]) -> str:
    fields = []
    for name in names:
        known = ALIASES[name] if name in GPU_ALIASES else name
        if known not in FIELDS:
            raise Failed(f'Field "{name}" is not a valid field to query.\n\n', 2)
        fields.append((name, *FIELDS[known]))
    rows = [
        [with_unit(read(state, gpu), unit, options) for _name, unit, read in fields]
        for gpu in gpus(state)
    ]
    return csv(rows, [heading(name, unit, options) for name, unit, _read in fields], options)


def process_name(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return "[Not Found]"


def query_apps(state: State, names: list[str], options: list[str]) -> str:
    known = [name if name in GPU_ALIASES else ALIASES.get(name, name) for name in names]
    for name, field in zip(names, known):
        if field not in APPS:
            raise Failed(f'Field "{name}" is not a valid field to query.\n\n', 2)
    rows = []
    for gpu in gpus(state):
        processes = state.value(gpu, "processes")
        if not processes or processes.startswith("error:"):
            continue
        for process in processes.split(","):
            pid, _colon, mib = process.partition(":")
            values = {
                "pid": pid,
                "process_name": process_name(int(pid)),
                "used_gpu_memory": with_unit(mib, "MiB", options) if mib != "N/A" else "[N/A]",
                **{alias: FIELDS[ALIASES[alias]][1](state, gpu) for alias in GPU_ALIASES},
            }
            rows.append([values[field] for field in known])
    units = ["MiB" if field == "used_gpu_memory" else "" for field in known]
    return csv(rows, [heading(n, u, options) for n, u in zip(known, units)], options)


def query_rows(state: State, names: list[str], options: list[str]) -> str:
    readers = {**ROWS, **{alias: FIELDS[ALIASES[alias]][1] for alias in GPU_ALIASES}}
    for name in names:
        if name not in readers:
            raise Failed(f'Field "{name}" is not a valid field to query.\n\n', 2)
    return csv(
        [[readers[name](state, gpu) for name in names] for gpu in gpus(state)], names, options
    )


def listing(state: State) -> str:
    name, uuid = plain("name"), plain("uuid")
    lines = []
    for gpu in gpus(state):
        lines.append(f"GPU {gpu}: {name(state, gpu)} (UUID: {uuid(state, gpu)})\n")
        parts = range(7) if state.value(gpu, "mig") == "1" else ()
        for place, part in enumerate(p for p in parts if state.last(f"gpu.{gpu}.mig.{p}.uuid")):
            profile = (state.last(f"gpu.{gpu}.mig.{part}.name") or "").rsplit(" ", 1)[-1]
            uuid_of_part = state.last(f"gpu.{gpu}.mig.{part}.uuid")
            lines.append(f"  MIG {profile:<11} Device {place:>2}: (UUID: {uuid_of_part})\n")
    return "".join(lines)


def topology(state: State) -> str:
    found = gpus(state)
    lines = ["\t".join(["", *(f"GPU{g}" for g in found), "CPU Affinity", "NUMA Affinity"])]
    for one in found:
        links = [" X " if one == other else state.link(one, other) for other in found]
        lines.append("\t".join([f"GPU{one}", *links, "N/A", shown(state.value(one, "numa_node"))]))
    return "\n".join(lines) + "\n"


def persistence(state: State, mode: str) -> str:
    """Set the mode of every GPU, in the state file."""
    if mode not in ("0", "1"):
        raise Failed(f"nvidia-smi (double): -pm {mode}: say 0 or 1\n", 2)
    with open(STATE, "a", encoding="utf-8") as file:
        file.write(f"gpu.*.persistence={mode}\n")
    word = "Enabled" if mode == "1" else "Disabled"
    buses = [plain("bus_id")(state, gpu) for gpu in gpus(state)]
    return "".join(f"{word} persistence mode for GPU {bus}.\n" for bus in buses) + "All done.\n"


def check_driver(state: State) -> None:
    """Fail as nvidia-smi does without a driver, or with one of another version."""
    time.sleep(int(state.last("delay_s") or 0))
    driver, library = state.last("driver"), state.last("library")
    if state.error("init") or not driver:
        raise Failed(NO_DRIVER, 9)
    if library and library != driver:
        short = ".".join(library.split(".")[:2])
        raise Failed(
            "Failed to initialize NVML: Driver/library version mismatch\n"
            f"NVML library version: {short}\n",
            18,
        )


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failed(f"nvidia-smi (double): {message}\n{__doc__}", 2)


def answer(arguments: list[str]) -> str:
    """What to print for these arguments. Raises Failed."""
    parser = Parser(prog="nvidia-smi", add_help=False, allow_abbrev=False)
    parser.add_argument("--query-gpu")
    parser.add_argument("--query-compute-apps")
    parser.add_argument("--query-remapped-rows")
    parser.add_argument("-i", "--id", default="")
    parser.add_argument("--format", default="")
    parser.add_argument("-L", "--list-gpus", action="store_true")
    parser.add_argument("-pm", "--persistence-mode")
    parser.add_argument("topo", nargs="?", choices=["topo"])
    parser.add_argument("-m", "--matrix", action="store_true")
    asked = parser.parse_args(arguments)
    state = State(STATE)
    check_driver(state)
    state.chosen = [name.strip().lower() for name in asked.id.split(",") if name]
    if asked.list_gpus:
        return listing(state)
    if asked.topo and asked.matrix:
        return topology(state)
    if asked.persistence_mode is not None:
        return persistence(state, asked.persistence_mode)
    options = asked.format.split(",")
    queries = (
        (asked.query_gpu, query_gpu),
        (asked.query_compute_apps, query_apps),
        (asked.query_remapped_rows, query_rows),
    )
    for names, query in queries:
        if names:
            if "csv" not in options:
                parser.error("a query needs --format=csv")
            return query(state, [name.strip() for name in names.split(",")], options)
    parser.error("only queries, -L, -pm and `topo -m` are answered")


def main() -> int:
    try:
        sys.stdout.write(answer(sys.argv[1:]))
    except Failed as failed:
        sys.stdout.write(str(failed))
        return failed.status
    return 0


if __name__ == "__main__":
    sys.exit(main())

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two forms of the facts: whole, and the short one that every run carries along.

This module util is private to the llmops.sglang collection.

The short form has what the collection decides by and a person asks for first, and stays below 5 KB
on a host with eight GPUs. Only L(shorten) makes it; whoever looks at GPUs reads either form through
L(devices).
"""

from __future__ import annotations

import typing as t

Facts = dict[str, t.Any]

# What only a closer look needs, by the mapping that holds it; of a list, every entry.
DETAIL: dict[str, tuple[str, ...]] = {
    "gpu.devices": (
        "uuid",
        "bus_id",
        "memory_free_bytes",
        "ecc",
        "persistence",
        "temperature_c",
        "utilization_percent",
        "power_limit_w",
        "vbios",
        "retired_pending",
        "remapped_pending",
        "remapped_failure",
        "xids",
    ),
    "memory": ("free_bytes", "swap_total_bytes", "swap_free_bytes", "memlock_unit_reason"),
    "memory.numa": ("cpus",),
    "memory.instance": ("measured_by",),
    "model": ("model_type", "vocab_size", "storage"),
    "draft": ("model_type", "vocab_size", "multimodal", "storage"),
    "engine": (
        "python",
        "torch",
        "kernel",
        "kernel_package",
        "python_version",
        "glibc_needed_by",
    ),
    "server": ("sub_state", "active_since", "result", "exit_status"),
    "server.startup": ("graphs_s", "draft_host_tokens", "ranks"),
    "server.info": (
        "max_req_input_len",
        "pp_size",
        "mem_fraction_static",
        "max_running_requests",
        "attention_backend",
        "hicache_ratio",
        "hicache_size",
    ),
    "server.proven": ("device_tokens", "host_tokens"),
}
# Whoever looks for a GPU that is not sound needs these all the same.
KEPT_OF_ODD_GPUS = ("uuid", "bus_id", "xids")
# Here a value that says nothing is left out: a model has few of the numbers that some models have,
# and mostly all of its files; a release prints few of the lines that some releases print.
SPARSE = (
    "gpu.common",
    "memory",
    "memory.numa",
    "memory.cgroup",
    "memory.instance",
    "model",
    "draft",
    "engine",
    "server.startup",
)
# What most GPUs of a host have in common is said once, beside them.
COMMON = (
    "name",
    "compute_capability",
    "memory_kind",
    "memory_total_bytes",
    "mig",
    "recovery_action",
    "state",
    "state_reason",
    "processes",
    "unknown",
)
SOUND = ("ok", None)


def shorten(facts: Facts, unit: str) -> Facts:
    """The short form; C(unit) is the instance's. The facts themselves stay as they are."""
    short: Facts = _copied(facts)
    for device in _mappings(short, "gpu.devices"):
        _fold(device, unit)
    for path, names in DETAIL.items():
        for mapping in _mappings(short, path):
            for name in names:
                if mapping.get("state") in SOUND or name not in KEPT_OF_ODD_GPUS:
                    mapping.pop(name, None)
    for gpu in _mappings(short, "gpu"):
        _factor(gpu)
    for path in SPARSE:
        for mapping in _mappings(short, path):
            for name in [name for name, value in mapping.items() if _is_nothing(name, value)]:
                del mapping[name]
    return short


def devices(facts: t.Mapping[str, t.Any]) -> list[Facts]:
    """The GPUs of facts in either form, each with all that is said of it."""
    gpu = facts.get("gpu") or {}
    common = {"processes": [], **(gpu.get("common") or {})}
    return [{**common, **device} for device in gpu.get("devices") or []]


def _fold(device: Facts, unit: str) -> None:
    """The instance's own processes are one number, C(instance_bytes); others stay as they are.
    Of what is unknown, that stays which the short form would have."""
    device["processes"] = [
        process
        for process in device.get("processes") or []
        if process.get("unit") != unit or process.get("memory_bytes") is None
    ]
    unknown = device.pop("unknown", None) or {}
    missed = {n: reason for n, reason in unknown.items() if n not in DETAIL["gpu.devices"]}
    if missed:
        device["unknown"] = missed


def _factor(gpu: Facts) -> None:
    """Say once what most GPUs have in common; one that differs keeps its own, null included."""
    listed = gpu.get("devices") or []
    if len(listed) < 2:
        return
    gpu["common"] = {}
    for name in COMMON:
        values = [device.get(name) for device in listed]
        usual = max(values, key=values.count)
        if 2 * values.count(usual) > len(listed):
            gpu["common"][name] = usual
            for device in listed:
                if name in device and device[name] == usual:
                    del device[name]


def _is_nothing(name: str, value: t.Any) -> bool:
    """Whether a value is null, an empty list, or a count of none."""
    return value is None or value == [] or (value == 0 and name.endswith("_count"))


def _mappings(facts: Facts, path: str) -> list[Facts]:
    """The mapping at a path, or all mappings of the list there."""
    found: t.Any = facts
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    candidates = found if isinstance(found, list) else [found]
    return [candidate for candidate in candidates if isinstance(candidate, dict)]


def _copied(value: t.Any) -> t.Any:
    """A copy as deep as the value; cheaper than what copies any object."""
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_copied(entry) for entry in value]
    return value


def is_int(value: t.Any) -> bool:
    """Whether it is a whole number; true and false are none, though Python counts them as such."""
    return isinstance(value, int) and not isinstance(value, bool)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens that the KV pool on the GPUs holds: measured, declared or predicted.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._engine.pool_rules import (
    GPU_CONTEXT_BYTES,
    MIB,
    PREDICTION_ERROR_BYTES,
    VLM_CACHE_BYTES,
    default_mem_fraction,
    pool_rules,
    read_tokens,
)
from .._engine.version import Version
from .setting import Setting, argv_value, part, with_kv_dtype

_FRACTION = "sglang_mem_fraction_static"
_CAP = "sglang_max_total_tokens"
_KV_DTYPE = "sglang_kv_cache_dtype"
_TP = "sglang_tp_size"
_VERSION = "sglang_engine_version"
# What may differ while a measured pool still tells what the new one will be.
_SCALES = frozenset({_FRACTION, _KV_DTYPE})
# What may differ while measured weights per rank still hold.
_COMMAND_LINE = "the command line"
_SAME_WEIGHTS = frozenset({_FRACTION, _KV_DTYPE, _CAP, _VERSION})
# Flags of the running command line that decide the size of the pool: their spellings, the
# variable that asks for them, and what the engine takes without them.
_SIZE_FLAGS: tuple[tuple[tuple[str, ...], str, str | None], ...] = (
    (("--tp-size", "--tensor-parallel-size", "--tp"), _TP, "1"),
    (("--pp-size", "--pipeline-parallel-size", "--pp"), "sglang_pp_size", "1"),
    (("--dp-size", "--data-parallel-size", "--dp"), "sglang_dp_size", "1"),
    (("--kv-cache-dtype",), "sglang_kv_cache_dtype", "auto"),
    (("--mem-fraction-static",), "sglang_mem_fraction_static", None),
    (("--max-total-tokens",), "sglang_max_total_tokens", None),
    (
        ("--speculative-draft-model-path", "--speculative-draft-model"),
        "sglang_model_draft_path",
        None,
    ),
    (("--model-path", "--model"), "sglang_model_path", None),
    (("--speculative-algorithm",), "sglang_speculative_algorithm", None),
    (("--dtype",), "sglang_dtype", "auto"),
    (("--quantization",), "sglang_quantization", None),
    (("--chunked-prefill-size",), "sglang_chunked_prefill_size", None),
)
# A prediction from a measured pool is off by what rounding and fragmentation do, bytes per GPU.
_ANCHOR_ERROR_BYTES = 256 * MIB
# The engine's own fraction is known less well than a given one: share of the GPU's memory.
_DEFAULT_FRACTION_ERROR = 0.02


@dataclass(frozen=True)
class Device:
    """The device tier of one rank. `tokens` is None when nothing tells; `reason` says why."""

    tokens: int | None
    origin: str | None
    reason: str | None
    error_percent: float | None = None
    fits: bool = True


@dataclass(frozen=True)
class Gpu:
    """Memory of the smallest GPU in use, and the static fraction that applies."""

    total_bytes: int
    fraction: float
    fraction_given: bool

    @property
    def before_load_bytes(self) -> int:
        """GPU memory free before weights are loaded; an estimate."""
        return self.total_bytes - GPU_CONTEXT_BYTES


def device_tier(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> Device:
    """Tokens of the device pool under these variables, the best-known number first."""
    cap = read_tokens(wishes.get(_CAP), setting.rules)
    measured = measured_tokens(facts)
    if measured is not None:
        changed = changes(facts, wishes, setting)
        if not changed:
            known = part(facts, "server").get("argv")
            reason = None if known else "the arguments of the measured run are not known"
            return Device(measured, "measured", reason)
        if changed == {_CAP} and cap is not None and running_flag(facts, _CAP) is None:
            return _capped(Device(measured, "measured", None), cap, setting)
        anchored = _from_measured(measured, changed, facts, wishes, setting)
        if anchored is not None:
            return _capped(anchored, cap, setting)
    return _capped(_predicted(facts, wishes, setting), cap, setting)


def measured_tokens(facts: Mapping[str, Any]) -> int | None:
    """Tokens that the running or last started server reported, None when it did not."""
    startup = part(facts, "server", "startup")
    info = part(facts, "server", "info")
    found = startup.get("max_total_num_tokens") or info.get("max_total_num_tokens")
    return None if found is None else int(found)


def running_flag(facts: Mapping[str, Any], variable: str) -> str | None:
    """What the running command line gives for the flag of a variable, None when it does not."""
    names = next(names for names, name, _default in _SIZE_FLAGS if name == variable)
    return argv_value(part(facts, "server").get("argv") or [], names)


def changes(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> set[str]:
    """Variables that would change the size of the pool against the server that was measured.

    What is unknown of that server does not speak against the measurement.
    """
    changed = set()
    measured_by = part(facts, "server", "info").get("version")
    if measured_by and not _counts_alike(str(measured_by), setting):
        changed.add(_VERSION)
    argv = part(facts, "server").get("argv")
    if not argv and part(facts, "server").get("active_state") not in (None, "active"):
        # The log of a start that ended tells a size, and nothing of the flags it was taken with.
        return changed | {_COMMAND_LINE}
    if not argv:
        size = part(facts, "server", "info").get("tp_size")
        return changed | ({_TP} if size not in (None, setting.parallel.tp) else set())
    for names, variable, default in _SIZE_FLAGS:
        running = argv_value(argv, names) or default
        wished = wishes.get(variable)
        wanted = str(wished) if wished not in (None, "") else default
        if not _same(running, wanted):
            changed.add(variable)
    return changed


def _counts_alike(version: str, setting: Setting) -> bool:
    """Whether another version gives the GPU's memory to the pool in the same way."""
    other, rules = pool_rules(Version.parse(version)), setting.rules
    return (other.draft_in_budget, other.multimodal_reservation) == (
        rules.draft_in_budget,
        rules.multimodal_reservation,
    )


def smallest_gpu(
    facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting
) -> Gpu | None:
    """The GPU that decides, None without one whose memory is known."""
    totals = [
        int(device["memory_total_bytes"])
        for device in part(facts, "gpu").get("devices") or []
        if device.get("memory_total_bytes")
    ][: setting.parallel.ranks]
    if not totals:
        return None
    given = wishes.get(_FRACTION)
    total = min(totals)
    fraction = _default_fraction(total, wishes, setting) if given is None else float(given)
    return Gpu(total, fraction, given is not None)


def _default_fraction(total: int, wishes: Mapping[str, Any], setting: Setting) -> float:
    graphs = wishes.get("sglang_cuda_graph_max_bs")
    return default_mem_fraction(
        total,
        setting.parallel.world,
        setting.parallel.tp,
        chunked_prefill_tokens=wishes.get("sglang_chunked_prefill_size"),
        graph_batch=0 if wishes.get("sglang_disable_cuda_graph") else graphs,
        multimodal=bool(setting.model.get("multimodal")),
    )


def floor_page(tokens: int, page: int) -> int:
    """Whole pages only."""
    return tokens // page * page


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one == other
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def _capped(device: Device, cap: int | None, setting: Setting) -> Device:
    """Apply sglang_max_total_tokens, which the engine can only lower, not raise."""
    if cap is None:
        return device
    tokens = floor_page(cap, setting.page)
    if device.tokens is None:
        if not device.fits:
            return device
        return Device(tokens, "declared", "sglang_max_total_tokens; nothing else is known")
    if tokens >= device.tokens:
        return device
    return Device(tokens, "declared", "sglang_max_total_tokens is below what would fit")


def _from_measured(
    measured: int,
    changed: set[str],
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    setting: Setting,
) -> Device | None:
    """Predict from a measured pool when only the memory fraction or the KV format differs."""
    gpu = smallest_gpu(facts, wishes, setting)
    running_dtype = running_flag(facts, _KV_DTYPE) or "auto"
    cell_before = with_kv_dtype(setting, facts, wishes, running_dtype).device_cell
    cell = setting.device_cell
    if gpu is None or cell is None or cell_before is None or not changed <= _SCALES:
        return None
    running = running_flag(facts, _FRACTION)
    before = float(running) if running else _default_fraction(gpu.total_bytes, wishes, setting)
    moved = int((gpu.fraction - before) * gpu.before_load_bytes)
    tokens = floor_page((measured * cell_before + moved) // cell, setting.page)
    if tokens <= 0:
        return _nothing_left(gpu)
    given = (running is not None) == gpu.fraction_given
    error = _ANCHOR_ERROR_BYTES if given else int(_DEFAULT_FRACTION_ERROR * gpu.total_bytes)
    reason = f"from {measured:,} measured with another {' and '.join(sorted(changed))}"
    return Device(tokens, "predicted", reason, _percent(error, tokens * cell))


def _predicted(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> Device:
    """Predict from the GPU's memory, the weights and the version's way to count."""
    gpu = smallest_gpu(facts, wishes, setting)
    if gpu is None:
        return Device(None, None, "no GPU whose memory is known, and no run to measure")
    cell = setting.device_cell
    if cell is None:
        return Device(None, None, "the KV geometry of this model is not computed")
    weights = _weights_bytes(facts, wishes, setting)
    if weights is None:
        return Device(None, None, "the size of the weights is unknown")
    rest = int(gpu.before_load_bytes * gpu.fraction) - weights
    if setting.rules.multimodal_reservation and setting.model.get("multimodal"):
        rest -= VLM_CACHE_BYTES
    tokens = floor_page(max(rest, 0) // cell, setting.page)
    if tokens <= 0:
        return _nothing_left(gpu)
    error = PREDICTION_ERROR_BYTES
    if not gpu.fraction_given:
        error += int(_DEFAULT_FRACTION_ERROR * gpu.total_bytes)
    reason = "from GPU memory, weights and memory fraction; no run of this configuration"
    return Device(tokens, "predicted", reason, _percent(error, rest))


def _nothing_left(gpu: Gpu) -> Device:
    reason = (
        f"at a memory fraction of {gpu.fraction:.3f} the weights leave nothing for the KV cache"
    )
    return Device(None, "predicted", reason, fits=False)


def _weights_bytes(
    facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting
) -> int | None:
    """Weights on one GPU: a draft counts since 0.5.14, which loads it before the pool."""
    measured = part(facts, "server", "startup").get("weights_bytes_per_rank")
    if not changes(facts, wishes, setting) <= _SAME_WEIGHTS:
        measured = None
    total = setting.model.get("weights_bytes")
    if measured is None and not total:
        return None
    weights = int(measured) if measured is not None else int(total or 0) // setting.parallel.world
    if setting.rules.draft_in_budget and setting.wants_draft:
        draft = part(facts, "draft").get("weights_bytes") or 0
        weights += int(draft) // setting.parallel.tp
    return weights


def _percent(error_bytes: int, of_bytes: int) -> float:
    return round(100 * error_bytes / of_bytes, 1)

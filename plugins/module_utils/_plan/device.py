# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens that the KV pool on the GPUs holds: measured, declared or predicted.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._engine.pool_rules import (
    GPU_CONTEXT_BYTES,
    MIB,
    PREDICTION_ERROR_BYTES,
    VLM_CACHE_BYTES,
    default_mem_fraction,
    read_tokens,
)
from .finding import gib
from .gpus import own_gpus
from .measured import CAP, FRACTION, KV_DTYPE, VERSION, changes, measured_tokens, running_flag
from .setting import Setting, part, with_kv_dtype
from .state import StatePool, state_pool
from .weights import rank_weights

# What may differ while a measured pool still tells what the new one will be.
_SCALES = frozenset({FRACTION, KV_DTYPE})
# What may differ while measured weights per rank still hold.
_SAME_WEIGHTS = frozenset({FRACTION, KV_DTYPE, CAP, VERSION})
# A prediction from a measured pool is off by what rounding and fragmentation do, bytes per GPU.
_ANCHOR_ERROR_BYTES = 256 * MIB
# The engine's own fraction is known less well than a given one: share of the GPU's memory.
_DEFAULT_FRACTION_ERROR = 0.02


@dataclass(frozen=True)
class Device:
    """The device tier of one rank. `tokens` is None when nothing tells; `reason` says why.

    `swa_tokens` are those of the pool of sliding-window layers, `state_slots` the recurrent
    states; None where the model has none, or where they are unknown.
    """

    tokens: int | None
    origin: str | None
    reason: str | None
    error_percent: float | None = None
    fits: bool = True
    swa_tokens: int | None = None
    state_slots: int | None = None


@dataclass(frozen=True)
class _Room:
    """What a GPU has for its pools, and the terms that led there."""

    rest_bytes: int
    terms: tuple[str, ...]


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
    cap = read_tokens(wishes.get(CAP), setting.rules)
    measured = measured_tokens(facts)
    if measured is not None:
        changed = changes(facts, wishes, setting)
        if not changed:
            known = part(facts, "server").get("argv")
            reason = None if known else "the arguments of the measured run are not known"
            return _measured(measured, reason, facts, setting)
        if changed == {CAP} and cap is not None and running_flag(facts, CAP) is None:
            return _capped(_measured(measured, None, facts, setting), cap, setting)
        anchored = _from_measured(measured, changed, facts, wishes, setting)
        if anchored is not None:
            return _capped(anchored, cap, setting)
    return _capped(_predicted(facts, wishes, setting), cap, setting)


def pool_bytes(device: Device, setting: Setting) -> int | None:
    """Bytes of the target's pools on one rank, None when they are not known."""
    target = setting.target
    if target is None or device.tokens is None or (target.state and device.state_slots is None):
        return None
    whole = device.tokens * target.device
    window = (device.swa_tokens or 0) * target.window
    return whole + window + (device.state_slots or 0) * target.state


def smallest_gpu(
    facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting
) -> Gpu | None:
    """The GPU that decides, None without one whose memory is known."""
    totals = [
        int(device["memory_total_bytes"])
        for device in own_gpus(facts, wishes, setting)
        if device.get("memory_total_bytes")
    ]
    if not totals:
        return None
    given = wishes.get(FRACTION)
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


def _measured(
    tokens: int, reason: str | None, facts: Mapping[str, Any], setting: Setting
) -> Device:
    """The pools as the server reported them."""
    startup = part(facts, "server", "startup")
    window = startup.get("swa_tokens") or _window_tokens(tokens, setting)
    states = startup.get("state_slots")
    return Device(tokens, "measured", reason, swa_tokens=window, state_slots=states)


def _window_tokens(tokens: int, setting: Setting) -> int | None:
    """Tokens of the pool of sliding-window layers; None without one."""
    if setting.target is None or not setting.target.window:
        return None
    return floor_page(int(tokens * setting.window_ratio), setting.page)


def _capped(device: Device, cap: int | None, setting: Setting) -> Device:
    """Apply sglang_max_total_tokens, which the engine can only lower, not raise."""
    if cap is None:
        return device
    tokens = floor_page(cap, setting.page)
    window = _window_tokens(tokens, setting)
    if device.tokens is None:
        if not device.fits:
            return device
        reason = "sglang_max_total_tokens; nothing else is known"
        return Device(tokens, "declared", reason, swa_tokens=window)
    if tokens >= device.tokens:
        return device
    reason = "sglang_max_total_tokens is below what would fit"
    return replace(
        device,
        tokens=tokens,
        origin="declared",
        reason=reason,
        error_percent=None,
        swa_tokens=window,
    )


def _from_measured(
    measured: int,
    changed: set[str],
    facts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    setting: Setting,
) -> Device | None:
    """Predict from a measured pool when only the memory fraction or the KV format differs."""
    gpu = smallest_gpu(facts, wishes, setting)
    running_dtype = running_flag(facts, KV_DTYPE) or "auto"
    before = with_kv_dtype(setting, facts, wishes, running_dtype)
    if gpu is None or not changed <= _SCALES or before.device_cell is None:
        return None
    held = measured * before.device_cell
    if before.target is not None and before.target.state:
        slots = part(facts, "server", "startup").get("state_slots")
        if slots is None:
            return None
        held += int(slots) * before.target.state
    running = running_flag(facts, FRACTION)
    fraction = float(running) if running else _default_fraction(gpu.total_bytes, wishes, setting)
    moved = int((gpu.fraction - fraction) * gpu.before_load_bytes)
    given = (running is not None) == gpu.fraction_given
    error = _ANCHOR_ERROR_BYTES if given else int(_DEFAULT_FRACTION_ERROR * gpu.total_bytes)
    reason = f"from {measured:,} measured with another {' and '.join(sorted(changed))}"
    terms = (f"{gib(held)} measured", f"{gib(abs(moved))} {'more' if moved > 0 else 'less'} now")
    return _fill(_Room(held + moved, terms), error, reason, gpu, setting)


def _predicted(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> Device:
    """Predict from the GPU's memory, the weights and the version's way to count."""
    gpu = smallest_gpu(facts, wishes, setting)
    if gpu is None:
        return Device(None, None, "no GPU whose memory is known, and no run to measure")
    if setting.device_cell is None:
        return Device(None, None, "the KV geometry of this model is not computed")
    weights = _weights_bytes(facts, wishes, setting)
    if weights is None:
        return Device(None, None, "the size of the weights is unknown")
    error = PREDICTION_ERROR_BYTES
    if not gpu.fraction_given:
        error += int(_DEFAULT_FRACTION_ERROR * gpu.total_bytes)
    reason = "from GPU memory, weights and memory fraction; no run of this configuration"
    return _fill(_room(gpu, weights, setting), error, reason, gpu, setting)


def _room(gpu: Gpu, weights: int, setting: Setting) -> _Room:
    """What the memory fraction leaves for all pools of a rank."""
    budget = int(gpu.before_load_bytes * gpu.fraction)
    terms = [
        f"{gib(gpu.before_load_bytes)} of GPU memory x {gpu.fraction:.3f} = {gib(budget)}",
        f"weights of {gib(weights)} per rank",
    ]
    rest = budget - weights
    if setting.rules.multimodal_reservation and setting.model.get("multimodal"):
        rest -= VLM_CACHE_BYTES
        terms.append(f"{gib(VLM_CACHE_BYTES)} for images")
    return _Room(rest, tuple(terms))


def _fill(room: _Room, error: int, reason: str, gpu: Gpu, setting: Setting) -> Device:
    """Share the room among the pools: recurrent states first, as the engine does."""
    target, cell = setting.target, setting.device_cell
    if target is None or not cell:
        return Device(None, None, "the KV geometry of this model is not computed")
    states: StatePool | None = None
    rest = room.rest_bytes
    if target.state and rest > 0:
        states = state_pool(rest, target.state, setting.state_wish, setting.rules)
        rest -= states.size_bytes
    tokens = floor_page(max(rest, 0) // cell, setting.page)
    if tokens <= 0 or (states is not None and states.slots <= 0):
        return _nothing_left(room, states, gpu)
    return Device(
        tokens,
        "predicted",
        reason,
        _percent(error, room.rest_bytes),
        swa_tokens=_window_tokens(tokens, setting),
        state_slots=None if states is None else states.slots,
    )


def _nothing_left(room: _Room, states: StatePool | None, gpu: Gpu) -> Device:
    terms = list(room.terms)
    if states is not None:
        terms.append(f"{gib(states.size_bytes)} of recurrent states")
    reason = (
        f"at a memory fraction of {gpu.fraction:.3f} nothing is left for the KV cache: "
        + ", ".join(terms)
    )
    return Device(None, "predicted", reason, fits=False)


def _weights_bytes(
    facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting
) -> int | None:
    """Weights on one GPU: a draft counts since 0.5.14, which loads it before the pool."""
    measured = part(facts, "server", "startup").get("weights_bytes_per_rank")
    if measured is None or not changes(facts, wishes, setting) <= _SAME_WEIGHTS:
        measured = rank_weights(setting.model, setting.parallel)
    if measured is None:
        return None
    draft = 0
    if setting.rules.draft_in_budget and setting.wants_draft:
        draft = int(part(facts, "draft").get("weights_bytes") or 0) // setting.parallel.tp
    return int(measured) + draft


def _percent(error_bytes: int, of_bytes: int) -> float:
    return round(100 * error_bytes / of_bytes, 1)

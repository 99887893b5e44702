# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches a proven server under requests for a while, before others depend on it.

Private to the collection. A soak is made in parts, since a module cannot show anything while it
runs: `Progress` is handed from one part to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._gate.unit import UnitError, UnitState
from .client import Client
from .generate import Reply, ask

_TOKENS = 16
_ASK_TIMEOUT_S = 120.0
#: Between requests once enough were asked, and between two looks at the unit.
_PAUSE_S = 1.0
_LOOK_S = 2.0
#: The slope of less than this is noise.
_MIN_SAMPLES, _MIN_SPAN_S = 8, 60.0
#: Caches and pools are filled by the first requests: that growth is no leak.
_WARM_UP = 1 / 3
_MIB = 2**20
_PROMPTS = (
    "The harbour lies two miles below the old mill, and",
    "A list of seven things that float on water:",
    "When the last train had left the platform,",
    "To repair a bicycle chain one needs",
    "The difference between a lake and a pond is",
)


class SoakFailed(Exception):
    """The server is not fit to be left alone; the text says what was seen."""


@dataclass(frozen=True)
class Wish:
    """What the server has to stand."""

    requests: int
    seconds: float
    slope_bytes_per_minute: float
    boot_id: str | None
    invocation_id: str | None


@dataclass(frozen=True)
class Host:
    """How the host is asked, so that a test can stand in for it."""

    unit: Callable[[], UnitState]
    boot_id: Callable[[], str | None]
    memory_bytes: Callable[[UnitState], int | None]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Progress:
    """How far it has come: requests answered, seconds, and memory samples of (seconds, bytes)."""

    asked: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    samples: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def of(cls, values: dict[str, Any] | None) -> Progress:
        """As the part before left it."""
        found = cls(**(values or {}))
        found.samples = [(float(at), int(size)) for at, size in found.samples]
        return found

    def slope(self) -> float | None:
        """Growth in bytes per minute after the warm-up; None while there is too little to tell."""
        if not self.samples:
            return None
        first, last = self.samples[0][0], self.samples[-1][0]
        warm = [(at, size) for at, size in self.samples if at >= first + (last - first) * _WARM_UP]
        if len(warm) < _MIN_SAMPLES or last - first < _MIN_SPAN_S:
            return None
        mean_at = sum(at for at, _size in warm) / len(warm)
        mean_size = sum(size for _at, size in warm) / len(warm)
        spread = sum((at - mean_at) ** 2 for at, _size in warm)
        return 60 * sum((at - mean_at) * (size - mean_size) for at, size in warm) / spread


class Soak:
    """One part of a soak."""

    def __init__(self, client: Client, host: Host, wish: Wish, progress: Progress) -> None:
        self._client = client
        self._host = host
        self._wish = wish
        self.progress = progress

    def run(self, part_s: float) -> bool:
        """Go on for so long; returns whether it is over. Raises SoakFailed as soon as it is."""
        progress, began = self.progress, self._host.clock()
        before_s, looked = progress.seconds, None
        while True:
            now = self._host.clock()
            progress.seconds = before_s + now - began
            if looked is None or now - looked >= _LOOK_S:
                self._look()
                looked = now
            if self._enough():
                self._look()
                self._check_slope()
                return True
            if now - began >= part_s:
                return False
            self._ask()
            if progress.asked >= self._wish.requests and progress.seconds < self._wish.seconds:
                self._host.sleep(_PAUSE_S)

    def _enough(self) -> bool:
        progress = self.progress
        return progress.asked >= self._wish.requests and progress.seconds >= self._wish.seconds

    def _look(self) -> None:
        """The boot and the process must be those that were proven."""
        boot = self._host.boot_id()
        if self._wish.boot_id and boot and boot != self._wish.boot_id:
            raise SoakFailed(
                f"the host was rebooted while this play worked on it {self._after()}. A host that "
                "resets under load (power, heat, firmware) does so again: look at its console and "
                "its journal of the boot before (journalctl --boot=-1)"
            )
        try:
            state = self._host.unit()
        except UnitError:
            return
        if not state.running:
            raise SoakFailed(f"the server ended {self._after()}: its main process {state.ending()}")
        if self._wish.invocation_id and state.invocation_id != self._wish.invocation_id:
            raise SoakFailed(f"the server was started anew {self._after()}, by itself or by others")
        size = self._host.memory_bytes(state)
        if size is not None:
            self.progress.samples.append((self.progress.seconds, size))

    def _ask(self) -> None:
        # Half of the prompts are asked again, so that cached prefixes take part.
        number = self.progress.asked
        prompt = f"{number // 2} {_PROMPTS[number % len(_PROMPTS)]}"
        began = self._host.clock()
        reply: Reply = ask(self._client, prompt, _TOKENS, _ASK_TIMEOUT_S)
        if reply.text is None:
            # What became of the server says more than that a request failed.
            self._look()
            raise SoakFailed(f"a request failed {self._after()}: {reply.reason}")
        self.progress.slowest_s = max(self.progress.slowest_s, self._host.clock() - began)
        self.progress.asked += 1

    def _check_slope(self) -> None:
        slope, bound = self.progress.slope(), self._wish.slope_bytes_per_minute
        if slope is not None and bound and slope > bound:
            raise SoakFailed(
                f"the server's memory grew by {slope / _MIB:.0f} MiB per minute, and "
                f"{bound / _MIB:.0f} are allowed (sglang_soak_slope_mib_per_minute), "
                f"{self._after()}"
            )

    def _after(self) -> str:
        return f"after {self.progress.asked} requests in {self.progress.seconds:.0f} s of soaking"

    def text(self) -> str:
        """One sentence for a person."""
        progress, slope = self.progress, self.progress.slope()
        if not self._wish.requests and not self._wish.seconds:
            return "same boot, same process"
        memory = "too short to judge" if slope is None else f"{slope / _MIB:+.1f} MiB/min"
        return (
            f"soaked: {progress.asked} requests in {progress.seconds:.0f} s, no error, slowest "
            f"{progress.slowest_s:.1f} s; memory {memory}"
        )

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs the double believes in: those of the lab's GPU state file, else the usual eight."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20


@dataclass(frozen=True)
class Gpus:
    """What the engine would learn from the driver. `capability` is e.g. "12.0"."""

    count: int = 8
    memory_bytes: int = 97_887 * MIB
    capability: str = "12.0"

    @property
    def fuses_allreduce(self) -> bool:
        """Whether FlashInfer's fused all-reduce exists for this GPU: SM90 and SM10X."""
        return self.capability.startswith(("9.0", "10."))


def read_gpus() -> Gpus:
    """Read the state file that the lab's driver double answers from.

    Raises RuntimeError, as the engine does, when that driver would not answer.
    """
    path = Path(os.environ.get("LAB_GPU_STATE") or "/run/lab/gpus")
    state = _read_state(path) if path.exists() else {}
    mismatch = "library" in state and state.get("driver", state["library"]) != state["library"]
    if state.get("init", "").startswith("error:") or mismatch:
        raise RuntimeError("No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) is available.")
    default = Gpus()
    count = int(state.get("count", default.count))
    sizes = [state.get(f"gpu.{index}.memory_total_mib", "") for index in range(count)]
    sizes.append(state.get("gpu.*.memory_total_mib", ""))
    known = [int(size) * MIB for size in sizes if size.isdecimal()]
    forced = os.environ.get("LAB_DOUBLE_GPU_BYTES")
    return Gpus(
        count=count,
        memory_bytes=int(forced) if forced else min(known, default=default.memory_bytes),
        capability=state.get("gpu.*.compute_capability", default.capability),
    )


def _read_state(path: Path) -> dict[str, str]:
    entries = (line.partition("=") for line in path.read_text().splitlines())
    return {key: value for key, sign, value in entries if sign and not key.startswith("#")}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: an out-of-tree SGLang platform for any CPU, on plain torch.

Real: everything SGLang does above its kernels (arguments, server, scheduler, radix cache,
weights, sampling, metrics). Stood in: attention and every fused operator, by SGLang's own
torch versions. Selected with SGLANG_PLATFORM=plain_cpu.
"""

from __future__ import annotations

import contextlib


def declare_torchvision_ops() -> None:
    """Declare the two operator schemas without which `import torchvision` fails here.

    PyPI's torchvision is linked against CUDA, so its extension, which declares them, cannot be
    loaded beside a CPU-only torch.
    """
    import torch

    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for name in ("nms", "qnms"):
        # A working torchvision has declared them itself.
        with contextlib.suppress(RuntimeError):
            torch.library.define(f"torchvision::{name}", schema)


def activate() -> str:
    """SGLang's entry point: the dotted name of the platform class."""
    declare_torchvision_ops()
    return "sglang_plain_cpu.platform.PlainCpuPlatform"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes the elements of a KV cache take in each of the engine's formats.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .version import Version

FP8_DTYPES = frozenset({"fp8_e4m3", "fp8_e5m2"})


@dataclass(frozen=True)
class KvFormat:
    """A KV format: `numerator` bytes for `denominator` elements, and a scale byte per block.

    `block` is 0 where elements carry no scales. Only plain formats can be copied to the host by
    arithmetic that is known here.
    """

    numerator: int
    denominator: int = 1
    block: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether each element takes whole bytes and nothing else."""
        return self.denominator == 1 and not self.block

    @property
    def is_8_bit(self) -> bool:
        """Whether an element takes one byte."""
        return (self.numerator, self.denominator) == (1, 1)

    def size(self, elements: int) -> int:
        """Bytes of so many elements, scales included."""
        scales = elements // self.block if self.block else 0
        return elements * self.numerator // self.denominator + scales


_PLAIN = {
    "bf16": KvFormat(2),
    "bfloat16": KvFormat(2),
    "fp8_e4m3": KvFormat(1),
    "fp8_e5m2": KvFormat(1),
}
# Since 0.5.16 4-bit formats have workspaces of their own, which are not computed here.
_FP4 = KvFormat(1, 2, block=16)
_FP4_UNTIL = "0.5.16"
_MXFP8 = KvFormat(1, block=32)


def kv_format(kv_cache_dtype: str, dtype: str | None, version: Version) -> KvFormat | None:
    """The format behind a value of --kv-cache-dtype, None for one that is not computed here.

    `auto` follows the model's dtype, and the engine loads 32-bit checkpoints as 16-bit unless
    `dtype` says otherwise.
    """
    if kv_cache_dtype == "auto":
        return KvFormat(4 if dtype in ("float", "float32") else 2)
    if kv_cache_dtype == "fp4_e2m1" and version < _FP4_UNTIL:
        return _FP4
    return _MXFP8 if kv_cache_dtype == "mxfp8" else _PLAIN.get(kv_cache_dtype)


def automatic_dtype(model: Mapping[str, Any], capability: float | None) -> str:
    """What `auto` comes to for a model on a GPU: `auto` where that is the model's own dtype.

    A sparse model is cached in 8 bits from compute capability 10 on, in 16 bits before.
    """
    if model.get("index_head_dim") and capability is not None:
        return "fp8_e4m3" if capability >= 10 else "bfloat16"
    return "fp8_e4m3" if model.get("kv_cache_quantization") == "fp8" else "auto"

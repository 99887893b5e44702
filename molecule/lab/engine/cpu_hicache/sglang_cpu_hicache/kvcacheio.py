# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TEST ONLY: plain-torch versions of the sgl_kernel copies that HiCache's host pools call.

Same names and same keywords as there. Pools have a device side, one tensor per layer with one
row per token ("lf", layer first), and a host side in one of three layouts:

* `lf`: as on the device
* `pf`: page first, [token, layer, ...], or in the direct variant [page, layer, slot, ...]
* `ph`: page head, [page, head, slot, layer, dim]

Copies go byte by byte, so that any element type (fp8 too) does.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor


def _bytes(tensor: Tensor) -> Tensor:
    """The same memory, its last dimension counted in bytes."""
    return tensor.view(torch.uint8)


def _copy(dst: Tensor, dst_rows: Tensor, src: Tensor, src_rows: Tensor) -> None:
    _bytes(dst)[dst_rows] = _bytes(src)[src_rows]


def _at(address: int, rows: int, row_bytes: int) -> Tensor:
    """A [rows, row_bytes] view of raw memory; the kernels are handed addresses, not tensors."""
    buffer = (ctypes.c_uint8 * (rows * row_bytes)).from_address(address)
    return torch.frombuffer(buffer, dtype=torch.uint8).view(rows, row_bytes)


def _rows_at(address: int, rows: Tensor, row_bytes: int) -> Tensor:
    return _at(address, int(rows.max()) + 1, row_bytes)[rows]


def _copy_addresses(
    dst: Tensor, dst_rows: Tensor, src: Tensor, src_rows: Tensor, row_bytes: int
) -> None:
    count = int(dst_rows.max()) + 1
    for to, start in zip(dst.tolist(), src.tolist(), strict=True):
        _at(to, count, row_bytes)[dst_rows] = _rows_at(start, src_rows, row_bytes)


# io backend "direct"


def transfer_kv_direct(
    src_layers: list[Tensor],
    dst_layers: list[Tensor],
    src_indices: Tensor,
    dst_indices: Tensor,
    page_size: int,
) -> None:
    for src, dst in zip(src_layers, dst_layers, strict=True):
        _copy(dst, dst_indices, src, src_indices)


def transfer_kv_per_layer_direct_pf_lf(
    src_ptrs: list[Tensor],
    dst_ptrs: list[Tensor],
    src_indices: Tensor,
    dst_indices: Tensor,
    layer_id: int,
    page_size: int,
) -> None:
    page, slot = src_indices // page_size, src_indices % page_size
    for src, dst in zip(src_ptrs, dst_ptrs, strict=True):
        _bytes(dst)[dst_indices] = _bytes(src)[page, layer_id, slot]


def transfer_kv_all_layer_direct_lf_pf(
    src_ptrs: list[Tensor],
    dst_ptrs: list[Tensor],
    src_indices: Tensor,
    dst_indices: Tensor,
    page_size: int,
) -> None:
    page, slot = dst_indices // page_size, dst_indices % page_size
    layers = len(src_ptrs) // len(dst_ptrs)  # the layers of K, then those of V
    for number, src in enumerate(src_ptrs):
        dst = _bytes(dst_ptrs[number // layers])
        dst[page, number % layers, slot] = _bytes(src)[src_indices]


# io backend "kernel", a K and a V pool (MHA, GQA)


def transfer_kv_per_layer(
    src_k: Tensor,
    dst_k: Tensor,
    src_v: Tensor,
    dst_v: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    item_size: int,
    **_: Any,
) -> None:
    _copy(dst_k, dst_indices, src_k, src_indices)
    _copy(dst_v, dst_indices, src_v, src_indices)


def transfer_kv_per_layer_pf_lf(
    src_k: Tensor,
    dst_k: Tensor,
    src_v: Tensor,
    dst_v: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    layer_id: int,
    item_size: int,
    src_layout_dim: int,
    **_: Any,
) -> None:
    _copy(dst_k, dst_indices, src_k[:, layer_id], src_indices)
    _copy(dst_v, dst_indices, src_v[:, layer_id], src_indices)


def transfer_kv_per_layer_ph_lf(
    src_k: Tensor,
    dst_k: Tensor,
    src_v: Tensor,
    dst_v: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    layer_id: int,
    item_size: int,
    src_layout_dim: int,
    page_size: int,
    head_num: int,
    **_: Any,
) -> None:
    page, slot = src_indices // page_size, src_indices % page_size
    for src, dst in ((src_k, dst_k), (src_v, dst_v)):
        _bytes(dst)[dst_indices] = _bytes(src)[page, :, slot, layer_id]


def transfer_kv_all_layer(
    src_k_layers: Tensor,
    dst_k_layers: Tensor,
    src_v_layers: Tensor,
    dst_v_layers: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    item_size: int,
    num_layers: int,
    **_: Any,
) -> None:
    _copy_addresses(dst_k_layers, dst_indices, src_k_layers, src_indices, item_size)
    _copy_addresses(dst_v_layers, dst_indices, src_v_layers, src_indices, item_size)


def transfer_kv_all_layer_lf_pf(
    src_k_layers: Tensor,
    dst_k: Tensor,
    src_v_layers: Tensor,
    dst_v: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    item_size: int,
    dst_layout_dim: int,
    num_layers: int,
    **_: Any,
) -> None:
    for addresses, dst in ((src_k_layers, dst_k), (src_v_layers, dst_v)):
        transfer_kv_all_layer_mla_lf_pf(
            addresses, dst, src_indices, dst_indices, item_size, dst_layout_dim, num_layers
        )


def transfer_kv_all_layer_lf_ph(
    src_k_layers: Tensor,
    dst_k: Tensor,
    src_v_layers: Tensor,
    dst_v: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    item_size: int,
    dst_layout_dim: int,
    num_layers: int,
    page_size: int,
    head_num: int,
    **_: Any,
) -> None:
    page, slot = dst_indices // page_size, dst_indices % page_size
    for addresses, dst in ((src_k_layers, dst_k), (src_v_layers, dst_v)):
        for layer, address in enumerate(addresses.tolist()):
            rows = _rows_at(address, src_indices, item_size)
            _bytes(dst)[page, :, slot, layer] = rows.view(len(src_indices), head_num, -1)


# io backend "kernel", one latent pool (MLA)


def transfer_kv_per_layer_mla(
    src: Tensor, dst: Tensor, src_indices: Tensor, dst_indices: Tensor, item_size: int, **_: Any
) -> None:
    _copy(dst, dst_indices, src, src_indices)


def transfer_kv_per_layer_mla_pf_lf(
    src: Tensor,
    dst: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    layer_id: int,
    item_size: int,
    src_layout_dim: int,
    **_: Any,
) -> None:
    _copy(dst, dst_indices, src[:, layer_id], src_indices)


def transfer_kv_all_layer_mla(
    src_layers: Tensor,
    dst_layers: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    item_size: int,
    num_layers: int,
    **_: Any,
) -> None:
    _copy_addresses(dst_layers, dst_indices, src_layers, src_indices, item_size)


def transfer_kv_all_layer_mla_lf_pf(
    src_layers: Tensor,
    dst: Tensor,
    src_indices: Tensor,
    dst_indices: Tensor,
    item_size: int,
    dst_layout_dim: int,
    num_layers: int,
    **_: Any,
) -> None:
    flat = _bytes(dst).view(dst.shape[0], num_layers, item_size)
    for layer, address in enumerate(src_layers.tolist()):
        flat[dst_indices, layer] = _rows_at(address, src_indices, item_size)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs and NUMA nodes the ranks of an instance are given.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._facts import devices
from .setting import Setting, extra_argument

_VISIBLE = "CUDA_VISIBLE_DEVICES"

Gpu = Mapping[str, Any]


def own_gpus(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> list[Gpu]:
    """The GPUs of the ranks on this node in the order of ranks; fewer where the host has fewer.

    --base-gpu-id and --gpu-id-step count among those that CUDA_VISIBLE_DEVICES leaves.
    """
    first = int(extra_argument(wishes, "base-gpu-id") or 0)
    step = int(extra_argument(wishes, "gpu-id-step") or 1)
    return _visible(devices(facts), wishes)[first :: max(step, 1)][: setting.parallel.ranks]


def _visible(present: Sequence[Gpu], wishes: Mapping[str, Any]) -> list[Gpu]:
    """What the driver shows to the engine: it stops at the first name that is none.

    Facts in short have no UUIDs: then only how many are named is known.
    """
    asked = (wishes.get("sglang_environment") or {}).get(_VISIBLE)
    if asked is None:
        return [*present]
    names = str(asked).split(",")
    if asked and not names[0].isdigit() and not any(gpu.get("uuid") for gpu in present):
        return [*present][: len(names)]
    shown: list[Gpu] = []
    for name in names:
        found = next((device for device in present if _is_named(device, name.strip())), None)
        if found is None:
            break
        shown.append(found)
    return shown


def _is_named(device: Gpu, name: str) -> bool:
    """A GPU is named by its index, or by the beginning of its UUID."""
    if name.isdigit():
        return device.get("index") == int(name)
    return bool(name) and str(device.get("uuid") or "").startswith(name)


def rank_nodes(
    facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting
) -> list[int] | None:
    """NUMA node of each rank: as --numa-node says, else that of its GPU; None when unknown."""
    given = extra_argument(wishes, "numa-node")
    if given is None:
        places = [gpu.get("numa_node") for gpu in own_gpus(facts, wishes, setting)]
    else:
        places = given if isinstance(given, list) else [given]
    known = [int(place) for place in places[: setting.parallel.ranks] if place is not None]
    return known if len(known) == setting.parallel.ranks else None

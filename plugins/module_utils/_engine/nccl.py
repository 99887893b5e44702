# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL settings by how the GPUs are linked, each with its reason. Private to the collection.

Only what NCCL does not find out by itself stands here. The engine sets NCCL_CUMEM_ENABLE and
NCCL_NVLS_ENABLE on its own.
"""

from __future__ import annotations

from typing import Any

Profile = dict[str, tuple[str, str]]

_WARN = ("WARN", "NCCL's own warnings belong in the journal; its default is silence")
_CHANNELS = (
    "8",
    "without NVLink NCCL opens two channels, which do not fill a PCIe 5.0 link; costs some MB "
    "of GPU memory a channel",
)
_ONE_NODE = ("1", "one node needs no InfiniBand; probing for it delays the start and can hang")

#: Values by profile: NAME -> (value, reason).
PROFILES: dict[str, Profile] = {
    "none": {},
    "nvlink": {"NCCL_DEBUG": _WARN},
    "pcie_switch": {
        "NCCL_DEBUG": _WARN,
        "NCCL_P2P_LEVEL": (
            "PXB",
            "all GPUs hang on PCIe switches of one host bridge: let them copy through those",
        ),
        "NCCL_MIN_NCHANNELS": _CHANNELS,
        "NCCL_IB_DISABLE": _ONE_NODE,
    },
    "pcie": {
        "NCCL_DEBUG": _WARN,
        "NCCL_P2P_LEVEL": (
            "PHB",
            "all GPUs hang on one NUMA node: let them copy to each other through its host bridge "
            "instead of through RAM",
        ),
        "NCCL_MIN_NCHANNELS": _CHANNELS,
        "NCCL_IB_DISABLE": _ONE_NODE,
    },
    "pcie_multi_socket": {
        "NCCL_DEBUG": _WARN,
        "NCCL_P2P_LEVEL": (
            "SYS",
            "GPUs hang on several NUMA nodes: allow direct copies across the sockets too. Where "
            "the IOMMU or PCIe ACS breaks them, set NCCL_P2P_DISABLE: 1",
        ),
        "NCCL_MIN_NCHANNELS": _CHANNELS,
        "NCCL_IB_DISABLE": _ONE_NODE,
    },
}

#: What several nodes have otherwise than one; None takes a variable away.
SEVERAL_NODES: dict[str, tuple[str, str] | None] = {
    "NCCL_DEBUG": _WARN,
    # The nodes may well be linked by InfiniBand or RoCE.
    "NCCL_IB_DISABLE": None,
    "NCCL_IB_TIMEOUT": (
        "22",
        "a fabric that finds another way takes seconds; with the default a rank gives up before "
        "that and the whole engine ends",
    ),
}

_BY_TOPOLOGY = {
    "NVLINK": "nvlink",
    "PIX": "pcie_switch",
    "PXB": "pcie_switch",
    "PHB": "pcie",
    "NODE": "pcie",
    "SYS": "pcie_multi_socket",
}


def profile_name(wishes: dict[str, Any], facts: dict[str, Any]) -> str:
    """Return the name of the profile: the wished one, or the one for the worst GPU link.

    A single rank, or a topology that is not known, gets `none`.
    """
    wish = str(wishes["sglang_nccl_profile"])
    if wish != "auto":
        return wish
    if wishes["sglang_tp_size"] * wishes["sglang_pp_size"] == 1:
        return "none"
    return _BY_TOPOLOGY.get((facts.get("gpu") or {}).get("topology") or "", "none")


def nccl_environment(wishes: dict[str, Any], facts: dict[str, Any]) -> Profile:
    """Return the NCCL variables of the instance, NAME -> (value, reason)."""
    values: dict[str, tuple[str, str] | None] = {**PROFILES[profile_name(wishes, facts)]}
    if wishes["sglang_nnodes"] > 1 and wishes["sglang_nccl_profile"] != "none":
        values.update(SEVERAL_NODES)
    return {name: value for name, value in values.items() if value is not None}

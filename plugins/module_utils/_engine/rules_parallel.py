# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs and nodes together: ranks and their collectives. Private to the collection."""

from __future__ import annotations

import re

from .arguments import has_fusion_hardware, is_pcie_only
from .case import Rule

_LOOPBACK_MEETING = re.compile(r"(?:\w+://)?(?:localhost|127\.|\[?::1)")

RULES: tuple[Rule, ...] = (
    Rule(
        "ENG-201",
        "refuse",
        "sglang_allreduce_fusion",
        lambda case: (
            case.wants_fusion
            and has_fusion_hardware(case.facts) is False
            and case.version >= "0.5.14"
        ),
        "FlashInfer all-reduce fusion exists for compute capability 9.x and 10.x; on "
        "{case.capabilities} SGLang {case.version} stops at the start",
        "set sglang_allreduce_fusion: auto",
        "0.5.14 layers/flashinfer_comm_fusion.py _resolve_backend",
    ),
    Rule(
        "ENG-202",
        "advise",
        "sglang_allreduce_fusion",
        lambda case: (
            case.wants_fusion
            and has_fusion_hardware(case.facts) is False
            and case.version < "0.5.14"
        ),
        "all-reduce fusion has no effect on compute capability {case.capabilities}, and from "
        "0.5.14 on it stops the start",
        "set sglang_allreduce_fusion: auto",
        "0.5.9 layers/communicator.py apply_flashinfer_allreduce_fusion",
    ),
    Rule(
        "ENG-203",
        "warn",
        "sglang_allreduce_fusion",
        lambda case: (
            case.wish("allreduce_fusion") == "off"
            and has_fusion_hardware(case.facts) is True
            and case.version < "0.5.10"
        ),
        "SGLang {case.version} decides on all-reduce fusion by itself; it can be forbidden from "
        "0.5.10 on",
        "install 0.5.10 or later, or leave sglang_allreduce_fusion at auto",
        "0.5.10 --enforce-disable-flashinfer-allreduce-fusion",
    ),
    Rule(
        "ENG-204",
        "advise",
        "sglang_custom_all_reduce",
        lambda case: (
            case.wish("custom_all_reduce") == "on"
            and case.number("tp_size") > 2
            and is_pcie_only(case.facts)
        ),
        "the engine turns its custom all-reduce off on more than two GPUs without NVLink",
        "leave sglang_custom_all_reduce at auto",
        "custom_all_reduce.py: not supported on more than two PCIe-only GPUs",
    ),
    Rule(
        "ENG-205",
        "refuse",
        "sglang_tp_size",
        lambda case: 0 < case.gpu_count < case.ranks,
        "the server needs {case.ranks} GPUs on this host, which has {case.gpu_count}",
        "lower sglang_tp_size, sglang_pp_size or sglang_dp_size",
        "one rank a GPU",
    ),
    Rule(
        "ENG-206",
        "refuse",
        "sglang_tp_size",
        lambda case: case.heads is not None and case.heads % case.attention_tp != 0,
        "{case.heads} attention heads cannot be shared evenly by {case.attention_tp} ranks",
        "choose an sglang_tp_size that divides {case.heads}",
        "models divide num_attention_heads by the attention TP size",
    ),
    Rule(
        "ENG-207",
        "refuse",
        "sglang_dp_size",
        lambda case: (
            bool(case.wish("enable_dp_attention"))
            and case.number("tp_size") % case.number("dp_size") != 0
        ),
        "with DP attention the {case.wishes[sglang_tp_size]} TP ranks must split evenly into "
        "{case.wishes[sglang_dp_size]} groups",
        "choose an sglang_dp_size that divides sglang_tp_size",
        "server_args.py: tp_size % dp_size == 0",
    ),
    Rule(
        "ENG-208",
        "warn",
        "sglang_enable_dp_attention",
        lambda case: bool(case.wish("enable_dp_attention")) and case.number("dp_size") == 1,
        "DP attention with one group changes nothing",
        "set sglang_dp_size, or sglang_enable_dp_attention: false",
        "server_args.py _handle_data_parallelism",
    ),
    Rule(
        "ENG-209",
        "refuse",
        "sglang_tp_size",
        lambda case: (
            case.number("tp_size") > 1 and any(device.get("mig") is True for device in case.devices)
        ),
        "tensor parallelism does not work across MIG instances",
        "turn MIG off, or set sglang_tp_size: 1",
        "NCCL does not support communication between MIG instances",
    ),
    Rule(
        "ENG-210",
        "warn",
        "sglang_environment",
        lambda case: (
            "expandable_segments:true" in (case.variable("PYTORCH_CUDA_ALLOC_CONF") or "").lower()
            and case.variable("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") not in (None, "0", "false")
        ),
        "expandable segments cannot be shared between processes, which the PCIe all-reduce needs",
        "remove one of PYTORCH_CUDA_ALLOC_CONF and SGLANG_ENABLE_PCIE_IPC_ALLREDUCE from "
        "sglang_environment",
        "CUDA IPC does not export virtual-memory allocations",
    ),
    Rule(
        "ENG-211",
        "refuse",
        "sglang_dist_init_addr",
        lambda case: case.nodes > 1 and not case.wish("dist_init_addr"),
        "{case.nodes} hosts run one engine, but nothing says where they meet",
        "set sglang_dist_init_addr to address and port of the host with sglang_node_rank 0",
        "server_args.py --dist-init-addr",
    ),
    Rule(
        "ENG-212",
        "refuse",
        "sglang_dist_init_addr",
        lambda case: (
            case.nodes > 1
            and _LOOPBACK_MEETING.match(str(case.wish("dist_init_addr") or "")) is not None
        ),
        "{case.wishes[sglang_dist_init_addr]} is another place on each of the {case.nodes} hosts",
        "set sglang_dist_init_addr to an address that all hosts reach",
        "a loopback address never leaves its host",
    ),
    Rule(
        "ENG-213",
        "refuse",
        "sglang_node_rank",
        lambda case: not 0 <= case.number("node_rank", default=0) < case.nodes,
        "host {case.wishes[sglang_node_rank]} of {case.nodes} does not exist: they count from 0",
        "set sglang_node_rank to a number below sglang_nnodes",
        "server_args.py --node-rank",
    ),
    Rule(
        "ENG-214",
        "refuse",
        "sglang_nnodes",
        lambda case: case.number("tp_size") * case.number("pp_size") % case.nodes != 0,
        "{case.nodes} hosts cannot share the ranks of tensor and pipeline parallelism evenly",
        "choose an sglang_nnodes that divides sglang_tp_size times sglang_pp_size",
        "check_server_args: tp_size * pp_size % nnodes",
    ),
    Rule(
        "ENG-215",
        "refuse",
        "sglang_dp_size",
        lambda case: (
            case.nodes > 1 and case.number("dp_size") > 1 and not case.wish("enable_dp_attention")
        ),
        "copies of the model do not go together with several hosts for one engine",
        "set sglang_dp_size: 1 and sglang_nnodes, or one engine on each host behind a router",
        "check_server_args: dp_size and nnodes",
    ),
    Rule(
        "ENG-216",
        "warn",
        "sglang_environment",
        lambda case: case.variable("NCCL_CUMEM_ENABLE") is not None and case.version < "0.5.9",
        "SGLang {case.version} puts its own value in place of NCCL_CUMEM_ENABLE",
        "remove it from sglang_environment, or install 0.5.9 or later, which keeps it",
        "0.5.2 entrypoints/engine.py _set_envs_and_config",
    ),
    Rule(
        "ENG-217",
        "warn",
        "sglang_extra_args",
        lambda case: case.argument("--enable-nccl-nvls") is not None and is_pcie_only(case.facts),
        "NVLink SHARP is asked for, but the GPUs are linked by PCIe alone",
        "remove --enable-nccl-nvls from sglang_extra_args",
        "NVLS is a function of NVSwitch",
    ),
    Rule(
        "ENG-218",
        "advise",
        "sglang_pcie_all_reduce",
        lambda case: (
            case.variable("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") not in (None, "0", "false")
            and (case.facts.get("gpu") or {}).get("topology") == "NVLINK"
        ),
        "the PCIe all-reduce is for GPUs without NVLink; these have it",
        "set sglang_pcie_all_reduce: false",
        "0.5.21 pcie_ipc_ar.py",
    ),
    Rule(
        "ENG-219",
        "refuse",
        "sglang_disaggregation_mode",
        lambda case: bool(case.wish("disaggregation_mode")),
        "a {case.wishes[sglang_disaggregation_mode]} server answers no request by itself, so it "
        "cannot be proven; its plan and its unit can be looked at",
        "leave sglang_disaggregation_mode empty to deploy it as a whole server, or start the unit "
        "that llmops.sglang.plan shows by other means",
        "disaggregation: a request needs both kinds of server and a router",
    ),
    Rule(
        "ENG-220",
        "refuse",
        "sglang_disaggregation_bootstrap_port",
        lambda case: (
            case.wish("disaggregation_mode") == "prefill"
            and case.number("disaggregation_bootstrap_port") == case.number("port")
        ),
        "the server and its bootstrap server cannot both listen on port {case.wishes[sglang_port]}",
        "set sglang_disaggregation_bootstrap_port to another port than sglang_port",
        "two listeners on one port",
    ),
    Rule(
        "ENG-221",
        "warn",
        "sglang_host",
        lambda case: (
            bool(case.wish("disaggregation_mode"))
            and _LOOPBACK_MEETING.match(f"{case.wish('host')}:0") is not None
        ),
        "a {case.wishes[sglang_disaggregation_mode]} server on {case.wishes[sglang_host]} is out "
        "of reach for the router and for its counterparts on other hosts",
        "set sglang_host to an address that they reach",
        "a loopback address never leaves its host",
    ),
)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From role variables to the engine's command line, in the spelling of one SGLang version.

Private to the collection. An argument is ``{"flag": "--tp-size", "values": ["8"], "source":
"sglang_tp_size"}``: the flag, its values as text, and the variable a person changes to change it.
The order is that of `MANAGED`, then `sglang_extra_args`; it never depends on the order of the
variables, so that a unit only differs where its meaning does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._facts import devices
from .._layout import credential_path
from .flags import FlagTable, flags_of, versions_with
from .version import KNOWN, Version

Argument = dict[str, Any]
Finding = dict[str, Any]
Wishes = dict[str, Any]

EXTRA = "sglang_extra_args"

#: What stands in a form for the value of the variable.
VALUE = "<value>"

#: One way to say it: flags with their values. Without values the flag is bare.
Form = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Managed:
    """One thing this collection says to the engine, and in which spellings it can be said.

    `forms` are tried in order; the first whose flags all exist in the version, and are not
    deprecated there, is taken, else the first whose flags all exist. `value` computes what is
    said from the situation (default: the variable itself); None, False and "" say nothing.
    """

    variable: str
    forms: tuple[Form, ...]
    value: Callable[[Situation], Any] | None = None
    source: Callable[[Situation], str] | None = None


@dataclass(frozen=True)
class Situation:
    """All that an argument may depend on."""

    wishes: Wishes
    capacity: dict[str, Any]
    facts: dict[str, Any]
    version: Version
    flags: FlagTable

    @property
    def host_tier(self) -> dict[str, Any]:
        """The planned HiCache pool in RAM; empty when there is no plan for one."""
        return self.capacity.get("host") or {}

    @property
    def has_host_tier(self) -> bool:
        return str(self.host_tier.get("mode", "off")) != "off"


def build_arguments(
    wishes: Wishes, capacity: dict[str, Any], facts: dict[str, Any], version: Version
) -> tuple[list[Argument], list[Finding]]:
    """Return the arguments and the findings about what cannot be said to this version.

    Every finding has severity `refuse`; the argument it speaks of is left out.
    """
    situation = Situation(wishes, capacity, facts, version, flags_of(version))
    arguments: list[Argument] = []
    findings: list[Finding] = []
    for managed in MANAGED:
        _say(managed, situation, arguments, findings)
    _add_extra(situation, arguments, findings)
    return arguments, findings


def to_argv(arguments: Sequence[Argument]) -> list[str]:
    """Return the words of the command line.

    A value that begins with "-" and is no number is joined to its flag by "=": as a word of its
    own the engine's parser would take it for a flag.
    """
    argv: list[str] = []
    for argument in arguments:
        flag, values = argument["flag"], argument["values"]
        if len(values) == 1 and _looks_like_flag(values[0]):
            argv.append(f"{flag}={values[0]}")
        else:
            argv.extend([flag, *values])
    return argv


def value_of(arguments: Sequence[Argument], *flags: str) -> str | None:
    """Return the first value of the first of these flags that is present, "" for a bare one."""
    for argument in arguments:
        if argument["flag"] in flags:
            return argument["values"][0] if argument["values"] else ""
    return None


def text_of(value: Any) -> str:
    """Return the text of one value; mappings and nested lists become JSON with sorted keys."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # Ten digits are more than any flag needs and hide the noise of binary fractions.
        return str(float(f"{value:.10g}"))
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    return str(value)


# --- what the collection says by itself ---------------------------------------------------------


def _plain(variable: str, *flags: str, value: Callable[[Situation], Any] | None = None) -> Managed:
    return Managed(variable, tuple({flag: (VALUE,)} for flag in flags), value)


def _bare(variable: str, *flags: str, value: Callable[[Situation], Any] | None = None) -> Managed:
    return Managed(variable, tuple({flag: ()} for flag in flags), value)


def _unless(variable: str, default: Any) -> Callable[[Situation], Any]:
    """Say nothing when the variable has the engine's own default."""
    return lambda situation: _none_if(situation.wishes[variable], default)


def _none_if(value: Any, default: Any) -> Any:
    return None if value == default else value


def _secrets(situation: Situation) -> Any:
    if situation.wishes.get("sglang_secrets_present"):
        return credential_path(situation.wishes["sglang_instance"])
    return None


def _data_parallel(situation: Situation) -> Any:
    if situation.wishes["sglang_enable_dp_attention"]:
        return None
    return _none_if(situation.wishes["sglang_dp_size"], 1)


def _attention_data_parallel(situation: Situation) -> Any:
    if situation.wishes["sglang_enable_dp_attention"]:
        return situation.wishes["sglang_dp_size"]
    return None


def _hicache_ratio(situation: Situation) -> Any:
    host = situation.host_tier
    return host.get("ratio") if host.get("mode") == "ratio" else None


def _hicache_size(situation: Situation) -> Any:
    host = situation.host_tier
    return host.get("size_gb") if host.get("mode") == "size" else None


def _hicache_fraction(situation: Situation) -> Any:
    host = situation.host_tier
    return host.get("fraction") if host.get("mode") == "engine_auto" else None


def _hicache_source(mode: str, variable: str) -> Callable[[Situation], str]:
    """The number is the user's own only when the user chose its mode."""
    return lambda situation: (
        variable if situation.wishes["sglang_hicache_mode"] == mode else "sglang_hicache_mode"
    )


def _with_host_tier(variable: str) -> Callable[[Situation], Any]:
    return lambda situation: situation.wishes[variable] if situation.has_host_tier else None


def _with_store(variable: str) -> Callable[[Situation], Any]:
    return lambda situation: (
        situation.wishes[variable]
        if situation.has_host_tier and situation.wishes["sglang_hicache_storage_backend"]
        else None
    )


def _with_nodes(variable: str) -> Callable[[Situation], Any]:
    return lambda situation: (
        situation.wishes[variable] if situation.wishes["sglang_nnodes"] > 1 else None
    )


def _with_disaggregation(variable: str) -> Callable[[Situation], Any]:
    return lambda situation: (
        situation.wishes[variable] if situation.wishes["sglang_disaggregation_mode"] else None
    )


def _bootstrap_port(situation: Situation) -> Any:
    """Only prefill servers have the bootstrap server; decode servers hear of it by the router."""
    prefill = situation.wishes["sglang_disaggregation_mode"] == "prefill"
    return situation.wishes["sglang_disaggregation_bootstrap_port"] if prefill else None


def _with_speculation(variable: str) -> Callable[[Situation], Any]:
    return lambda situation: (
        situation.wishes[variable] if situation.wishes["sglang_speculative_algorithm"] else None
    )


def _with_graphs(variable: str) -> Callable[[Situation], Any]:
    return lambda situation: (
        None if situation.wishes["sglang_disable_cuda_graph"] else situation.wishes[variable]
    )


def has_fusion_hardware(facts: dict[str, Any]) -> bool | None:
    """Return whether every GPU is of compute capability 9.x or 10.x, None when not known."""
    majors = [
        str(device["compute_capability"]).split(".", 1)[0]
        if device.get("compute_capability")
        else ""
        for device in devices(facts)
    ]
    if not majors or "" in majors:
        return None
    return all(major in ("9", "10") for major in majors)


def is_pcie_only(facts: dict[str, Any]) -> bool:
    """Return whether the GPUs are known to be linked by PCIe alone."""
    return (facts.get("gpu") or {}).get("topology") not in (None, "NVLINK")


def _fusion_on(situation: Situation) -> Any:
    wish = situation.wishes["sglang_allreduce_fusion"]
    if wish != "auto":
        return wish == "on"
    # One rank has nothing to reduce; over PCIe the fused kernels have no peer memory to use.
    return (
        situation.wishes["sglang_tp_size"] > 1
        and (situation.facts.get("gpu") or {}).get("topology") == "NVLINK"
        and has_fusion_hardware(situation.facts) is True
    )


def _fusion_off(situation: Situation) -> Any:
    # Before the flag existed there is nothing to say: rule ENG-203 tells where that matters.
    known = situation.flags.resolve("--enforce-disable-flashinfer-allreduce-fusion") is not None
    return known and situation.wishes["sglang_allreduce_fusion"] == "off"


def _custom_all_reduce_off(situation: Situation) -> Any:
    wish = situation.wishes["sglang_custom_all_reduce"]
    if wish != "auto":
        return wish == "off"
    # The engine finds out by itself and warns; saying it keeps the journal clean.
    return situation.wishes["sglang_tp_size"] > 2 and is_pcie_only(situation.facts)


MANAGED: tuple[Managed, ...] = (
    # secrets first: what stands on the command line wins over the file
    _plain("sglang_api_key_file", "--config", value=_secrets),
    # model
    _plain("sglang_model_path", "--model-path"),
    _plain("sglang_served_model_name", "--served-model-name"),
    _bare("sglang_trust_remote_code", "--trust-remote-code"),
    _plain("sglang_dtype", "--dtype"),
    _plain("sglang_quantization", "--quantization"),
    _plain("sglang_load_format", "--load-format"),
    _plain("sglang_context_length", "--context-length"),
    # serving
    _plain("sglang_host", "--host"),
    _plain("sglang_port", "--port"),
    # parallel
    _plain("sglang_tp_size", "--tp-size"),
    _plain("sglang_pp_size", "--pp-size", value=_unless("sglang_pp_size", 1)),
    _plain("sglang_dp_size", "--dp-size", value=_data_parallel),
    _plain("sglang_ep_size", "--ep-size", value=_unless("sglang_ep_size", 1)),
    Managed(
        "sglang_enable_dp_attention",
        ({"--attn-dp-size": (VALUE,)}, {"--dp-size": (VALUE,), "--enable-dp-attention": ()}),
        _attention_data_parallel,
    ),
    # several nodes
    _plain("sglang_nnodes", "--nnodes", value=_unless("sglang_nnodes", 1)),
    _plain("sglang_node_rank", "--node-rank", value=_with_nodes("sglang_node_rank")),
    _plain("sglang_dist_init_addr", "--dist-init-addr"),
    # prefill and decode on different hosts
    _plain("sglang_disaggregation_mode", "--disaggregation-mode"),
    _plain(
        "sglang_disaggregation_transfer_backend",
        "--disaggregation-transfer-backend",
        value=_with_disaggregation("sglang_disaggregation_transfer_backend"),
    ),
    _plain(
        "sglang_disaggregation_bootstrap_port",
        "--disaggregation-bootstrap-port",
        value=_bootstrap_port,
    ),
    _plain(
        "sglang_disaggregation_ib_device",
        "--disaggregation-ib-device",
        value=_with_disaggregation("sglang_disaggregation_ib_device"),
    ),
    # memory
    _plain("sglang_mem_fraction_static", "--mem-fraction-static"),
    _plain("sglang_max_total_tokens", "--max-total-tokens"),
    _plain(
        "sglang_kv_cache_dtype", "--kv-cache-dtype", value=_unless("sglang_kv_cache_dtype", "auto")
    ),
    _plain("sglang_page_size", "--page-size"),
    # HiCache
    _bare(
        "sglang_hicache_mode",
        "--enable-hierarchical-cache",
        value=lambda situation: situation.has_host_tier,
    ),
    Managed(
        "sglang_hicache_ratio",
        ({"--hicache-ratio": (VALUE,)},),
        _hicache_ratio,
        _hicache_source("ratio", "sglang_hicache_ratio"),
    ),
    Managed(
        "sglang_hicache_size_gb",
        ({"--hicache-size": (VALUE,)},),
        _hicache_size,
        _hicache_source("size", "sglang_hicache_size_gb"),
    ),
    Managed(
        "sglang_hicache_host_memory_fraction",
        ({"--hicache-host-memory-fraction": (VALUE,)},),
        _hicache_fraction,
        _hicache_source("engine_auto", "sglang_hicache_host_memory_fraction"),
    ),
    _plain(
        "sglang_hicache_write_policy",
        "--hicache-write-policy",
        value=_with_host_tier("sglang_hicache_write_policy"),
    ),
    _plain(
        "sglang_hicache_io_backend",
        "--hicache-io-backend",
        value=_with_host_tier("sglang_hicache_io_backend"),
    ),
    _plain(
        "sglang_hicache_mem_layout",
        "--hicache-mem-layout",
        value=_with_host_tier("sglang_hicache_mem_layout"),
    ),
    _plain(
        "sglang_hicache_storage_backend",
        "--hicache-storage-backend",
        value=_with_host_tier("sglang_hicache_storage_backend"),
    ),
    _plain(
        "sglang_hicache_storage_backend_extra_config",
        "--hicache-storage-backend-extra-config",
        value=_with_store("sglang_hicache_storage_backend_extra_config"),
    ),
    _plain(
        "sglang_hicache_storage_prefetch_policy",
        "--hicache-storage-prefetch-policy",
        value=_with_store("sglang_hicache_storage_prefetch_policy"),
    ),
    # speculation
    _plain("sglang_speculative_algorithm", "--speculative-algorithm"),
    _plain(
        "sglang_model_draft_path",
        "--speculative-draft-model-path",
        value=_with_speculation("sglang_model_draft_path"),
    ),
    _plain(
        "sglang_speculative_num_steps",
        "--speculative-num-steps",
        value=_with_speculation("sglang_speculative_num_steps"),
    ),
    _plain(
        "sglang_speculative_eagle_topk",
        "--speculative-eagle-topk",
        value=_with_speculation("sglang_speculative_eagle_topk"),
    ),
    _plain(
        "sglang_speculative_num_draft_tokens",
        "--speculative-num-draft-tokens",
        value=_with_speculation("sglang_speculative_num_draft_tokens"),
    ),
    _plain(
        "sglang_speculative_draft_attention_backend",
        "--speculative-draft-attention-backend",
        value=_with_speculation("sglang_speculative_draft_attention_backend"),
    ),
    # parsers
    _plain("sglang_tool_call_parser", "--tool-call-parser"),
    _plain("sglang_reasoning_parser", "--reasoning-parser"),
    # backends
    _plain("sglang_attention_backend", "--attention-backend"),
    _plain("sglang_prefill_attention_backend", "--prefill-attention-backend"),
    _plain("sglang_decode_attention_backend", "--decode-attention-backend"),
    _plain("sglang_moe_runner_backend", "--moe-runner-backend"),
    _plain("sglang_moe_a2a_backend", "--moe-a2a-backend"),
    Managed(
        "sglang_allreduce_fusion",
        (
            {"--flashinfer-allreduce-fusion-backend": ("auto",)},
            {"--enable-flashinfer-allreduce-fusion": ()},
        ),
        _fusion_on,
    ),
    _bare(
        "sglang_allreduce_fusion",
        "--enforce-disable-flashinfer-allreduce-fusion",
        value=_fusion_off,
    ),
    _bare("sglang_custom_all_reduce", "--disable-custom-all-reduce", value=_custom_all_reduce_off),
    _bare(
        "sglang_overlap_schedule",
        "--disable-overlap-schedule",
        value=lambda situation: not situation.wishes["sglang_overlap_schedule"],
    ),
    Managed(
        "sglang_disable_cuda_graph",
        (
            {
                "--cuda-graph-backend-decode": ("disabled",),
                "--cuda-graph-backend-prefill": ("disabled",),
            },
            {"--disable-cuda-graph": ()},
        ),
    ),
    _plain(
        "sglang_cuda_graph_backend_decode",
        "--cuda-graph-backend-decode",
        value=_with_graphs("sglang_cuda_graph_backend_decode"),
    ),
    _plain(
        "sglang_cuda_graph_backend_prefill",
        "--cuda-graph-backend-prefill",
        value=_with_graphs("sglang_cuda_graph_backend_prefill"),
    ),
    _plain("sglang_cuda_graph_max_bs", "--cuda-graph-max-bs-decode", "--cuda-graph-max-bs"),
    _plain("sglang_cuda_graph_bs", "--cuda-graph-bs-decode", "--cuda-graph-bs"),
    # limits
    _plain("sglang_max_running_requests", "--max-running-requests"),
    _plain("sglang_max_queued_requests", "--max-queued-requests"),
    _plain("sglang_chunked_prefill_size", "--chunked-prefill-size"),
    _plain("sglang_max_prefill_tokens", "--max-prefill-tokens"),
    _plain("sglang_schedule_policy", "--schedule-policy"),
    _plain("sglang_dist_timeout_s", "--dist-timeout"),
    _plain("sglang_watchdog_timeout_s", "--watchdog-timeout"),
    # logging and metrics
    _plain("sglang_log_level", "--log-level"),
    _plain("sglang_decode_log_interval", "--decode-log-interval"),
    _bare("sglang_log_requests", "--log-requests"),
    _plain(
        "sglang_log_requests_level",
        "--log-requests-level",
        value=lambda situation: (
            situation.wishes["sglang_log_requests_level"]
            if situation.wishes["sglang_log_requests"]
            else None
        ),
    ),
    _bare("sglang_enable_metrics", "--enable-metrics"),
    _bare("sglang_enable_cache_report", "--enable-cache-report"),
)

#: Flags that no variable renders but that must not come through `sglang_extra_args` either.
_RESERVED = {
    "--api-key": "sglang_api_key_file",
    "--admin-api-key": "sglang_admin_api_key_file",
}

#: Old name: new name, and the value to give where the old one was bare.
_RENAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "--disable-piecewise-cuda-graph": ("--cuda-graph-backend-prefill", ("disabled",)),
    "--enable-breakable-cuda-graph": ("--cuda-graph-backend-prefill", ("breakable",)),
    "--enable-gdn-replayssm-spec": ("--enable-linear-replayssm-spec", ()),
    "--kt-amx-method": ("--kt-method", ()),
    "--kt-amx-weight-path": ("--kt-weight-path", ()),
    "--mamba-scheduler-strategy": ("--mamba-radix-cache-strategy", ()),
    "--max-micro-batch-size": ("--pp-max-micro-batch-size", ()),
    "--nsa-decode": ("--nsa-decode-backend", ()),
    "--nsa-decode-backend": ("--dsa-decode-backend", ()),
    "--nsa-prefill": ("--nsa-prefill-backend", ()),
    "--nsa-prefill-backend": ("--dsa-prefill-backend", ()),
    "--oltp-traces-endpoint": ("--otlp-traces-endpoint", ()),
    "--piecewise-cuda-graph-compiler": ("--cuda-graph-tc-compiler", ()),
    "--piecewise-cuda-graph-max-tokens": ("--cuda-graph-max-bs-prefill", ()),
    "--piecewise-cuda-graph-tokens": ("--cuda-graph-bs-prefill", ()),
    "--speculative-dflash-draft-window-size": ("--speculative-draft-window-size", ()),
    "--stream-output": ("--incremental-streaming-output", ()),
}
#: The other way round, for a new name on an old version.
_FORMER = {new: old for old, (new, values) in _RENAMED.items() if not values}

#: Flags that are gone and whose meaning is said otherwise now.
_REPLACED = {
    "--disable-hicache-numa-detect": "sglang_numa_bind: off",
    "--enable-beta-spec": "sglang_overlap_schedule: true",
    "--enable-deepep-moe": "sglang_moe_a2a_backend: deepep",
    "--enable-ep-moe": "sglang_ep_size",
    "--enable-flashinfer-cutedsl-moe": "sglang_moe_runner_backend: flashinfer_cutedsl",
    "--enable-flashinfer-cutlass-moe": "sglang_moe_runner_backend: flashinfer_cutlass",
    "--enable-flashinfer-mxfp4-moe": "sglang_moe_runner_backend: flashinfer_mxfp4",
    "--enable-flashinfer-trtllm-moe": "sglang_moe_runner_backend: flashinfer_trtllm",
    "--enable-piecewise-cuda-graph": "sglang_cuda_graph_backend_prefill",
    "--enable-triton-kernel-moe": "sglang_moe_runner_backend: triton_kernel",
}


def _say(
    managed: Managed, situation: Situation, arguments: list[Argument], findings: list[Finding]
) -> None:
    wish = managed.value(situation) if managed.value else situation.wishes.get(managed.variable)
    if wish is None or wish is False or wish in ("", []):
        return
    source = managed.source(situation) if managed.source else managed.variable
    form = _form_for(managed.forms, situation.flags)
    if form is None:
        findings.append(_cannot_say(managed.forms[0], source, situation.version))
        return
    for flag, template in form.items():
        values = [
            text for part in template for text in (_values(wish) if part is VALUE else [part])
        ]
        arguments.append({"flag": flag, "values": values, "source": source})


def _form_for(forms: Sequence[Form], flags: FlagTable) -> Form | None:
    possible = [form for form in forms if all(flags.resolve(flag) for flag in form)]
    current = [form for form in possible if not any(_is_deprecated(flag, flags) for flag in form)]
    return next(iter(current or possible), None)


def _is_deprecated(flag: str, flags: FlagTable) -> bool:
    info = flags.resolve(flag)
    return info is not None and (info.deprecated or info.action.startswith("deprecated"))


def _cannot_say(form: Form, source: str, version: Version) -> Finding:
    flag = next(iter(form))
    return _refuse(
        "ARG-001",
        f"SGLang {version} has no {flag}, which {source} needs ({_span(flag)})",
        f"remove {source}, or install a version that has the flag (sglang_engine_version)",
        source,
    )


# --- what the user adds -------------------------------------------------------------------------


def _add_extra(situation: Situation, arguments: list[Argument], findings: list[Finding]) -> None:
    owners = _owners(situation.flags)
    for name, value in sorted((situation.wishes.get(EXTRA) or {}).items()):
        # Of --config=FILE in one word a rule speaks.
        if value is False or str(name).lstrip("-").startswith("config="):
            continue
        flag, problem = _normalise(str(name), owners, situation)
        if problem is not None:
            findings.append(problem)
            continue
        flag, values = _renamed(flag, _values(value), situation.flags)
        if any(argument["flag"] == flag for argument in arguments):
            findings.append(_twice(str(name), flag))
            continue
        if len(values) > 1 and any(_looks_like_flag(text) for text in values):
            findings.append(
                _refuse(
                    "ARG-005",
                    f"{EXTRA}: the engine's parser takes a value of {flag} for a flag: it begins "
                    'with "-" and stands among others',
                    f"give {flag} values that do not begin with a dash",
                    EXTRA,
                )
            )
            continue
        arguments.append({"flag": flag, "values": values, "source": EXTRA})


def _normalise(
    name: str, owners: dict[str, str], situation: Situation
) -> tuple[str, Finding | None]:
    """Return the full spelling of a flag the user named, or why it cannot be used."""
    # What stands behind the sign may be a secret and is shown to nobody.
    name, joined, _value = name.partition("=")
    flag = "--" + name.strip().lstrip("-").replace("_", "-")
    candidates = [flag] if situation.flags.resolve(flag) else _expand(flag, situation.flags)
    if len(candidates) == 1:
        flag = candidates[0]
    if flag in owners:
        return flag, _restates(name, flag, owners[flag])
    if joined:
        return flag, _refuse(
            "ARG-007",
            f"{EXTRA}: {name} and its value stand in one word",
            f"make {name} the name and write its value behind the colon",
            EXTRA,
        )
    if len(candidates) == 1:
        return flag, None
    if _translation(flag, situation.flags) is not None:
        return flag, None
    if situation.version > KNOWN[-1] and not candidates:
        # A release newer than the data may have it: the installed parser has the last word.
        return flag, None
    if candidates:
        return flag, _refuse(
            "ARG-003",
            f"{EXTRA}: {name} could mean {', '.join(sorted(candidates))}",
            "write the flag in full",
            EXTRA,
        )
    return flag, _refuse(
        "ARG-004",
        f"{EXTRA}: SGLang {situation.version} has no {flag} ({_span(flag)})",
        f"remove {name} from {EXTRA} and set {_REPLACED[flag]}"
        if flag in _REPLACED
        else f"remove {name} from {EXTRA}, or correct its spelling",
        EXTRA,
    )


def _expand(flag: str, flags: FlagTable) -> list[str]:
    """Return one spelling for each flag that begins like this, as the engine's parser would."""
    by_meaning = {
        info.dest: name
        for name in flags.names()
        if name.startswith(flag) and (info := flags.resolve(name)) is not None
    }
    return list(by_meaning.values())


def _owners(flags: FlagTable) -> dict[str, str]:
    """Return every spelling of every managed flag with the variable that renders it."""
    owners: dict[str, str] = dict(_RESERVED)
    for managed in MANAGED:
        for flag in (flag for form in managed.forms for flag in form):
            info = flags.resolve(flag)
            for name in (flag, *(info.names if info else ())):
                owners.setdefault(name, managed.variable)
    return owners


def _restates(name: str, flag: str, owner: str) -> Finding:
    return _refuse(
        "ARG-002",
        f"{EXTRA}: {name} would say {flag} a second time; it belongs to {owner}",
        f"remove {name} from {EXTRA} and set {owner}",
        owner,
    )


def _twice(name: str, flag: str) -> Finding:
    return _refuse(
        "ARG-006",
        f"{EXTRA}: {name} says {flag} a second time",
        f"keep one of the spellings of {flag} in {EXTRA}",
        EXTRA,
    )


def _renamed(flag: str, values: list[str], flags: FlagTable) -> tuple[str, list[str]]:
    """Give a flag the name it has in this version."""
    if flags.resolve(flag) is None or _is_deprecated(flag, flags):
        found = _translation(flag, flags)
        if found is not None:
            return found[0], values or list(found[1])
    return flag, values


def _translation(flag: str, flags: FlagTable) -> tuple[str, tuple[str, ...]] | None:
    """The name this version has for a flag of another one, and the value of a bare one."""
    nothing: tuple[str, ...] = ()
    for names in (_RENAMED, {new: (old, nothing) for new, old in _FORMER.items()}):
        found, values = flag, nothing
        while found in names:
            found, given = names[found]
            values = given or values
            if flags.resolve(found):
                return found, values
    return None


def _values(value: Any) -> list[str]:
    if value is None or value is True:
        return []
    if isinstance(value, (list, tuple)):
        return [text_of(item) for item in value]
    return [text_of(value)]


def _looks_like_flag(text: str) -> bool:
    """Tell whether argparse would take this word for a flag and not for a value."""
    if not text.startswith("-") or text == "-" or " " in text:
        return False
    return re.fullmatch(r"-\d+|-\d*\.\d+", text) is None


def _span(flag: str) -> str:
    """Say which of the known versions have a flag."""
    versions = versions_with(flag)
    if not versions:
        return "no known version has it"
    return f"known from {versions[0]} to {versions[-1]}"


def _refuse(identity: str, text: str, remedy: str, variable: str) -> Finding:
    return {
        "id": identity,
        "severity": "refuse",
        "text": text,
        "remedy": remedy,
        "variable": variable,
    }

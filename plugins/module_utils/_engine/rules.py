# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine would refuse late, do silently, or never say: rules, as data.

Private to the collection. `refuse` means that the server would not start, or would cut or leak
something; `warn` that it starts and disappoints; `advise` that there is something to know.

Ids are stable. Hundreds group them: 0 flags and secrets, 1 network and model, 2 collectives and
parallelism, 3 speculation, 4 KV cache, 5 parsers and backends. `text` and `remedy` are format
strings over the `Case`; a condition sees only what is known and never raises on what is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .arguments import (
    EXTRA,
    Argument,
    Finding,
    has_fusion_hardware,
    is_pcie_only,
    to_argv,
    value_of,
)
from .environment import Environment, secret_names
from .flags import flags_of
from .version import KNOWN, Version

_KIMI_K25 = "KimiK25ForConditionalGeneration"
_MLA_DRAFT = "Eagle3DeepseekV2ForCausalLM"
# Targets whose own checkpoint holds the draft layers, so that the engine needs no draft path.
_WITH_OWN_DRAFT = re.compile(
    r"DeepseekV(?:3|32|4)|Glm4Moe|Bailing|MistralLarge3|Pixtral|HYV[34]|Qwen4Exp"
)
_EAGLE = ("EAGLE", "EAGLE3", "NEXTN")
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
_SECRET_FLAG = re.compile(r"password|secret|api-key|access-token")
_DECIMAL_COUNT = re.compile(r"\d+(?:\.\d+)?[kMGT]")
_SPECULATION_NUMBERS = (
    "sglang_speculative_num_steps",
    "sglang_speculative_eagle_topk",
    "sglang_speculative_num_draft_tokens",
)


@dataclass(frozen=True)
class Case:
    """The situation a rule judges. Every accessor gives None or an empty value when not known."""

    wishes: dict[str, Any]
    arguments: list[Argument]
    environment: Environment
    facts: dict[str, Any]
    version: Version

    def wish(self, name: str) -> Any:
        """Return the value of a role variable, named without its prefix."""
        return self.wishes.get(f"sglang_{name}")

    def number(self, name: str, default: int = 1) -> int:
        """Return a role variable that counts something."""
        value = self.wish(name)
        return default if value is None else int(value)

    def argument(self, *flags: str) -> str | None:
        """Return the value the engine gets for a flag: "" when bare, None when absent."""
        return value_of(self.arguments, *flags)

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable of the process."""
        entry = self.environment.get(name)
        return entry["value"] if entry else None

    def between(self, first: str, before: str) -> bool:
        """Tell whether the version is `first` or later, and earlier than `before`."""
        return first <= self.version < before

    @property
    def nearest(self) -> Version:
        return self.version.nearest_known()[0]

    @property
    def version_is_known(self) -> bool:
        return self.version.nearest_known()[1]

    @cached_property
    def refused_by_parser(self) -> str:
        """What the parser of the nearest known version says against the arguments."""
        return "; ".join(flags_of(self.version).accepts(to_argv(self.arguments)))

    @property
    def secret_names(self) -> str:
        return ", ".join(secret_names(self.wishes))

    @property
    def secret_flags(self) -> str:
        """Flags that would put a secret on the command line."""
        return ", ".join(
            argument["flag"]
            for argument in self.arguments
            if argument["source"] == EXTRA
            and argument["values"]
            and _SECRET_FLAG.search(argument["flag"])
        )

    @property
    def decimal_counts(self) -> str:
        """Values such as 256k, which the engine reads as 256000."""
        return ", ".join(
            f"{argument['flag']} {value}"
            for argument in self.arguments
            for value in argument["values"]
            if _type_of(argument["flag"], self.version) == "human_readable_int"
            and _DECIMAL_COUNT.fullmatch(value)
        )

    @property
    def architecture(self) -> str | None:
        return (self.facts.get("model") or {}).get("architecture")

    @property
    def draft(self) -> dict[str, Any]:
        return self.facts.get("draft") or {}

    @property
    def devices(self) -> list[dict[str, Any]]:
        return (self.facts.get("gpu") or {}).get("devices") or []

    @property
    def gpu_count(self) -> int:
        return len(self.devices)

    @property
    def capabilities(self) -> str:
        """The compute capabilities on the host, as text."""
        return ", ".join(
            sorted({str(device.get("compute_capability") or "unknown") for device in self.devices})
        )

    @property
    def has_sm120(self) -> bool:
        return any(
            str(device.get("compute_capability") or "").startswith("12.") for device in self.devices
        )

    @property
    def wants_fusion(self) -> bool:
        return (
            self.argument(
                "--enable-flashinfer-allreduce-fusion", "--flashinfer-allreduce-fusion-backend"
            )
            is not None
        )

    @property
    def is_kimi_k25(self) -> bool:
        return self.architecture == _KIMI_K25

    @property
    def algorithm(self) -> str:
        return str(self.wish("speculative_algorithm") or "").upper()

    @property
    def is_eagle(self) -> bool:
        return self.algorithm in _EAGLE

    @property
    def overlaps(self) -> bool:
        return bool(self.algorithm) and bool(self.wish("overlap_schedule"))

    @property
    def has_hicache(self) -> bool:
        return self.argument("--enable-hierarchical-cache") is not None

    @property
    def kv_cache_dtype(self) -> str:
        return str(self.wish("kv_cache_dtype") or "auto")

    @property
    def decode_backend(self) -> str | None:
        return self.argument("--decode-attention-backend") or self.argument("--attention-backend")

    @property
    def nodes(self) -> int:
        return _count(self.argument("--nnodes")) or 1

    @property
    def ranks(self) -> int:
        """GPUs that one node must offer."""
        replicas = 1 if self.wish("enable_dp_attention") else self.number("dp_size")
        return self.number("tp_size") * self.number("pp_size") * replicas // self.nodes

    @property
    def attention_tp(self) -> int:
        """Ranks that share the attention heads of one layer."""
        groups = self.number("dp_size") if self.wish("enable_dp_attention") else 1
        return max(1, self.number("tp_size") // groups)

    @property
    def heads(self) -> int | None:
        return (self.facts.get("model") or {}).get("heads")

    @property
    def driver_major(self) -> int | None:
        loaded = ((self.facts.get("gpu") or {}).get("driver") or {}).get("loaded")
        return _count(str(loaded or "").split(".", 1)[0])

    @property
    def cuda(self) -> str:
        return str((self.facts.get("engine") or {}).get("cuda") or "")


@dataclass(frozen=True)
class Rule:
    """One thing to know before a start; `source` says where the engine does it."""

    id: str
    severity: str
    variable: str | None
    fires: Callable[[Case], bool]
    text: str
    remedy: str
    source: str

    def finding(self, case: Case) -> Finding:
        """Return the rule as a finding about this case."""
        return {
            "id": self.id,
            "severity": self.severity,
            "text": self.text.format(case=case),
            "remedy": self.remedy.format(case=case),
            "variable": self.variable,
        }


def check_rules(
    wishes: dict[str, Any],
    arguments: list[Argument],
    environment: Environment,
    facts: dict[str, Any],
    version: Version,
) -> list[Finding]:
    """Return what the rules have to say, in the order of their ids."""
    case = Case(wishes, arguments, environment, facts, version)
    return [rule.finding(case) for rule in RULES if rule.fires(case)]


def _count(text: str | None) -> int | None:
    """Read a count, or None where there is none."""
    return int(text) if text and text.isdigit() else None


def _type_of(flag: str, version: Version) -> str | None:
    info = flags_of(version).resolve(flag)
    return info.type if info else None


def _given_numbers(case: Case) -> int:
    return sum(case.wishes.get(name) is not None for name in _SPECULATION_NUMBERS)


def _lacks_draft(case: Case) -> bool:
    if case.wish("model_draft_path") or _WITH_OWN_DRAFT.match(case.architecture or ""):
        return False
    # EAGLE and NEXTN may mean a draft inside a checkpoint whose architecture is not known here.
    return case.algorithm in ("EAGLE3", "STANDALONE") or (
        case.is_eagle and case.architecture is not None
    )


def _ratio(case: Case) -> float | None:
    text = case.argument("--hicache-ratio")
    return float(text) if text else None


RULES: tuple[Rule, ...] = (
    # --- flags and secrets
    Rule(
        "ENG-001",
        "refuse",
        None,
        lambda case: case.version_is_known and bool(case.refused_by_parser),
        "SGLang {case.version} does not accept these arguments: {case.refused_by_parser}",
        "correct the variable of the flag that is named, or choose another sglang_engine_version",
        "the version's own argparse definitions",
    ),
    Rule(
        "ENG-002",
        "warn",
        "sglang_engine_version",
        lambda case: not case.version_is_known and bool(case.refused_by_parser),
        "the arguments do not fit SGLang {case.nearest}, the nearest known version to "
        "{case.version}: {case.refused_by_parser}",
        "check them against the installed engine's --help",
        "argparse definitions of the nearest version",
    ),
    Rule(
        "ENG-003",
        "warn",
        "sglang_engine_version",
        lambda case: not case.version_is_known and case.version > KNOWN[-1],
        "SGLang {case.version} is newer than this collection knows and treated as {case.nearest}",
        "update llmops.sglang, or stay with a known version",
        "list of known versions",
    ),
    Rule(
        "ENG-004",
        "advise",
        "sglang_engine_version",
        lambda case: not case.version_is_known and not case.version > KNOWN[-1],
        "SGLang {case.version} is not among the known versions and treated as {case.nearest}",
        "prefer {case.nearest}",
        "list of known versions",
    ),
    Rule(
        "ENG-005",
        "refuse",
        "sglang_environment",
        lambda case: bool(secret_names(case.wishes)),
        "sglang_environment holds what looks like a secret ({case.secret_names}); every user of "
        "the host can read a unit's environment",
        "put API keys in sglang_api_key_file or sglang_admin_api_key_file; the server needs no "
        "hub token",
        "systemd shows Environment= to every user",
    ),
    Rule(
        "ENG-006",
        "refuse",
        EXTRA,
        lambda case: bool(case.secret_flags),
        "{case.secret_flags} would put a secret on the command line, where every user of the host "
        "can read it",
        "remove it from sglang_extra_args",
        "/proc/PID/cmdline is world-readable",
    ),
    Rule(
        "ENG-007",
        "advise",
        None,
        lambda case: bool(case.decimal_counts),
        "the engine's suffixes k, M and G are decimal, so 256k means 256000: {case.decimal_counts}",
        "write the number in full, or use Ki and Mi",
        "0.5.10 human_readable_int",
    ),
    Rule(
        "ENG-008",
        "warn",
        "sglang_environment",
        lambda case: case.variable("SGL_FORCE_SHUTDOWN") not in (None, "0", "false"),
        "SGL_FORCE_SHUTDOWN makes the server cut its requests at a stop instead of finishing them",
        "remove SGL_FORCE_SHUTDOWN from sglang_environment",
        "tokenizer_manager.py sigterm_watchdog",
    ),
    # --- network and model
    Rule(
        "ENG-101",
        "warn",
        "sglang_host",
        lambda case: (
            not case.wish("secrets_present")
            and bool(case.wish("host"))
            and not _LOOPBACK.fullmatch(str(case.wish("host")))
        ),
        "the server listens on {case.wishes[sglang_host]} and asks nobody for an API key",
        "set sglang_api_key_file, or sglang_host: 127.0.0.1 behind a proxy",
        "utils/auth.py: without a key every endpoint is open",
    ),
    Rule(
        "ENG-102",
        "warn",
        "sglang_api_key_file",
        lambda case: (
            case.wish("secret_names") == ["admin-api-key"]
            and not _LOOPBACK.fullmatch(str(case.wish("host")))
        ),
        "only an admin key is set: requests and /server_info, which holds that key, stay open on "
        "{case.wishes[sglang_host]}",
        "set sglang_api_key_file too, or sglang_host: 127.0.0.1",
        "GHSA-4qvj-c8fp-873j",
    ),
    Rule(
        "ENG-103",
        "refuse",
        "sglang_admin_api_key_file",
        lambda case: (
            "admin-api-key" in (case.wish("secret_names") or []) and case.version < "0.5.8"
        ),
        "SGLang {case.version} has no admin key: it came with 0.5.8",
        "remove sglang_admin_api_key_file",
        "0.5.8 server_args.py --admin-api-key",
    ),
    Rule(
        "ENG-104",
        "refuse",
        "sglang_served_model_name",
        lambda case: ":" in str(case.wish("served_model_name") or ""),
        "the served name {case.wishes[sglang_served_model_name]} holds a colon, which the engine "
        "keeps for LoRA adapters",
        "choose a name without a colon",
        "server_args.py check_server_args",
    ),
    Rule(
        "ENG-105",
        "warn",
        "sglang_trust_remote_code",
        lambda case: (
            bool(case.wish("trust_remote_code"))
            and not str(case.wish("model_path") or "").startswith("/")
        ),
        "code of {case.wishes[sglang_model_path]} would be downloaded and run at every start",
        "use a local copy (sglang_model_path: /...), or sglang_trust_remote_code: false",
        "transformers dynamic modules",
    ),
    Rule(
        "ENG-106",
        "refuse",
        "sglang_model_path",
        lambda case: (
            bool(case.wish("offline")) and not str(case.wish("model_path") or "/").startswith("/")
        ),
        "{case.wishes[sglang_model_path]} is not a local folder, and the server is kept off line",
        "use a local copy, or sglang_offline: false",
        "HF_HUB_OFFLINE",
    ),
    Rule(
        "ENG-107",
        "refuse",
        "sglang_engine_version",
        lambda case: case.is_kimi_k25 and case.version < "0.5.9",
        "SGLang {case.version} cannot load Kimi-K2.5: its architecture came with 0.5.9",
        "set sglang_engine_version: 0.5.9 or later",
        "0.5.9 models/kimi_k25.py",
    ),
    Rule(
        "ENG-108",
        "refuse",
        "sglang_engine_version",
        lambda case: (
            case.cuda.startswith("13") and case.driver_major is not None and case.driver_major < 580
        ),
        "the engine is built for CUDA {case.cuda}, which needs driver 580 or later; "
        "{case.driver_major} is loaded",
        "update the driver, or install an engine for CUDA 12",
        "CUDA 13 release notes; wheels since 0.5.11 are built for CUDA 13",
    ),
    # --- collectives and parallelism
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
        "advise",
        "sglang_environment",
        lambda case: (
            case.variable("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") is not None
            and case.version < "0.5.21"
        ),
        "SGLang {case.version} does not read SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: it came with 0.5.21",
        "remove it from sglang_environment, or install 0.5.21 or later",
        "0.5.21 environ.py",
    ),
    # --- speculation
    Rule(
        "ENG-301",
        "refuse",
        "sglang_model_draft_path",
        _lacks_draft,
        "{case.algorithm} needs a draft model: without one this target would be loaded a second "
        "time as its own draft",
        "set sglang_model_draft_path",
        "arg_groups/speculative_hook.py _handle_eagle_family",
    ),
    Rule(
        "ENG-302",
        "refuse",
        "sglang_speculative_num_steps",
        lambda case: case.is_eagle and _given_numbers(case) in (1, 2),
        "{case.algorithm} takes all three numbers or none; some are missing",
        "set sglang_speculative_num_steps, sglang_speculative_eagle_topk and "
        "sglang_speculative_num_draft_tokens, or none of them",
        "speculative_hook.py: TypeError or AssertionError without a message",
    ),
    Rule(
        "ENG-303",
        "refuse",
        "sglang_speculative_eagle_topk",
        lambda case: (
            case.overlaps
            and case.number("speculative_eagle_topk") > 1
            and case.between("0.5.4", "0.5.11")
        ),
        "SGLang {case.version} overlaps speculation only with topk 1",
        "set sglang_speculative_eagle_topk: 1, or sglang_overlap_schedule: false",
        "0.5.9 server_args.py: Spec v2 currently only supports topk = 1",
    ),
    Rule(
        "ENG-304",
        "warn",
        "sglang_speculative_eagle_topk",
        lambda case: (
            case.overlaps
            and case.number("speculative_eagle_topk") > 1
            and case.between("0.5.11", "0.5.13")
        ),
        "with topk above 1 SGLang {case.version} speculates without overlap",
        "set sglang_speculative_eagle_topk: 1, or install 0.5.13 or later",
        "0.5.11 server_args.py: Spec v1 is used",
    ),
    Rule(
        "ENG-305",
        "advise",
        "sglang_speculative_num_draft_tokens",
        lambda case: (
            case.is_eagle
            and _given_numbers(case) == 3
            and case.number("speculative_eagle_topk") == 1
            and case.number("speculative_num_draft_tokens")
            != case.number("speculative_num_steps") + 1
        ),
        "with topk 1 the engine sets the draft tokens to steps + 1, whatever is asked",
        "make sglang_speculative_num_draft_tokens one more than sglang_speculative_num_steps",
        "speculative_hook.py: adjusted with a warning",
    ),
    Rule(
        "ENG-306",
        "refuse",
        "sglang_engine_version",
        lambda case: (
            case.is_kimi_k25 and case.algorithm == "EAGLE3" and case.between("0.5.9", "0.5.10")
        ),
        "SGLang {case.version} has no EAGLE-3 for Kimi-K2.5: it came with 0.5.10",
        "set sglang_engine_version: 0.5.10.post1 or later",
        "0.5.10 models/kimi_k25.py set_eagle3_layers_to_capture",
    ),
    Rule(
        "ENG-307",
        "refuse",
        "sglang_model_draft_path",
        lambda case: (
            bool(case.algorithm)
            and case.draft.get("architecture") == _MLA_DRAFT
            and case.version < "0.5.12"
        ),
        "SGLang {case.version} cannot load a draft with MLA attention: it came with 0.5.12",
        "choose a draft with a Llama architecture, or install 0.5.12.post1 or later",
        "0.5.12.post1 models/kimi_k25_eagle3.py",
    ),
    Rule(
        "ENG-308",
        "refuse",
        "sglang_pp_size",
        lambda case: case.algorithm not in ("", "EAGLE") and case.number("pp_size") > 1,
        "pipeline parallelism works with no speculation but EAGLE; {case.algorithm} is asked for",
        "set sglang_pp_size: 1, or remove sglang_speculative_algorithm",
        "arg_groups/validation_hook.py",
    ),
    Rule(
        "ENG-309",
        "warn",
        "sglang_environment",
        lambda case: (
            case.variable("SGLANG_ENABLE_SPEC_V2") is not None and case.version >= "0.5.14"
        ),
        "SGLang {case.version} does not read SGLANG_ENABLE_SPEC_V2 any more",
        "remove it from sglang_environment; sglang_overlap_schedule is what counts",
        "0.5.14 arg_groups/speculative_hook.py",
    ),
    Rule(
        "ENG-310",
        "advise",
        "sglang_engine_version",
        lambda case: (
            case.overlaps and case.algorithm == "EAGLE3" and case.between("0.5.4", "0.5.7")
        ),
        "SGLang {case.version} overlaps EAGLE but not EAGLE3",
        "install 0.5.7 or later for overlapped EAGLE-3",
        "0.5.4 server_args.py",
    ),
    Rule(
        "ENG-311",
        "refuse",
        "sglang_enable_dp_attention",
        lambda case: (
            case.algorithm in ("STANDALONE", "NGRAM") and bool(case.wish("enable_dp_attention"))
        ),
        "{case.algorithm} does not work with DP attention",
        "set sglang_enable_dp_attention: false, or another sglang_speculative_algorithm",
        "server_args.py _handle_speculative_decoding",
    ),
    Rule(
        "ENG-312",
        "warn",
        "sglang_speculative_draft_attention_backend",
        lambda case: (
            case.is_eagle
            and case.wish("attention_backend") == "trtllm_mla"
            and case.draft.get("attention") not in (None, "unknown", "mla")
            and not case.wish("speculative_draft_attention_backend")
        ),
        "the draft has no MLA attention but would inherit trtllm_mla from the target",
        "set sglang_speculative_draft_attention_backend, for example to triton",
        "the draft takes the target's backend unless one is given",
    ),
    # --- KV cache
    Rule(
        "ENG-401",
        "refuse",
        EXTRA,
        lambda case: case.has_hicache and case.argument("--disable-radix-cache") is not None,
        "HiCache extends the radix cache, which --disable-radix-cache turns off",
        "remove --disable-radix-cache from sglang_extra_args, or set sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py: mutually exclusive",
    ),
    Rule(
        "ENG-402",
        "refuse",
        EXTRA,
        lambda case: case.has_hicache and case.argument("--enable-lmcache") is not None,
        "HiCache and LMCache cannot both keep the KV cache",
        "remove --enable-lmcache from sglang_extra_args, or set sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-403",
        "warn",
        "sglang_hicache_io_backend",
        lambda case: (
            case.has_hicache
            and case.decode_backend == "fa3"
            and case.wish("hicache_io_backend") in (None, "kernel")
            and case.version < "0.5.14"
        ),
        "SGLang {case.version} cannot combine FA3 decoding with kernel I/O of HiCache and replaces "
        "one of them by itself",
        "set sglang_hicache_io_backend: direct, or install 0.5.14 or later",
        "0.5.13 server_args.py: FlashAttention3 decode backend is not compatible",
    ),
    Rule(
        "ENG-404",
        "refuse",
        "sglang_kv_cache_dtype",
        lambda case: case.has_hicache and "fp4" in case.kv_cache_dtype,
        "HiCache does not keep a KV cache of type {case.kv_cache_dtype}",
        "set sglang_kv_cache_dtype: fp8_e4m3 or auto, or sglang_hicache_mode: off",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-405",
        "warn",
        "sglang_kv_cache_dtype",
        lambda case: case.is_kimi_k25 and case.has_sm120 and case.kv_cache_dtype.startswith("fp8"),
        "with an fp8 KV cache the original Kimi-K2.5 checkpoint decodes at about a fifth of the "
        "speed on compute capability 12.x",
        "set sglang_kv_cache_dtype: auto",
        "operators' measurements: 16 tokens/s instead of 90",
    ),
    Rule(
        "ENG-406",
        "refuse",
        "sglang_hicache_host_memory_fraction",
        lambda case: (
            case.wish("hicache_host_memory_fraction") is not None
            and not 0 < float(case.wish("hicache_host_memory_fraction")) <= 1
        ),
        "sglang_hicache_host_memory_fraction must be above 0 and at most 1",
        "give the share of the free RAM, for example 0.8",
        "0.5.21 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-407",
        "advise",
        "sglang_hicache_mem_layout",
        lambda case: (
            case.has_hicache
            and (case.wish("hicache_mem_layout"), case.wish("hicache_io_backend"))
            in (("page_first", "direct"), ("page_first_direct", "kernel"))
        ),
        "layout {case.wishes[sglang_hicache_mem_layout]} does not go with I/O "
        "{case.wishes[sglang_hicache_io_backend]}; the engine uses page_first_direct and direct",
        "set page_first with kernel, or page_first_direct with direct",
        "arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-408",
        "refuse",
        "sglang_hicache_ratio",
        lambda case: (_ratio(case) or 2) <= 1 and case.version < "0.5.15",
        "SGLang {case.version} wants a host pool larger than the device pool",
        "set sglang_hicache_ratio above 1, or sglang_hicache_mode: off",
        "0.5.14 mem_cache: host memory should be larger than the device memory",
    ),
    Rule(
        "ENG-409",
        "warn",
        "sglang_hicache_ratio",
        lambda case: (_ratio(case) or 2) <= 1 and case.version >= "0.5.15",
        "a host pool no larger than the device pool adds no context: it holds copies of the same "
        "tokens",
        "set sglang_hicache_ratio above 1, or sglang_hicache_mode: off",
        "0.5.15 mem_cache/pool_host/base.py",
    ),
    Rule(
        "ENG-410",
        "refuse",
        "sglang_hicache_size_gb",
        lambda case: (
            (case.architecture or "").startswith("DeepseekV4")
            and case.argument("--hicache-size") is not None
            and case.version >= "0.5.12"
        ),
        "HiCache for DeepSeek-V4 takes a ratio, not a size",
        "set sglang_hicache_mode: ratio",
        "0.5.12.post1 mem_cache",
    ),
    Rule(
        "ENG-411",
        "refuse",
        EXTRA,
        lambda case: (
            case.argument("--hicache-host-memory-mode") == "buffer_only"
            and case.argument("--hicache-storage-backend") is None
        ),
        "a host pool that is only a buffer needs a storage backend behind it",
        "add --hicache-storage-backend to sglang_extra_args, or use the mode cache",
        "0.5.19 arg_groups/kv_cache_hook.py",
    ),
    Rule(
        "ENG-412",
        "refuse",
        "sglang_mem_fraction_static",
        lambda case: (
            case.wish("mem_fraction_static") is not None
            and not 0 < float(case.wish("mem_fraction_static")) < 1
        ),
        "sglang_mem_fraction_static is a share of the GPU memory between 0 and 1",
        "give a share, for example 0.87",
        "the pool is what is left of this share after the weights",
    ),
    # --- parsers and backends
    Rule(
        "ENG-501",
        "refuse",
        "sglang_reasoning_parser",
        lambda case: case.wish("reasoning_parser") == "kimi_k2" and case.version < "0.5.5",
        "the reasoning parser kimi_k2 came with 0.5.5; the older kimi reads another format",
        "set sglang_engine_version: 0.5.5.post3 or later",
        "0.5.5 parser/reasoning_parser.py",
    ),
    Rule(
        "ENG-502",
        "warn",
        "sglang_tool_call_parser",
        lambda case: (
            case.is_kimi_k25 and case.wish("tool_call_parser") not in (None, "kimi_k2", "auto")
        ),
        "Kimi-K2.5 writes tool calls in its own format, which "
        "{case.wishes[sglang_tool_call_parser]} leaves in the text",
        "set sglang_tool_call_parser: kimi_k2",
        "function_call parsers",
    ),
    Rule(
        "ENG-503",
        "warn",
        "sglang_reasoning_parser",
        lambda case: (
            case.is_kimi_k25 and case.wish("reasoning_parser") not in (None, "kimi_k2", "auto")
        ),
        "Kimi-K2.5's reasoning would stay in the answer with the parser "
        "{case.wishes[sglang_reasoning_parser]}",
        "set sglang_reasoning_parser: kimi_k2",
        "parser/reasoning_parser.py",
    ),
    Rule(
        "ENG-504",
        "warn",
        "sglang_attention_backend",
        lambda case: case.wish("attention_backend") == "trtllm_mla" and case.has_sm120,
        "trtllm_mla passes the engine's checks on compute capability 12.x but fails when it runs",
        "leave sglang_attention_backend unset: the engine takes triton",
        "sgl-project/sglang issues 24633 and 17880",
    ),
)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule judges, and what a rule is. Private to the collection."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._facts import devices
from .arguments import EXTRA, Argument, Finding, to_argv, value_of
from .environment import Environment, secret_names, unheard_variables, unread_names
from .flags import flags_of
from .releases import requirements_of, variable_span
from .version import Version

_KIMI_K25 = "KimiK25ForConditionalGeneration"
_EAGLE = ("EAGLE", "EAGLE3", "NEXTN")
_SECRET_FLAG = re.compile(r"password|secret|api-key|access-token")
_DECIMAL_COUNT = re.compile(r"\d+(?:\.\d+)?[kMGT]")
# The oldest driver that runs programs of a CUDA release.
_OLDEST_DRIVER = {"12": 525, "13": 580}


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
    def unread_names(self) -> str:
        """Variables in sglang_environment that only other versions read, with these versions."""
        return ", ".join(
            f"{name} ({_span(name)})" for name in unread_names(self.wishes, self.version)
        )

    @property
    def unheard(self) -> dict[str, str]:
        """Role variables that this version does not listen to, with what would carry them."""
        return unheard_variables(self.wishes, self.version)

    @property
    def unheard_first(self) -> str:
        return next(iter(self.unheard), "")

    @property
    def unheard_names(self) -> str:
        return ", ".join(
            f"{variable} needs {name} ({_span(name)})" for variable, name in self.unheard.items()
        )

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
    def attention(self) -> str | None:
        """How the model keeps keys and values: mla, gqa, swa or hybrid."""
        found = (self.facts.get("model") or {}).get("attention")
        return None if found == "unknown" else found

    @property
    def running_argv(self) -> list[str]:
        """The command line of the running server."""
        return (self.facts.get("server") or {}).get("argv") or []

    @property
    def draft(self) -> dict[str, Any]:
        return self.facts.get("draft") or {}

    @property
    def devices(self) -> list[dict[str, Any]]:
        return devices(self.facts)

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
    def prefill_backend(self) -> str | None:
        return self.argument("--prefill-attention-backend") or self.argument("--attention-backend")

    @property
    def decode_backend(self) -> str | None:
        return self.argument("--decode-attention-backend") or self.argument("--attention-backend")

    @property
    def nodes(self) -> int:
        return self.number("nnodes")

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
    def engine(self) -> dict[str, Any]:
        return self.facts.get("engine") or {}

    @property
    def cuda(self) -> str:
        """The CUDA release of the engine: of the installed one, else of the one to install."""
        wished = self.wish("engine_cuda") or requirements_of(self.version).get("cuda")
        return str(self.engine.get("cuda") or wished or "")

    @property
    def oldest_driver(self) -> int:
        """The oldest driver for that release, 0 when not known."""
        return _OLDEST_DRIVER.get(self.cuda.split(".", 1)[0], 0)

    @property
    def glibc(self) -> str | None:
        """The host's C library."""
        return self.engine.get("glibc")

    @property
    def oldest_glibc(self) -> str | None:
        """The oldest C library the engine runs with, by its packages, else by its version."""
        return self.engine.get("glibc_needed") or requirements_of(self.version).get("glibc")


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
            "variable": self.variable.format(case=case) if self.variable else None,
        }


def release(text: str | None) -> tuple[int, ...]:
    """Return "2.34" as (2, 34), to compare; () where nothing is told."""
    return tuple(int(part) for part in re.findall(r"\d+", text or ""))


def _span(name: str) -> str:
    first, last = variable_span(name) or ("", None)
    return f"read from {first} to {last}" if last else f"read from {first} on"


def _count(text: str | None) -> int | None:
    """Read a count, or None where there is none."""
    return int(text) if text and text.isdigit() else None


def _type_of(flag: str, version: Version) -> str | None:
    info = flags_of(version).resolve(flag)
    return info.type if info else None

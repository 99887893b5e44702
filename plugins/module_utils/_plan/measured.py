# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the running or last started server measured, and what has changed since.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._engine.pool_rules import pool_rules
from .._engine.version import Version
from .layout import SIZE_EXTRAS, SIZE_SWITCHES
from .setting import Setting, argv_value, extra_arguments, part

FRACTION = "sglang_mem_fraction_static"
CAP = "sglang_max_total_tokens"
KV_DTYPE = "sglang_kv_cache_dtype"
TP = "sglang_tp_size"
VERSION = "sglang_engine_version"
EXTRA = "sglang_extra_args"
DP_ATTENTION = "sglang_enable_dp_attention"
COMMAND_LINE = "the command line"
"""Stands for the flags of a start of which only the log is left."""

# Flags of the running command line that decide the size of the pool: their spellings, the
# variable that asks for them, and what the engine takes without them.
_SIZE_FLAGS: tuple[tuple[tuple[str, ...], str, str | None], ...] = (
    (("--tp-size", "--tensor-parallel-size", "--tp"), TP, "1"),
    (("--pp-size", "--pipeline-parallel-size", "--pp"), "sglang_pp_size", "1"),
    (("--dp-size", "--data-parallel-size", "--dp", "--attn-dp-size"), "sglang_dp_size", "1"),
    (("--kv-cache-dtype",), KV_DTYPE, "auto"),
    (("--mem-fraction-static",), FRACTION, None),
    (("--max-total-tokens",), CAP, None),
    (
        ("--speculative-draft-model-path", "--speculative-draft-model"),
        "sglang_model_draft_path",
        None,
    ),
    (("--model-path", "--model"), "sglang_model_path", None),
    (("--speculative-algorithm",), "sglang_speculative_algorithm", None),
    (("--dtype",), "sglang_dtype", "auto"),
    (("--quantization",), "sglang_quantization", None),
    (("--chunked-prefill-size",), "sglang_chunked_prefill_size", None),
)


def measured_tokens(facts: Mapping[str, Any]) -> int | None:
    """Tokens that the running or last started server reported, None when it did not."""
    startup = part(facts, "server", "startup")
    info = part(facts, "server", "info")
    found = startup.get("max_total_num_tokens") or info.get("max_total_num_tokens")
    return None if found is None else int(found)


def running_flag(facts: Mapping[str, Any], variable: str) -> str | None:
    """What the running command line gives for the flag of a variable, None when it does not."""
    names = next(names for names, name, _default in _SIZE_FLAGS if name == variable)
    return argv_value(part(facts, "server").get("argv") or [], names)


def changes(facts: Mapping[str, Any], wishes: Mapping[str, Any], setting: Setting) -> set[str]:
    """Variables that would change the size of the pool against the server that was measured.

    What is unknown of that server does not speak against the measurement.
    """
    changed = set()
    measured_by = part(facts, "server", "info").get("version")
    if measured_by and not _counts_alike(str(measured_by), setting):
        changed.add(VERSION)
    argv = part(facts, "server").get("argv")
    if not argv and part(facts, "server").get("active_state") not in (None, "active"):
        # The log of a start that ended tells a size, and nothing of the flags it was taken with.
        return changed | {COMMAND_LINE}
    if not argv:
        size = part(facts, "server", "info").get("tp_size")
        return changed | ({TP} if size not in (None, setting.parallel.tp) else set())
    for names, variable, default in _SIZE_FLAGS:
        running = argv_value(argv, names) or default
        wished = wishes.get(variable)
        wanted = str(wished) if wished not in (None, "") else default
        if not _same(running, wanted):
            changed.add(variable)
    if _other_extras(argv, wishes):
        changed.add(EXTRA)
    if setting.parallel.dp_attention != _shares_attention(argv):
        changed.add(DP_ATTENTION)
    return changed


def _shares_attention(argv: Sequence[str]) -> bool:
    """Whether a command line asks for data-parallel attention; since 0.5.22 by its own size."""
    return "--enable-dp-attention" in argv or argv_value(argv, ("--attn-dp-size",)) is not None


def _other_extras(argv: Sequence[str], wishes: Mapping[str, Any]) -> bool:
    """Whether flags without a variable of their own give the pools another size."""
    extra = extra_arguments(wishes)
    if any(extra.has(name) != (f"--{name}" in argv) for name in SIZE_SWITCHES):
        return True
    wished = {name: extra.value(name) for name in SIZE_EXTRAS}
    return not all(
        _same(argv_value(argv, (f"--{name}",)), None if value is None else str(value))
        for name, value in wished.items()
    )


def _counts_alike(version: str, setting: Setting) -> bool:
    """Whether another version gives the GPU's memory to the pool in the same way."""
    other, rules = pool_rules(Version.parse(version)), setting.rules
    return (other.draft_in_budget, other.multimodal_reservation) == (
        rules.draft_in_budget,
        rules.multimodal_reservation,
    )


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one == other
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other

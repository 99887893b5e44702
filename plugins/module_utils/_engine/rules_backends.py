# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers and attention backends. Private to the collection."""

from __future__ import annotations

from .case import Case, Rule

_FLASH_ATTENTION_3 = ("8.0", "8.6", "8.7", "8.9", "9.0")


def _backends(case: Case) -> tuple[str | None, str | None]:
    return case.prefill_backend, case.decode_backend


RULES: tuple[Rule, ...] = (
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
        lambda case: "trtllm_mla" in _backends(case) and case.has_sm120,
        "trtllm_mla passes the engine's checks on compute capability 12.x but fails when it runs",
        "leave sglang_attention_backend unset: the engine takes triton",
        "sgl-project/sglang issues 24633 and 17880",
    ),
    Rule(
        "ENG-505",
        "refuse",
        "sglang_attention_backend",
        lambda case: (
            "fa3" in _backends(case)
            and any(
                str(device.get("compute_capability") or "8.0") not in _FLASH_ATTENTION_3
                for device in case.devices
            )
        ),
        "FlashAttention 3 runs on compute capability 8.x and 9.0, not on {case.capabilities}",
        "leave the attention backend to the engine, or choose triton or flashinfer",
        "attention registry: FlashAttention v3 requires SM 80 to 90",
    ),
)

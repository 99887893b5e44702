# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speculative decoding. Private to the collection."""

from __future__ import annotations

import re

from .case import Case, Rule

_MLA_DRAFT = "Eagle3DeepseekV2ForCausalLM"
# Targets whose own checkpoint holds the draft layers, so that the engine needs no draft path.
_WITH_OWN_DRAFT = re.compile(
    r"DeepseekV(?:3|32|4)|Glm4Moe|GlmMoeDsa|Bailing|MistralLarge3|Pixtral|HYV[34]|Qwen4Exp"
)
_NUMBERS = (
    "sglang_speculative_num_steps",
    "sglang_speculative_eagle_topk",
    "sglang_speculative_num_draft_tokens",
)
_OVERLAPPED_SINCE = {"EAGLE3": "0.5.7", "STANDALONE": "0.5.8"}
_TREE_BACKENDS = (None, "flashinfer", "fa3", "triton")


def _given_numbers(case: Case) -> int:
    return sum(case.wishes.get(name) is not None for name in _NUMBERS)


def _lacks_draft(case: Case) -> bool:
    if case.wish("model_draft_path") or _WITH_OWN_DRAFT.match(case.architecture or ""):
        return False
    # EAGLE and NEXTN may mean a draft inside a checkpoint whose architecture is not known here.
    return case.algorithm in ("EAGLE3", "STANDALONE") or (
        case.is_eagle and case.architecture is not None
    )


def _drafts_a_tree(case: Case) -> bool:
    return case.is_eagle and case.number("speculative_eagle_topk") > 1


RULES: tuple[Rule, ...] = (
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
        "ENG-310",
        "advise",
        "sglang_engine_version",
        lambda case: (
            case.overlaps
            and case.version < _OVERLAPPED_SINCE.get(case.algorithm, "0")
            and case.version >= "0.5.4"
        ),
        "SGLang {case.version} does not overlap {case.algorithm} with the scheduler's work",
        "install 0.5.7 or later for overlapped EAGLE-3, 0.5.8 or later for STANDALONE",
        "0.5.4 to 0.5.8 server_args.py",
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
    Rule(
        "ENG-313",
        "refuse",
        "sglang_attention_backend",
        lambda case: (
            _drafts_a_tree(case) and "trtllm_mha" in (case.prefill_backend, case.decode_backend)
        ),
        "trtllm_mha does not verify drafts with topk above 1",
        "set sglang_speculative_eagle_topk: 1, or another sglang_attention_backend",
        "arg_groups/speculative_hook.py",
    ),
    Rule(
        "ENG-314",
        "refuse",
        "sglang_page_size",
        lambda case: (
            _drafts_a_tree(case)
            and case.number("page_size") > 1
            and case.decode_backend not in (*_TREE_BACKENDS, "trtllm_mha")
        ),
        "with pages of {case.wishes[sglang_page_size]} tokens only flashinfer, fa3 and triton "
        "verify drafts with topk above 1",
        "set sglang_speculative_eagle_topk: 1, or sglang_page_size: 1",
        "arg_groups/speculative_hook.py",
    ),
    Rule(
        "ENG-315",
        "advise",
        "sglang_max_running_requests",
        lambda case: case.is_eagle and case.wish("max_running_requests") is None,
        "with {case.algorithm} the engine runs at most 48 requests at a time unless told otherwise",
        "set sglang_max_running_requests to what fits the KV pools",
        "arg_groups/speculative_hook.py _handle_eagle_family",
    ),
    Rule(
        "ENG-316",
        "refuse",
        "sglang_pp_size",
        lambda case: (
            case.is_eagle
            and case.argument("--enable-multi-layer-eagle") is not None
            and case.number("pp_size") > 1
        ),
        "pipeline parallelism does not work with a draft of several layers",
        "set sglang_pp_size: 1, or remove --enable-multi-layer-eagle from sglang_extra_args",
        "arg_groups/validation_hook.py",
    ),
    Rule(
        "ENG-317",
        "advise",
        "sglang_hicache_mode",
        lambda case: case.has_hicache and case.is_eagle and case.version < "0.5.11",
        "SGLang {case.version} keeps no copy of the draft's KV in RAM: after a prefix came back "
        "from there, fewer of its tokens are accepted",
        "install 0.5.11 or later",
        "0.5.11 mem_cache: draft KV registered",
    ),
)

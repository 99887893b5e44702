# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Address, model, driver and C library. Private to the collection."""

from __future__ import annotations

import re

from .case import Case, Rule, release

_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
_QUIET_LEVELS = ("warning", "error", "critical")


def _has_old_glibc(case: Case) -> bool:
    found, needed = release(case.glibc), release(case.oldest_glibc)
    return bool(found) and bool(needed) and found < needed


RULES: tuple[Rule, ...] = (
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
        "sglang_engine_cuda",
        lambda case: case.driver_major is not None and case.driver_major < case.oldest_driver,
        "an engine for CUDA {case.cuda} needs driver {case.oldest_driver} or later; "
        "{case.driver_major} is loaded",
        "update the driver, or install an engine for an older CUDA (sglang_engine_cuda)",
        "CUDA release notes; wheels since 0.5.11 are built for CUDA 13",
    ),
    Rule(
        "ENG-109",
        "refuse",
        "sglang_engine_version",
        _has_old_glibc,
        "SGLang {case.version} needs glibc {case.oldest_glibc} or later; this host has "
        "{case.glibc}",
        "update the operating system, or set sglang_engine_version: 0.5.10.post1 or earlier",
        "platform tag of the wheel: manylinux_2_34 since 0.5.11",
    ),
    Rule(
        "ENG-110",
        "warn",
        "sglang_log_level",
        lambda case: str(case.wish("log_level") or "").lower() in _QUIET_LEVELS,
        "log level {case.wishes[sglang_log_level]} hides the lines that tell the size of the pools "
        "and whether the server is ready",
        "set sglang_log_level: info",
        "the engine logs its pools at level info",
    ),
    Rule(
        "ENG-111",
        "advise",
        "sglang_log_requests_level",
        lambda case: (
            bool(case.wish("log_requests")) and case.number("log_requests_level", default=2) >= 2
        ),
        "prompts and answers are written to the journal, where they stay as long as it does",
        "set sglang_log_requests_level: 1 for their sizes and times alone",
        "--log-requests-level: from 2 on with input and output",
    ),
)

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags, variables of the environment, and secrets. Private to the collection."""

from __future__ import annotations

from .arguments import EXTRA
from .case import Case, Rule
from .environment import secret_names
from .version import KNOWN


def _joined_config(case: Case) -> bool:
    """Whether an extra argument names the file of --config in the same word."""
    return any(
        str(name).lstrip("-").startswith("config=") for name in case.wish("extra_args") or {}
    )


RULES: tuple[Rule, ...] = (
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
    Rule(
        "ENG-009",
        "warn",
        "sglang_environment",
        lambda case: bool(case.unread_names),
        "SGLang {case.version} does not read {case.unread_names}",
        "remove it from sglang_environment, or install a version that reads it",
        "environ.py of each version",
    ),
    Rule(
        "ENG-010",
        "warn",
        "{case.unheard_first}",
        lambda case: bool(case.unheard),
        "nothing listens to these variables in SGLang {case.version}: {case.unheard_names}",
        "remove {case.unheard_first}, or install a version that reads it",
        "environ.py of each version",
    ),
    Rule(
        "ENG-011",
        "refuse",
        EXTRA,
        _joined_config,
        "--config=FILE in one word is accepted by the engine and ignored without a message",
        "give the settings of that file as variables of this role or in sglang_extra_args",
        "server_args_config_parser.py looks for the word --config",
    ),
    Rule(
        "ENG-012",
        "warn",
        None,
        lambda case: any(word.startswith("--config=") for word in case.running_argv),
        "the running server was started with --config=FILE in one word, so it ignored that file",
        "check what of it is meant, give it as variables, and deploy",
        "server_args_config_parser.py looks for the word --config",
    ),
)

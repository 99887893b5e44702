# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of all roles of this collection, checked and typed by the roles' own specs.

This plugin util is private to the collection and runs on the controller.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult
from ansible_collections.llmops.sglang.plugins.module_utils._engine import profile
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import Redactor

_PREFIX = "sglang_"
_ROLES = Path(__file__).resolve().parents[2] / "roles"

# What the playbooks read besides the roles.
_PLAYBOOK_OPTIONS = {
    "sglang_hosts": {"type": "str"},
    "sglang_serial": {"type": "raw"},
    "sglang_recording": {"type": "path"},
    "sglang_plan_dest": {"type": "path"},
    "sglang_report_dest": {"type": "path"},
    "sglang_bundle_dest": {"type": "path"},
}
_MUTUALLY_EXCLUSIVE = [
    ("sglang_hicache_ratio", "sglang_hicache_size_gb"),
    ("sglang_api_key", "sglang_api_key_file"),
    ("sglang_admin_api_key", "sglang_admin_api_key_file"),
    ("sglang_model_rsync", "sglang_model_hub"),
    ("sglang_model_draft_rsync", "sglang_model_draft_hub"),
]
_REQUIRED_IF = [
    ("sglang_hicache_mode", "ratio", ("sglang_hicache_ratio",)),
    ("sglang_hicache_mode", "size", ("sglang_hicache_size_gb",)),
]
_NOT_CHECKED = ("default", "required", "description")
_TEXT = ("str", "path", "raw")


@cache
def role_options() -> dict[str, dict[str, Any]]:
    """Every option of every role of this collection, as the roles themselves describe them."""
    options: dict[str, dict[str, Any]] = dict(_PLAYBOOK_OPTIONS)
    for spec in sorted(_ROLES.glob("*/meta/argument_specs.yml")):
        for name, option in _options(spec).items():
            # Required by one role and given a default by another is not required of the user.
            options[name] = {key: option[key] for key in option if key not in _NOT_CHECKED}
    return options


def _options(spec: Path) -> dict[str, dict[str, Any]]:
    entry = yaml.safe_load(spec.read_text(encoding="utf-8"))["argument_specs"]["main"]
    found: dict[str, dict[str, Any]] = entry["options"]
    return found


@cache
def _server_defaults() -> dict[str, Any]:
    """The defaults of the role sglang, null where there is none."""
    options = _options(_ROLES / "sglang" / "meta" / "argument_specs.yml")
    return {name: option.get("default") for name, option in options.items()}


def with_profile(variables: dict[str, Any], given: Iterable[str] = ()) -> dict[str, Any]:
    """The variables with those of `sglang_profile` below what somebody set.

    `given` names what the inventory or the command line sets, whatever the value.

    Raises LookupError when there is no such profile.
    """
    return profile.with_profile(variables, given, _server_defaults())


def problems_of(variables: dict[str, Any]) -> list[str]:
    """One sentence per wrong variable: unknown name, wrong type or choice, two that exclude."""
    options = role_options()
    own = set(variables.get("sglang_extra_variables") or [])
    strangers = sorted(set(variables) - set(options) - own)
    return [*(_unknown(name) for name in strangers), *_checked(variables).error_messages]


def typed(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables with the types of their specs: `-e sglang_tp_size=8` gives text.

    Empty text, where no text is wanted, is null.

    Raises ValueError with every problem.
    """
    checked = _checked(variables)
    if checked.error_messages:
        raise ValueError("\n".join(checked.error_messages))
    options = role_options()
    empty = {
        name: None
        for name, value in variables.items()
        if value == "" and options.get(name, {}).get("type", "str") not in _TEXT
    }
    given = {name: checked.validated_parameters[name] for name in _given(variables)}
    return {**variables, **given, **empty}


def shareable(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables that a recording of a host has: those of the roles, without secrets."""
    given = {name: value for name, value in variables.items() if value is not None}
    cleaned: dict[str, Any] = Redactor().data(given)
    return {name: cleaned[name] for name in sorted(cleaned) if _refusal(name) is None}


def recorded(text: str) -> tuple[dict[str, Any], list[str]]:
    """The variables in a recording's C(vars.yml), and a sentence for each that is not taken.

    Raises ValueError when it is no mapping.
    """
    try:
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"vars.yml of the recording: {error}") from error
    if not isinstance(values, dict):
        raise ValueError("vars.yml of the recording: not a mapping of variables to values")
    refused = {str(name): _refusal(str(name)) for name in values}
    taken = {name: value for name, value in values.items() if refused[str(name)] is None}
    return taken, [f"{name} is ignored: {reason}" for name, reason in refused.items() if reason]


def _refusal(name: str) -> str | None:
    """Why a variable is not part of a recording; None when it is."""
    option = role_options().get(name)
    if option is None:
        return "no role of this collection has this variable"
    if name in _PLAYBOOK_OPTIONS:
        return "it is for one run, not for a host"
    return "it is a secret" if option.get("no_log") else None


def _checked(variables: dict[str, Any]) -> ValidationResult:
    return ArgumentSpecValidator(
        role_options(),
        mutually_exclusive=_MUTUALLY_EXCLUSIVE,
        required_if=[[key, value, list(names)] for key, value, names in _REQUIRED_IF],
    ).validate(_given(variables))


def _given(variables: dict[str, Any]) -> dict[str, Any]:
    """Null means "not given", so it takes part in no check."""
    known = role_options()
    return {name: variables[name] for name in known if variables.get(name) not in (None, "")}


def _unknown(name: str) -> str:
    # Without the prefix, which all have in common and which would make all of them look alike.
    known = {option[len(_PREFIX) :]: option for option in role_options()}
    near = difflib.get_close_matches(name[len(_PREFIX) :], known, n=1, cutoff=0.75)
    hint = f"did you mean {known[near[0]]}?" if near else "list your own in sglang_extra_variables"
    return f"{name}: no role of this collection has this variable; {hint}"

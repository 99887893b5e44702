# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bad variable is named before anything is touched; a good set of variables passes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.filter.variables import FilterModule
from ansible_collections.llmops.sglang.plugins.plugin_utils._variables import (
    _ROLES,
    problems_of,
    typed,
    with_profile,
)


def defaults() -> dict[str, Any]:
    """What a play sees when the user sets nothing but what is required."""
    values: dict[str, Any] = {}
    for path in sorted(_ROLES.glob("*/defaults/main.yml")):
        values.update(yaml.safe_load(path.read_text(encoding="utf-8")))
    return {**values, "sglang_model_path": "/models/m"}


def test_the_roles_own_defaults_are_fine() -> None:
    assert problems_of(defaults()) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sglang_tp_sise": 2}, "sglang_tp_sise: no role of this collection has this variable"),
        ({"sglang_tp_sise": 2}, "did you mean sglang_tp_size?"),
        ({"sglang_colour": 2}, "list your own in sglang_extra_variables"),
        ({"sglang_tp_size": "two"}, "sglang_tp_size"),
        ({"sglang_hicache_mode": "often"}, "sglang_hicache_mode"),
        ({"sglang_hicache_mode": "ratio"}, "sglang_hicache_ratio"),
        ({"sglang_hicache_mode": "size"}, "sglang_hicache_size_gb"),
        ({"sglang_hicache_ratio": 2, "sglang_hicache_size_gb": 3}, "mutually exclusive"),
        ({"sglang_extra_args": "--tp 2"}, "sglang_extra_args"),
        ({"sglang_profile": "kimi"}, "kimi-k2.5-rtx-pro-6000-x8"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], said: str) -> None:
    assert said in "\n".join(problems_of({**defaults(), **changes}))


def test_every_problem_is_told_at_once() -> None:
    bad = {"sglang_tp_size": "two", "sglang_port": "high", "sglang_tp_sise": 2}
    text = "\n".join(problems_of({**defaults(), **bad}))
    assert all(name in text for name in bad)


def test_ones_own_variables_can_be_declared() -> None:
    own = {"sglang_colour": 2, "sglang_extra_variables": ["sglang_colour"]}
    assert problems_of({**defaults(), **own}) == []


def test_text_of_the_command_line_gets_its_type() -> None:
    given = {"sglang_tp_size": "8", "sglang_rollback": "false", "sglang_mem_fraction_static": "0.9"}
    given["sglang_page_size"] = ""
    values = typed({**defaults(), **given, "sglang_secrets_present": True})
    assert values["sglang_page_size"] is None
    assert values["sglang_model_draft_path"] == ""
    assert values["sglang_tp_size"] == 8
    assert values["sglang_rollback"] is False
    assert values["sglang_mem_fraction_static"] == 0.9
    assert values["sglang_context_length"] is None
    assert values["sglang_secrets_present"] is True


def test_text_that_has_no_such_type_is_refused() -> None:
    with pytest.raises(ValueError, match="sglang_tp_size"):
        typed({**defaults(), "sglang_tp_size": "two"})


def test_a_profile_comes_in_place_of_the_roles_defaults_alone() -> None:
    variables = {**defaults(), "sglang_profile": "qwen3-8b-x1", "sglang_max_running_requests": 8}
    values = with_profile(variables, ["sglang_reasoning_parser"])
    assert values["sglang_tool_call_parser"] == "qwen25"
    # Set by a play, which no inventory tells of; and named by the inventory, as null.
    assert values["sglang_max_running_requests"] == 8
    assert values["sglang_reasoning_parser"] is None
    assert problems_of(values) == []


def test_what_only_the_profile_sets_is_there_without_the_roles_defaults() -> None:
    values = with_profile({"sglang_profile": "qwen3-8b-x1"})
    assert values["sglang_mem_fraction_static"] == 0.85


def test_the_filter_tells_which_profiles_there_are() -> None:
    over_profile = FilterModule().filters()["with_profile"]
    assert over_profile({"sglang_tp_size": 2}) == {"sglang_tp_size": 2}
    with pytest.raises(AnsibleFilterError, match=r"there is no kimi, but deepseek-v3\.2-h200-x8"):
        over_profile({"sglang_profile": "kimi"})

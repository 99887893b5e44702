# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bad variable is named before anything is touched; a good set of variables passes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.action.validate import (
    _ROLES,
    problems_of,
    role_options,
)


def defaults() -> dict[str, Any]:
    """What a play sees when the user sets nothing but what is required."""
    values: dict[str, Any] = {}
    for path in sorted(_ROLES.glob("*/defaults/main.yml")):
        values.update(yaml.safe_load(path.read_text(encoding="utf-8")))
    return {**values, "sglang_model_path": "/models/m"}


def test_the_roles_own_defaults_are_fine() -> None:
    assert problems_of(defaults(), role_options()) == []


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
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], said: str) -> None:
    assert said in "\n".join(problems_of({**defaults(), **changes}, role_options()))


def test_every_problem_is_told_at_once() -> None:
    bad = {"sglang_tp_size": "two", "sglang_port": "high", "sglang_tp_sise": 2}
    text = "\n".join(problems_of({**defaults(), **bad}, role_options()))
    assert all(name in text for name in bad)


def test_ones_own_variables_can_be_declared() -> None:
    own = {"sglang_colour": 2, "sglang_extra_variables": ["sglang_colour"]}
    assert problems_of({**defaults(), **own}, role_options()) == []

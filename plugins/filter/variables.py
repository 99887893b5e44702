# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role variables on their way into a recorded host and out of it, and over their profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.plugin_utils._variables import (
    recorded,
    shareable,
    with_profile,
)


class FilterModule:
    """The filters `shareable_variables`, `recorded_variables` and `with_profile`."""

    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """Names to functions."""
        return {
            "shareable_variables": shareable,
            "recorded_variables": _recorded,
            "with_profile": _with_profile,
        }


def _recorded(text: str) -> dict[str, Any]:
    """The variables of a recording; a warning says which of them are ignored."""
    try:
        variables, ignored = recorded(text)
    except ValueError as error:
        raise AnsibleFilterError(f"llmops.sglang.recorded_variables: {error}") from error
    for sentence in ignored:
        Display().warning(f"vars.yml of the recording: {sentence}")
    return variables


def _with_profile(variables: dict[str, Any], given: Iterable[str] = ()) -> dict[str, Any]:
    """The variables with those of their profile below what somebody set."""
    try:
        return with_profile(variables, given)
    except LookupError as error:
        raise AnsibleFilterError(f"llmops.sglang.with_profile: {error.args[0]}") from error

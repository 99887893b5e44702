# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router's unit, its own address, and its workers, from the variables of its role."""

from __future__ import annotations

from typing import Any, Callable

from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.module_utils._route.unit import (
    own_url,
    router_unit,
    worker_list,
)
from ansible_collections.llmops.sglang.plugins.module_utils._route.worker import RouteError


def _told(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function with its errors as Ansible shows them to a person."""

    def call(value: Any) -> Any:
        try:
            return function(value)
        except (RouteError, KeyError, TypeError, ValueError) as error:
            raise AnsibleFilterError(f"llmops.sglang.{name}: {error}") from error

    return call


class FilterModule:
    """Ansible looks for this name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters of this file."""
        functions: dict[str, Callable[[Any], Any]] = {
            "router_unit": router_unit,
            "router_url": own_url,
            "router_worker_list": worker_list,
        }
        return {name: _told(name, function) for name, function in functions.items()}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter llmops.sglang.engine_nodes: where the hosts of one engine meet."""

from __future__ import annotations

from typing import Any, Callable

from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.module_utils._plan.nodes import NodesError, meet


def engine_nodes(facts: Any, port: Any, network: str = "") -> dict[str, dict[str, Any]]:
    """Return the role variables of each host."""
    try:
        return meet(facts, int(port), network)
    except (NodesError, TypeError, AttributeError) as error:
        raise AnsibleFilterError(f"llmops.sglang.engine_nodes: {error}") from error


class FilterModule:
    """Ansible looks for this name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters of this file."""
        return {"engine_nodes": engine_nodes}

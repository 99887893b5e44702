# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine would refuse late, do silently, or never say: rules, as data.

Private to the collection. `refuse` means that the server would not start, or would cut or leak
something; `warn` that it starts and disappoints; `advise` that there is something to know.

Ids are stable. Hundreds group them: 0 flags and secrets, 1 host and model, 2 collectives and
parallelism, 3 speculation, 4 KV cache, 5 parsers and backends, each in a file of its own. `text`
and `remedy` are format strings over the `Case`; a condition sees only what is known and never
raises on what is not. `docs/rules.md` lists them; `tools/list_rules.py` writes it.
"""

from __future__ import annotations

from typing import Any

from . import (
    rules_backends,
    rules_cache,
    rules_flags,
    rules_host,
    rules_parallel,
    rules_speculation,
)
from .arguments import Argument, Finding
from .case import Case, Rule
from .environment import Environment
from .version import Version

RULES: tuple[Rule, ...] = (
    *rules_flags.RULES,
    *rules_host.RULES,
    *rules_parallel.RULES,
    *rules_speculation.RULES,
    *rules_cache.RULES,
    *rules_backends.RULES,
)


def check_rules(
    wishes: dict[str, Any],
    arguments: list[Argument],
    environment: Environment,
    facts: dict[str, Any],
    version: Version,
) -> list[Finding]:
    """Return what the rules have to say, in the order of their ids."""
    case = Case(wishes, arguments, environment, facts, version)
    return [rule.finding(case) for rule in RULES if rule.fires(case)]

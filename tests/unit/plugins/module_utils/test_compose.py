# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole plan in one call: its parts agree with each other, and no secret is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.module_utils._plan.choice import (
    KEPT_BUT_NOT_CERTAIN,
)
from ansible_collections.llmops.sglang.plugins.module_utils._plan.compose import (
    FINGERPRINT_VARIABLE,
    compose_plan,
    refusals,
)
from ansible_collections.llmops.sglang.plugins.module_utils._plan.fingerprint import (
    tier_fingerprint,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    facts_of,
)

HEADLINE = {
    "engine_path": "/opt/sglang/engine",
    "tp_size": 8,
    "mem_fraction_static": 0.87,
    "model_path": "/srv/models/Kimi-K2.5",
    "model_draft_path": "/srv/models/kimi-eagle3",
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "trust_remote_code": True,
}


ROLE = Path(__file__).resolve().parents[4] / "roles" / "sglang"
DEFAULTS = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))


def wishes(**changes: Any) -> dict[str, Any]:
    """The role's own defaults, with what the headline and a test change."""
    given = {f"sglang_{name}": value for name, value in {**HEADLINE, **changes}.items()}
    return {"sglang_secrets_present": False, **DEFAULTS, **given}


def plan_of(**changes: Any) -> dict[str, Any]:
    return compose_plan(facts_of("headline"), wishes(**changes))


def value_of(plan: dict[str, Any], flag: str) -> list[str]:
    return next(entry["values"] for entry in plan["arguments"] if entry["flag"] == flag)


def test_the_question_is_answered_on_the_recorded_host() -> None:
    plan = plan_of()
    assert refusals(plan) == []
    assert plan["capacity"]["device"]["tokens"] == 159_300
    assert plan["capacity"]["tokens"]["in_reach"] == 696_141
    assert value_of(plan, "--hicache-ratio") == ["4.37"]


def test_command_line_unit_and_environment_are_those_of_one_plan() -> None:
    plan = plan_of()
    service = dict(dict(plan["sections"])["Service"])
    assert service["ExecStart"] == plan["argv"]
    assert service["Environment"] == plan["environment"]
    assert plan["environment"][FINGERPRINT_VARIABLE] == plan["fingerprint"]
    flags = [word for entry in plan["arguments"] for word in (entry["flag"], *entry["values"])]
    assert plan["argv"][3:] == flags


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "::1", "192.0.2.7"])
def test_the_host_reaches_its_own_server(host: str) -> None:
    known = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}
    assert plan_of(host=host, port=30123)["url"] == f"http://{known.get(host, host)}:30123"


def test_the_fingerprint_tells_engine_model_and_draft_apart() -> None:
    facts = facts_of("headline")
    first = compose_plan(facts, wishes())["fingerprint"].split(":")
    other = compose_plan(facts, wishes(engine_path="/opt/other"))
    facts["draft"]["fingerprint"] = "0" * 16
    third = compose_plan(facts, wishes())
    assert [a == b for a, b in zip(first, other["fingerprint"].split(":"))] == [False, True, True]
    assert [a == b for a, b in zip(first, third["fingerprint"].split(":"))] == [True, True, False]


def test_no_secret_of_the_host_gets_into_a_plan() -> None:
    assert "sk-planted" not in json.dumps(plan_of(secrets_present=True))


def test_a_pool_kept_only_because_it_runs_is_not_chosen_for_a_new_process() -> None:
    facts = facts_of("headline")
    first = compose_plan(facts, wishes())
    facts["server"]["argv"] = first["argv"]
    facts["server"]["tier_fingerprint"] = tier_fingerprint(wishes())
    facts["memory"]["available_bytes"] -= 10 * 2**30
    same = compose_plan(facts, wishes())
    assert same["argv"] == first["argv"]
    assert KEPT_BUT_NOT_CERTAIN in [finding["id"] for finding in same["findings"]]
    other = compose_plan(facts, wishes(decode_log_interval=20))
    assert float(value_of(other, "--hicache-ratio")[0]) < 4.37
    assert other["capacity"]["host"]["certainty"] == "certain"

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles fit their model, their hardware and every version they name, and are overridden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.module_utils._engine.arguments import (
    MANAGED,
    build_arguments,
    to_argv,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.flags import flags_of
from ansible_collections.llmops.sglang.plugins.module_utils._engine.profile import (
    profile,
    profile_findings,
    profile_names,
    profile_values,
    with_profile,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import KNOWN, Version
from ansible_collections.llmops.sglang.plugins.module_utils._plan.compose import (
    compose_plan,
    refusals,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.engine_case import (
    capacity,
    wishes,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import host

ROOT = Path(__file__).resolve().parents[4]
HEADLINE = "kimi-k2.5-rtx-pro-6000-x8"
NAMES = profile_names()
DEFAULTS = wishes(hicache_mode="auto", served_model_name="")

# What a plan needs to know of a model and a profile need not assume.
GEOMETRY: dict[str, dict[str, Any]] = {
    "deepseek-v3.2-h200-x8": {"index_layers": 61, "weights_bytes": 690 * 10**9},
    "glm-5-fp8-h200-x8": {"index_layers": 78, "weights_bytes": 755 * 10**9},
    "gpt-oss-120b-h200": {"layer_kinds": "sf" * 18, "weights_bytes": 65 * 10**9},
    "kimi-k2.5-h200-x8": {"weights_bytes": 547 * 10**9},
    HEADLINE: {"weights_bytes": 547 * 10**9},
    "llama-3.3-70b-x4": {"weights_bytes": 141 * 10**9},
    "qwen3-8b-x1": {"weights_bytes": 16 * 10**9},
    "qwen3.5-397b-h200-x8": {
        "layer_kinds": "rrrf" * 15,
        "state_elements": 64 * 128 * 128,
        "state_conv_elements": 3 * 8192,
        "state_groups": 16,
        "state_group_elements": 3 * 256,
        "weights_bytes": 807 * 10**9,
    },
}


def facts(name: str, version: str = "0.5.23") -> dict[str, Any]:
    """The host that a profile is for, with nothing running on it yet."""
    assumed = profile(name)
    hardware, model = assumed["hardware"], assumed["model"]
    found = host(
        version,
        tokens=None,
        available_gib=900,
        model={**model, **GEOMETRY[name]},
        draft={"attention": "gqa", "layers": 1, "heads": 64, "kv_heads": 64, "head_dim": 128},
        gpus=hardware["gpus"],
        gpu_mib=(hardware["gpu_memory_gib"] + 1) * 1024,
        running=False,
    )
    for device in found["gpu"]["devices"]:
        device["compute_capability"] = hardware["compute_capability"][0]
    found["gpu"]["topology"] = next(iter(hardware["links"]), None)
    return found


def asked(name: str, **changes: Any) -> dict[str, Any]:
    """The variables of a host with a profile, and what it must be given besides."""
    needs = {needed: f"/srv/{needed}" for needed in profile(name)["needs"]}
    given = {f"sglang_{key}": value for key, value in changes.items()}
    return with_profile({**DEFAULTS, **needs, **given, "sglang_profile": name}, given, DEFAULTS)


def versions(name: str) -> list[str]:
    since = profile(name)["versions"]["since"]
    return [text for text in KNOWN if Version.parse(text) >= since]


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_says_what_it_assumes_and_why(name: str) -> None:
    found = profile(name)
    assert found["name"] == name
    assert set(found) == {
        *("name", "title", "versions", "model", "hardware", "needs", "variables"),
        *("measured", "not_measured"),
    }
    assert found["versions"]["since"] in KNOWN
    assert found["measured"]
    assert found["not_measured"]
    # Only what the plan renders: a role that uses a variable by itself does not see a profile.
    rendered = {managed.variable for managed in MANAGED} | {"sglang_mem_fraction_static"}
    assert set(found["variables"]) <= rendered
    for entry in found["variables"].values():
        assert set(entry) == {"value", "reason", "source"}
        assert len(entry["reason"]) > 10
        assert entry["source"]


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_fires_no_refusal_on_any_version_it_names(name: str) -> None:
    for version in versions(name):
        plan = compose_plan(facts(name, version), asked(name))
        assert refusals(plan) == []
        assert not [f for f in plan["findings"] if f["id"].startswith("PRO-")]
        assert plan["capacity"]["device"]["tokens"] > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("plan", [capacity("off"), capacity("ratio", ratio=2.0)], ids=["off", "on"])
def test_every_version_it_names_accepts_its_arguments(name: str, plan: dict[str, Any]) -> None:
    for text in versions(name):
        version = Version.parse(text)
        arguments, findings = build_arguments(asked(name), plan, facts(name, text), version)
        assert findings == []
        assert flags_of(version).accepts(to_argv(arguments)) == []


def test_what_is_set_wins_variable_by_variable() -> None:
    values = asked(HEADLINE, tp_size=4, kv_cache_dtype="fp8_e4m3")
    assert (values["sglang_tp_size"], values["sglang_kv_cache_dtype"]) == (4, "fp8_e4m3")
    assert values["sglang_mem_fraction_static"] == 0.87
    # Also where it is set to what the role would have taken anyway.
    assert asked(HEADLINE, tp_size=1)["sglang_tp_size"] == 1
    assert asked(HEADLINE, speculative_algorithm=None)["sglang_speculative_algorithm"] is None


def test_what_a_play_sets_wins_although_no_inventory_names_it() -> None:
    variables = {**DEFAULTS, "sglang_profile": HEADLINE, "sglang_tp_size": 4}
    values = with_profile(variables, [], DEFAULTS)
    assert (values["sglang_tp_size"], values["sglang_max_running_requests"]) == (4, 48)


def test_without_a_profile_nothing_changes_and_a_wrong_name_is_told() -> None:
    assert with_profile(DEFAULTS, [], DEFAULTS) == DEFAULTS
    assert profile_findings(DEFAULTS, facts(HEADLINE), Version.parse("0.5.23")) == []
    with pytest.raises(LookupError, match=r"there is no kimi, but .*kimi-k2\.5-h200-x8"):
        with_profile({"sglang_profile": "kimi"}, [], DEFAULTS)


def findings(name: str, host_facts: dict[str, Any], version: str = "0.5.23", **changes: Any) -> Any:
    return {
        finding["id"]: finding["text"]
        for finding in profile_findings(asked(name, **changes), host_facts, Version.parse(version))
    }


def test_another_model_is_a_finding() -> None:
    other = facts(HEADLINE)
    other["model"] = {**other["model"], "layers": 27, "heads": None}
    assert findings(HEADLINE, other) == {
        "PRO-001": "the profile is for Kimi-K2.5 INT4 on eight RTX PRO 6000 Blackwell; here: "
        "layers is 27, not 61"
    }


def test_other_hardware_is_a_finding() -> None:
    text = findings(HEADLINE, facts("llama-3.3-70b-x4"))["PRO-002"]
    assert "4 GPUs, not 8" in text
    assert "compute capability 8.0, not 12.0" in text
    assert "GPUs of 79.0 GiB, not 94 or more" in text
    assert "GPUs linked by NVLINK" in text
    assert "PRO-002" not in findings(HEADLINE, {**facts(HEADLINE), "gpu": {}})


def test_an_older_version_and_ones_own_values_are_findings() -> None:
    text = findings(HEADLINE, facts(HEADLINE), "0.5.9")["PRO-003"]
    assert "SGLang 0.5.9, not 0.5.10.post1 or later" in text
    text = findings(HEADLINE, facts(HEADLINE), tp_size=4)["PRO-004"]
    assert text.endswith("here: sglang_tp_size is 4, not 8")


def test_the_role_offers_these_profiles() -> None:
    specs = ROOT / "roles" / "sglang" / "meta" / "argument_specs.yml"
    options = yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    assert options["sglang_profile"]["choices"] == ["", *NAMES]
    for name in NAMES:
        for variable, value in profile_values(name).items():
            assert type(value).__name__ == options[variable]["type"]


def test_the_headlines_profile_is_its_example() -> None:
    text = (ROOT / "examples" / "kimi-k2.5" / "group_vars" / "sglang.yml").read_text("utf-8")
    example = yaml.safe_load(text)
    values = profile_values(HEADLINE)
    assert {name: example.get(name, DEFAULTS[name]) for name in values} == values

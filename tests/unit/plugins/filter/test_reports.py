# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reports of a fleet make of the variables that a run leaves behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.filter.reports import FilterModule
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.report_hosts import planned

FILTERS = FilterModule().filters()
DOCS = Path(__file__).resolve().parents[4] / "plugins" / "filter"


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_is_described(name: str) -> None:
    described = yaml.safe_load((DOCS / f"{name}.yml").read_text(encoding="utf-8"))
    assert described["DOCUMENTATION"]["name"] == name


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "Failed: the run ended before it was measured"),
        ({"__sglang_probe": {"unreachable": True, "msg": "No route"}}, "Failed: No route"),
        ({"__sglang_probe": {"failed": True}}, "Failed: for a reason that the run&#x27;s output"),
        (
            {"__sglang_probe": {}, "__sglang_plan": {"failed": True, "msg": "no such version"}},
            "Failed: no such version",
        ),
        (
            {"__sglang_probe": {}, "__sglang_rollout_result": {"message": "was rebooted"}},
            "Failed: was rebooted",
        ),
        (
            {"__sglang_probe": {}, "__sglang_rollout_found": {"failure": "half a model"}},
            "Failed: half a model",
        ),
    ],
)
def test_how_far_a_host_came(variables: dict[str, Any], words: str) -> None:
    assert words in FILTERS["fleet_page"]({"a": variables}, ["a"])


def test_a_planned_host_and_one_without_a_model() -> None:
    entry = planned("headline")
    hostvars = {
        "a": {
            "ansible_facts": {"sglang": entry["facts"]},
            "__sglang_probe": {"changed": False},
            "__sglang_plan": {"plan": entry["plan"]},
        },
        "b": {
            "ansible_facts": {"sglang": entry["facts"]},
            "__sglang_probe": {"changed": False},
            "__sglang_plan": {"skipped": True},
        },
    }
    page = FILTERS["fleet_page"](hostvars, ["a", "b"])
    assert "Failed" not in page and page.count("Nothing is planned") == 1
    assert page.count("<h2>") == 2


def test_the_short_answer_has_the_step_and_the_long_one_the_price() -> None:
    entry = planned("headline")
    short = FILTERS["host_report"](entry["facts"], "gpu-01", entry["plan"])
    long = FILTERS["plan_report"](entry["plan"], "gpu-01")
    for report in (short, long):
        assert "Take the first   sglang_hicache_mode: auto" in report
    assert "What it costs" in long and "What it costs" not in short

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter engine_packages finds the lock that comes along, and says what there is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.filter import engine_packages as plugin

engine_packages = plugin.FilterModule().filters()["engine_packages"]


def test_documentation_and_filter_have_one_name() -> None:
    text = Path(plugin.__file__).with_suffix(".yml").read_text(encoding="utf-8")
    documented = yaml.safe_load(text)
    assert [documented["DOCUMENTATION"]["name"]] == list(plugin.FilterModule().filters())
    told = documented["RETURN"]["_value"]["description"][0]
    assert all(f"C({name})" in told for name in engine_packages("0.5.23", 13))


def test_the_lock_comes_along() -> None:
    found = engine_packages("0.5.23", "13")
    assert found["requirements"] == ["sglang==0.5.23"]
    assert "sglang==0.5.23 " in Path(found["lock"]).read_text(encoding="utf-8")
    assert found["problem"] == ""


def test_the_default_version_of_the_role_has_a_lock() -> None:
    role = Path(plugin.__file__).resolve().parents[2] / "roles" / "sglang_engine"
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    found = engine_packages(defaults["sglang_engine_version"], defaults["sglang_engine_cuda"])
    assert found["lock"]


@pytest.mark.parametrize(
    ("version", "cuda", "says"), [("0.5.20", 12, "0.5.19"), ("main", 13, "main")]
)
def test_variables_can_be_looked_at_whatever_they_are(version: str, cuda: int, says: str) -> None:
    found = engine_packages(version, cuda)
    assert says in found["problem"]
    assert (found["requirements"], found["lock"]) == ([], "")

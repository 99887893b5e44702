# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds what the collection says about itself against what it contains."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

COLLECTION = Path(__file__).resolve().parents[2]
MODULES = sorted(COLLECTION.glob("plugins/modules/[!_]*.py"))
PLUGINS = sorted(COLLECTION.glob("plugins/**/*.py"))
LICENCE = "# SPDX-License-Identifier: GPL-3.0-or-later"


def test_action_group_names_every_module() -> None:
    runtime = yaml.safe_load((COLLECTION / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["action_groups"]["all"] == [path.stem for path in MODULES]


def test_every_action_has_a_documented_module() -> None:
    actions = {path.stem for path in COLLECTION.glob("plugins/action/[!_]*.py")}
    assert not actions - {path.stem for path in MODULES}


@pytest.mark.parametrize("path", PLUGINS, ids=lambda path: str(path.relative_to(COLLECTION)))
def test_plugin_files_are_licensed_and_packages_are_empty(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.name == "__init__.py":
        assert not text
    else:
        assert LICENCE in text.splitlines()[:5]


def test_nothing_in_a_plan_or_an_engine_knows_ansible() -> None:
    """They are pure: a unit test or a notebook calls them without Ansible being installed."""
    rooms = ("_plan", "_engine")
    pure = [path for path in PLUGINS if path.parent.name in rooms]
    guilty = [
        str(path.relative_to(COLLECTION))
        for path in pure
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(("import ansible", "from ansible"))
    ]
    assert pure
    assert not guilty

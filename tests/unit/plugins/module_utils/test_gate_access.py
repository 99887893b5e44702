# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the unit's user may read is found by trying."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate import host
from ansible_collections.llmops.sglang.plugins.module_utils._gate.access import (
    Obstacle,
    find_obstacle,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    a_plan,
    some_facts,
    subject,
)

# A user whose rights this process can take, and to whom modes apply.
READER = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def closed() -> Iterator[tuple[Path, Path]]:
    """A root that all may enter, and in it a folder C(private) with a model that none may."""
    root = Path(tempfile.mkdtemp(prefix="sglang-access-"))
    root.chmod(0o755)
    model = root / "private/m"
    model.mkdir(parents=True)
    for name in ("config.json", "w.safetensors", "README.md"):
        (model / name).touch(0o644)
        (model / name).chmod(0o644)
    for folder in (model, model.parent):
        folder.chmod(0o755)
    model.parent.chmod(0)
    try:
        yield root, model.parent
    finally:
        model.parent.chmod(0o755)
        shutil.rmtree(root)


def test_the_topmost_closed_folder_is_named(closed: tuple[Path, Path]) -> None:
    root, private = closed
    assert find_obstacle(root / "private/m", READER, None) == Obstacle(private, "Permission denied")
    assert find_obstacle(root / "none", READER, None) is None


@pytest.mark.parametrize(
    ("name", "mode", "is_obstacle"),
    [
        ("w.safetensors", 0o000, True),
        ("config.json", 0o200, True),
        ("README.md", 0o000, False),
        (".", 0o311, True),
    ],
)
def test_every_file_that_a_server_loads_is_tried(
    closed: tuple[Path, Path], name: str, mode: int, is_obstacle: bool
) -> None:
    _root, private = closed
    private.chmod(0o755)
    model = private / "m"
    assert find_obstacle(model, READER, None) is None
    path = model / name
    path.chmod(mode)
    found = find_obstacle(model, READER, None)
    path.chmod(0o755)
    assert found == (Obstacle(path, "Permission denied") if is_obstacle else None)


def test_a_link_leads_to_the_folder_that_is_closed(closed: tuple[Path, Path]) -> None:
    root, private = closed
    (root / "current").mkdir(0o755)
    (root / "current").chmod(0o755)
    (root / "current/w.safetensors").symlink_to(private / "m/w.safetensors")
    found = find_obstacle(root / "current", READER, None)
    assert found == Obstacle(private, "Permission denied")


def test_the_rights_come_back_and_a_stranger_is_an_error(tmp_path: Path) -> None:
    before = (os.geteuid(), os.getegid(), os.getgroups())
    find_obstacle(tmp_path, READER, None)
    with pytest.raises(LookupError):
        find_obstacle(tmp_path, "no-such-user-here", None)
    with pytest.raises(LookupError):
        find_obstacle(tmp_path, READER, "no-such-group-here")
    assert (os.geteuid(), os.getegid(), os.getgroups()) == before


def test_weights_that_the_unit_s_user_may_not_read(closed: tuple[Path, Path]) -> None:
    root, private = closed
    plan = a_plan(sections=[["Service", [["User", READER]]]])
    facts = some_facts(model={**some_facts()["model"], "path": "/private/m"})
    result = host.check_weights(subject(root, facts, plan))
    assert (result.status, result.variable) == ("blocked", "sglang_user")
    assert result.measured == f"{READER} cannot read {private}: Permission denied"
    private.chmod(0o755)
    assert host.check_weights(subject(root, facts, plan)).status == "passed"

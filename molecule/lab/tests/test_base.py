# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache survives interrupted runs and is keyed by content."""

from __future__ import annotations

from pathlib import Path

import base
import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(base, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_an_interrupted_entry_is_made_anew(cache: Path) -> None:
    def interrupted(path: Path) -> None:
        (path / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        base.cached("kind", "key", interrupted)
    made = base.cached("kind", "key", lambda path: (path / "whole").touch())
    assert sorted(file.name for file in made.iterdir()) == [base.MARKER, "whole"]


def test_a_complete_entry_is_kept() -> None:
    first = base.cached("kind", "key", lambda path: (path / "whole").touch())

    def never(path: Path) -> None:
        raise AssertionError(path)

    assert base.cached("kind", "key", never) == first


def test_a_key_follows_contents_names_and_modes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    keys = set()
    for change in (
        lambda: (folder / "a").write_text("1"),
        lambda: (folder / "a").write_text("2"),
        lambda: (folder / "a").rename(folder / "b"),
        lambda: (folder / "b").chmod(0o755),
    ):
        change()
        keys.add(base.key_of(folder))
    assert len(keys) == 4
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "b.pyc").touch()
    assert base.key_of(folder) in keys


def test_failures_carry_what_the_command_said() -> None:
    with pytest.raises(base.LabError, match="status 3:\nout\nerr"):
        base.run("sh", "-c", "echo out; echo err >&2; exit 3")
    with pytest.raises(base.LabError, match="no-such-command is not installed"):
        base.run("no-such-command")

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role sglang_router puts on a host: a router's start and the list of its workers."""

from __future__ import annotations

import importlib.util
import json
import types
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.route_world import routing

FILES = Path(__file__).resolve().parents[2] / "roles" / "sglang_router" / "files"


def load(name: str) -> types.ModuleType:
    """One of the role's files as a module."""
    spec = importlib.util.spec_from_file_location(f"router_{name}", FILES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_keys_come_from_what_systemd_hands_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = load("launch")
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert launch.keys() == []
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "api-key").write_text("one\n")
    assert launch.keys() == ["--api-key", "one"]
    (tmp_path / "admin-key").write_text("two")
    assert launch.keys()[2:] == ["--control-plane-api-keys", "admin:admin:admin:two"]
    (tmp_path / "api-key").write_text("\n")
    # A router without a key would be open to everybody.
    with pytest.raises(SystemExit, match="api-key holds nothing"):
        launch.keys()


def known(folder: Path, **changes: Any) -> str:
    """What the role writes down; returns the folder."""
    told = {"api_key_file": "", "worker_api_key_file": "", "workers": [], **changes}
    (folder / "workers.json").write_text(json.dumps(told))
    return str(folder)


def test_a_router_is_told_its_workers_with_their_keys(tmp_path: Path) -> None:
    (tmp_path / "admin").write_text("sesame-admin\n")
    (tmp_path / "secrets.yaml").write_text('{"api-key": "sesame-worker"}')
    (tmp_path / "own").write_text("sesame-own")
    listed = [
        {"url": "http://gpu-01:1", "priority": 7},
        {"url": "http://gpu-02:1", "api_key_file": str(tmp_path / "own")},
    ]
    folder = known(
        tmp_path,
        api_key_file=str(tmp_path / "admin"),
        worker_api_key_file=str(tmp_path / "secrets.yaml"),
        workers=listed,
    )
    with routing(key="sesame-admin") as router:
        assert load("register").main(router.url, folder) == 0
        assert router.orders() == [
            ("POST", {"url": "http://gpu-01:1", "priority": 7, "api_key": "sesame-worker"}),
            ("POST", {"url": "http://gpu-02:1", "api_key": "sesame-own"}),
        ]


def test_one_that_cannot_be_told_does_not_keep_the_others_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = [
        {"url": "http://gpu-01:1", "api_key_file": str(tmp_path / "absent")},
        {"url": "http://gpu-02:1"},
    ]
    with routing() as router:
        assert load("register").main(router.url, known(tmp_path, workers=listed)) == 0
        assert router.orders() == [("POST", {"url": "http://gpu-02:1"})]
    told = capsys.readouterr()
    assert "http://gpu-01:1" in told.err and "told 1 of 2 workers" in told.out


def test_a_router_without_a_list_just_starts(tmp_path: Path) -> None:
    with routing() as router:
        assert load("register").main(router.url, str(tmp_path)) == 0
        assert router.orders() == []

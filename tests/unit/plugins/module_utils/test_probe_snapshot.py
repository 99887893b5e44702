# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot: every part alone, nothing secret, nothing large."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._probe import server, snapshot
from ansible_collections.llmops.sglang.plugins.module_utils._probe.snapshot import (
    PARTS,
    Request,
    open_source,
    take_snapshot,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.probe_recording import (
    RECORDINGS,
    facts_of,
)

HOSTS = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())


@pytest.mark.parametrize("host", HOSTS)
def test_every_recorded_host_gives_all_parts(host: str) -> None:
    facts = facts_of(host)
    assert set(facts) == {"schema", "taken_at", "origin", "boot_id", "draft", *PARTS}
    assert facts["origin"] == "recording"
    for part in PARTS:
        assert set(facts[part]) != {"reason"}, facts[part]
    json.dumps(facts)


def test_the_headline_in_general() -> None:
    facts = facts_of("headline")
    assert facts["taken_at"] == "2026-11-30T20:00:00Z"
    assert facts["boot_id"] == "5b0e7c7e-2f0f-4a59-9d0d-3f5f0a6f51c2"
    assert facts["engine"]["version"] == "0.5.18"


def test_no_planted_secret_comes_out() -> None:
    planted = sum(
        path.read_bytes().count(b"sk-planted") for path in RECORDINGS.rglob("*") if path.is_file()
    )
    assert planted >= 8
    for host in HOSTS:
        assert "planted" not in json.dumps(facts_of(host, detail=True))


def test_only_what_was_asked_for() -> None:
    assert set(facts_of("headline", parts=("memory",))) == {
        "schema",
        "taken_at",
        "origin",
        "boot_id",
        "memory",
    }
    assert "draft" in facts_of("headline", parts=("model",))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_breaks_breaks_alone(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any, **_options: Any) -> None:
        raise RuntimeError("api_key='planted'")

    place = server if part == "server" else snapshot
    monkeypatch.setattr(place, f"read_{part}", broken)
    facts = facts_of("headline")
    assert facts[part] == {"reason": "RuntimeError: api_key='<redacted>'"}
    whole = facts_of("h200-nvlink", parts=tuple(name for name in PARTS if name != part))
    assert all(
        "reason" not in whole[name] or len(whole[name]) > 1 for name in PARTS if name != part
    )


@pytest.mark.parametrize(
    "path",
    [
        "proc/meminfo",
        "commands/systemctl-show.txt",
        "http/loads.json",
        "commands/journal.log",
        "proc/41001/cmdline",
        "engine.json",
        "model/config.json",
        "commands/nvidia-smi.csv",
        "http/server_info.json",
        "etc/sglang/kimi/proven/current.json",
    ],
)
@pytest.mark.parametrize("text", [None, "", "\x00\xff{[=,:\n", "[[[]]]", '{"loads": {"a": 1}}'])
def test_a_missing_or_broken_file_is_never_a_traceback(
    tmp_path: Path, path: str, text: str | None
) -> None:
    shutil.copytree(RECORDINGS / "headline", tmp_path / "host")
    if text is None:
        (tmp_path / "host" / path).unlink()
    else:
        (tmp_path / "host" / path).write_text(text)
    facts = take_snapshot(open_source(f"{tmp_path}/host"), Request())
    for part in PARTS:
        assert set(facts[part]) != {"reason"}, facts[part]


def test_paths_come_from_the_running_server_where_none_is_given(tmp_path: Path) -> None:
    facts = facts_of("headline")
    assert facts["model"]["path"] == "/srv/models/Kimi-K2.5"
    assert facts["draft"]["path"] == "/srv/models/kimi-eagle3"
    given = facts_of("headline", model_path="/a", draft_path="/b")
    assert (given["model"]["path"], given["draft"]["path"]) == ("/a", "/b")


def test_a_server_that_answers_knows_its_version() -> None:
    facts: dict[str, Any] = {"engine": {"version": None}, "server": {"info": {"version": "0.5.9"}}}
    snapshot._complete(facts)
    assert facts["engine"]["version"] == "0.5.9"


def test_the_live_host_is_readable_too() -> None:
    facts = take_snapshot(open_source(None), Request(instance="no-such-instance", timeout_s=5))
    assert facts["origin"] == "live"
    assert facts["memory"]["total_bytes"] > 0
    assert facts["model"]["reason"] == "no model path was given"
    assert facts["draft"] is None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is made of a lab.json before podman comes in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gpus
import guest
import pytest

HOST = {"memory_gib": 449, "available_gib": 396}


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(guest, "REPO", tmp_path)
    monkeypatch.setattr(guest, "STATE", tmp_path / ".lab")
    # What guests are made from, without making it.
    for name in ("image", "wheelhouse", "models"):
        monkeypatch.setattr(guest, name, lambda made=name: f"{made}-1")
    return tmp_path


def described(clone: Path, spec: dict[str, Any]) -> guest.Guest:
    path = clone / "molecule" / "demo" / "lab.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"gpu-01": spec}))
    (found,) = guest.guests("demo")
    return found


def test_names_carry_the_clone_and_the_scenario(clone: Path) -> None:
    found = described(clone, HOST)
    assert found.container == f"{guest.PREFIX}-demo-gpu-01"
    hosts = json.loads(guest.inventory([found]))["all"]["hosts"]
    assert hosts["gpu-01"]["ansible_host"] == found.container


@pytest.mark.parametrize("extra", [{"ram": 1}, {"models": ["tiny-mla", "tiny-moe"]}])
def test_what_the_lab_does_not_know_is_refused(clone: Path, extra: dict[str, Any]) -> None:
    with pytest.raises(guest.LabError, match="gpu-01: unknown: (ram|tiny-moe)"):
        described(clone, {**HOST, **extra})


def test_a_missing_scenario_names_the_others(clone: Path) -> None:
    described(clone, HOST)
    with pytest.raises(guest.LabError, match="scenarios with guests: demo"):
        guest.guests("fleet")


def test_a_guest_is_booted_again_when_what_it_came_from_changes(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = described(clone, HOST)
    assert not found.is_as_described()
    found.state.mkdir(parents=True)
    found.description.write_text(json.dumps(found.origin()))
    assert found.is_as_described()
    assert not described(clone, {**HOST, "available_gib": 300}).is_as_described()
    monkeypatch.setattr(guest, "wheelhouse", lambda: "wheelhouse-2")
    assert not found.is_as_described()


@pytest.mark.parametrize("preset", sorted(path.name for path in gpus.PRESETS.iterdir()))
def test_state_of_a_guest(clone: Path, preset: str) -> None:
    found = described(clone, {**HOST, "gpus": preset})
    guest.write_state(found)
    loaded = gpus.last_value((found.state / "gpus").read_text(), "driver")
    version = found.state / "proc-driver" / "nvidia" / "version"
    assert version.exists() == (loaded is not None)
    assert loaded is None or f"  {loaded}  " in version.read_text()
    assert (found.state / "meminfo").read_text().startswith("MemTotal:       470810624 kB\n")


def test_impossible_memory_names_the_guest(clone: Path) -> None:
    with pytest.raises(guest.LabError, match="gpu-01 in demo/lab.json: 8 GiB cannot hold"):
        guest.write_state(described(clone, {"memory_gib": 8, "available_gib": 9}))

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a deployment may say that nothing is left to do, and what it has to name otherwise."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._gate.converged import what_is_left
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    UNIT,
    a_plan,
    unit_state,
)

FILE = f"/etc/systemd/system/{UNIT}"
SECRETS = {"api-key": "planted"}
SERVICE = "nvidia-persistenced.service"
RIGHT = {"LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled"}
PLAN = a_plan(fingerprint="f1")
PROVEN = {"invocation_id": "c0ffee", "fingerprint": "f1"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host whose files are as they should be."""
    unit = tmp_path / FILE.lstrip("/")
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n", encoding="utf-8")
    unit.chmod(0o644)
    secrets = tmp_path / "etc" / "sglang" / "kimi" / "secrets.yaml"
    secrets.parent.mkdir(parents=True)
    secrets.write_text(json.dumps(SECRETS), encoding="utf-8")
    secrets.chmod(0o600)
    return tmp_path


def left(root: Path, proven: dict[str, Any] | None = None, **units: dict[str, str]) -> list[str]:
    """What is left on that host; `units` replaces what systemd says of the unit or the service."""

    def systemctl(argv: list[str]) -> str:
        assert argv[:4] == ["systemctl", "show", UNIT, SERVICE]
        said = {UNIT: units.get("unit", {}), SERVICE: units.get("service", {})}
        return "\n\n".join(
            "\n".join(f"{key}={value}" for key, value in {"Id": name, **RIGHT, **own}.items())
            for name, own in said.items()
        )

    wanted = {"files": {FILE: hashlib.sha256(b"[Service]\n").hexdigest()}, "services": [SERVICE]}
    record = PROVEN if proven is None else proven
    return what_is_left(unit_state(), PLAN, record, wanted, SECRETS, root, systemctl)


def test_nothing_is_left_on_a_host_that_is_as_it_should_be(root: Path) -> None:
    assert left(root) == []


@pytest.mark.parametrize(
    "proven", [{}, {**PROVEN, "invocation_id": "before"}, {**PROVEN, "fingerprint": "f0"}]
)
def test_a_server_that_was_not_proven_is_not_left_alone(root: Path, proven: dict[str, Any]) -> None:
    assert left(root, proven) == ["the running server is not proven"]


def test_a_unit_that_somebody_edited_is_written_again(root: Path) -> None:
    unit = root / FILE.lstrip("/")
    unit.write_text("[Service]\nNice=5\n", encoding="utf-8")
    assert left(root) == [f"{FILE} is not as planned"]
    unit.write_text("[Service]\n", encoding="utf-8")
    unit.chmod(0o600)
    assert left(root) == [f"{FILE} is not as planned"]
    unit.unlink()
    assert left(root) == [f"{FILE} is not there"]


def test_the_next_start_must_find_the_right_keys(root: Path) -> None:
    secrets = root / "etc" / "sglang" / "kimi" / "secrets.yaml"
    for content, mode in (
        ('{"api-key": "other"}', 0o600),
        (json.dumps(SECRETS), 0o644),
        ("", 0o600),
    ):
        secrets.write_text(content, encoding="utf-8")
        secrets.chmod(mode)
        found = left(root)
        assert found == ["the secrets file is not as planned"]
        assert "planted" not in str(found)


@pytest.mark.parametrize(
    "state, said",
    [
        ({"UnitFileState": "disabled"}, f"{UNIT} does not start at boot"),
        ({"ActiveState": "failed"}, f"{UNIT} is not active"),
        ({"NeedDaemonReload": "yes"}, f"systemd has not read {UNIT} as it is now"),
        ({"LoadState": "not-found", "UnitFileState": ""}, f"{UNIT} does not start at boot"),
    ],
)
def test_the_unit_must_come_up_at_boot_as_it_is_written(
    root: Path, state: dict[str, str], said: str
) -> None:
    assert left(root, unit=state) == [said]


def test_a_service_counts_only_where_it_is_installed(root: Path) -> None:
    gone = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""}
    assert left(root, service=gone) == []
    assert left(root, service={"UnitFileState": "static"}) == []
    assert left(root, service={"ActiveState": "inactive"}) == [f"{SERVICE} is not active"]
    assert left(root, service={"UnitFileState": "disabled"}) == [
        f"{SERVICE} does not start at boot"
    ]

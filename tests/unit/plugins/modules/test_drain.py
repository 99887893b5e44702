# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module drain from its arguments to its result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import (
    Stub,
    serving,
)

pytest.importorskip("ansible.module_utils.testing")
from ansible_collections.llmops.sglang.plugins.modules import drain
from ansible_collections.llmops.sglang.tests.unit.plugins.modules.gate_modules import run_module


@pytest.fixture
def server() -> Iterator[Stub]:
    with serving({"/v1/loads": {"loads": [{"num_running_reqs": 2}]}}) as stub:
        yield stub


@pytest.fixture
def secrets(tmp_path: Path) -> str:
    path = tmp_path / "secrets.yaml"
    path.write_text(json.dumps({"api-key": "sesame-open", "admin-api-key": "sesame-close"}))
    return str(path)


def test_a_bound_that_is_reached_fails_with_the_numbers(
    capsys: pytest.CaptureFixture[str], server: Stub, secrets: str
) -> None:
    result = run_module(drain.main, capsys, url=server.url, secrets_file=secrets, timeout_s=0)
    assert (result["failed"], result["in_flight"], result["drained"]) == (True, 2, False)
    assert "sglang_drain_timeout_s" in result["msg"]
    assert "sesame" not in json.dumps(result)


def test_an_abort_is_a_change(
    capsys: pytest.CaptureFixture[str], server: Stub, secrets: str
) -> None:
    def abort(_body: Any) -> dict[str, Any]:
        server.answers["/v1/loads"] = {"loads": [{"num_running_reqs": 0}]}
        return {}

    server.answers["/abort_request"] = abort
    result = run_module(
        drain.main, capsys, url=server.url, secrets_file=secrets, timeout_s=0, at_bound="abort"
    )
    assert (result["changed"], result["aborted"], result["drained"]) == (True, 2, True)
    assert result["text"] == "drain: 2 in flight, 2 aborted after 0 s"


def test_check_mode_counts_and_leaves(
    capsys: pytest.CaptureFixture[str], server: Stub, secrets: str
) -> None:
    result = run_module(
        drain.main,
        capsys,
        check_mode=True,
        url=server.url,
        secrets_file=secrets,
        timeout_s=0,
        at_bound="abort",
    )
    assert (result["changed"], result["in_flight"], result["drained"]) == (False, 2, False)
    assert [path for _method, path, *_rest in server.asked] == ["/v1/loads"]


def test_a_broken_version_is_an_error(capsys: pytest.CaptureFixture[str], server: Stub) -> None:
    result = run_module(drain.main, capsys, url=server.url, engine_version="latest")
    assert "latest" in result["msg"]

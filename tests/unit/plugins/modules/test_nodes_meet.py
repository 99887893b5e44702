# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module nodes_meet: hosts that reach one another, and hosts that do not."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

pytest.importorskip("ansible.module_utils.testing")
from ansible_collections.llmops.sglang.plugins.module_utils._gate.meeting import come
from ansible_collections.llmops.sglang.plugins.modules import nodes_meet
from ansible_collections.llmops.sglang.tests.unit.plugins.modules.gate_modules import run_module


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def meet(capsys: pytest.CaptureFixture[str], address: str, **options: Any) -> dict[str, Any]:
    given = {"rank": 0, "nodes": 3, "timeout_s": 20, **options}
    return run_module(nodes_meet.main, capsys, address=address, **given)


def test_rank_0_waits_for_all_others(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    others = [
        threading.Thread(target=come, args=(("127.0.0.1", port), time.monotonic() + 20))
        for _number in range(2)
    ]
    for other in others:
        other.start()
    result = meet(capsys, f"127.0.0.1:{port}")
    for other in others:
        other.join()
    assert result["met"] == ["127.0.0.1"]
    assert not result["changed"]


def test_one_that_does_not_come_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    other = threading.Thread(target=come, args=(("127.0.0.1", port), time.monotonic() + 20))
    other.start()
    result = meet(capsys, f"127.0.0.1:{port}", timeout_s=1)
    other.join()
    assert result["failed"]
    assert "1 of 2 other hosts reached" in result["msg"] and "firewall" in result["msg"]


def test_a_running_engine_receives_them_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as engine:
        address = f"127.0.0.1:{engine.getsockname()[1]}"
        assert meet(capsys, address)["met"] is None
        assert "failed" not in meet(capsys, address, rank=1)


def test_nobody_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    result = meet(capsys, f"127.0.0.1:{free_port()}", rank=1, timeout_s=0)
    assert result["failed"]
    assert "refused" in result["msg"] and "sglang_nodes_network" in result["msg"]


def test_an_address_of_another_host_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    result = meet(capsys, "192.0.2.1:20000")
    assert result["failed"]
    assert "rank 0 cannot listen on 192.0.2.1:20000" in result["msg"]


@pytest.mark.parametrize("address", ["10.0.0.1", ":20000", "10.0.0.1:0", "10.0.0.1:x"])
def test_an_address_without_a_port_is_an_error(
    capsys: pytest.CaptureFixture[str], address: str
) -> None:
    assert "no address with a port" in meet(capsys, address)["msg"]

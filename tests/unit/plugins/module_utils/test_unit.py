# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit as data, its bounds, and its text."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._plan.crash_note import crash_note
from ansible_collections.llmops.sglang.plugins.module_utils._plan.deadlines import deadlines
from ansible_collections.llmops.sglang.plugins.module_utils._plan.unit import build_unit
from ansible_collections.llmops.sglang.plugins.module_utils._render.systemd import unit_text
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.engine_case import (
    HEADLINE,
    capacity,
    facts,
    wishes,
)

ARGV = ["/opt/sglang/engine/bin/python", "-m", "sglang.launch_server", "--port", "30000"]


def sections_of(
    plan: dict[str, Any] | None = None, host: dict[str, Any] | None = None, **changes: Any
) -> dict[str, dict[str, Any]]:
    unit = build_unit(
        wishes(**changes), plan or capacity(), host or facts(gpus=0), ARGV, {"HOME": "/h"}
    )
    keys = [(name, key) for name, settings in unit for key, _value in settings if key != "#"]
    assert len(keys) == len(set(keys)), "a setting stands twice"
    return {name: dict(settings) for name, settings in unit}


def test_the_service_runs_what_was_planned() -> None:
    service = sections_of(user="svc", group="grp")["Service"]
    assert service["Type"] == "exec"
    assert service["ExecStart"] == ARGV
    assert service["Environment"] == {"HOME": "/h"}
    assert (service["User"], service["Group"]) == ("svc", "grp")
    assert service["StateDirectory"] == service["CacheDirectory"] == ["sglang/kimi"]
    assert service["WorkingDirectory"] == "/var/lib/sglang/kimi"


def test_a_stop_drains_and_a_crash_restarts() -> None:
    service = sections_of()["Service"]
    assert service["KillMode"] == "mixed"
    assert service["KillSignal"] == "SIGTERM"
    assert service["Restart"] == "always"
    assert service["OOMPolicy"] == "stop"
    assert service["LogRateLimitIntervalSec"] == 0
    assert service["ExecStopPost"] == crash_note("kimi")


def test_pinned_memory_lengthens_stop_and_restart() -> None:
    plan = capacity("ratio", ratio=4.37, bytes_node=414_500_000_000)
    service = sections_of(plan, drain_timeout_s=120)["Service"]
    # 414.5 GB at 9 GB/s are 46.06 s, rounded up.
    assert service["TimeoutStopSec"] == 120 + 75 + 47
    assert service["RestartSec"] == 15 + 47
    assert sections_of(drain_timeout_s=120)["Service"]["TimeoutStopSec"] == 195
    assert deadlines(facts(gpus=0), wishes(), plan)["release_s"] == 120 + 47


def test_the_start_bound_counts_weights_and_pinning() -> None:
    plan = capacity("ratio", bytes_node=414_500_000_000)
    host = facts(model={"weights_bytes": 547_000_000_000}, draft={"weights_bytes": 6_000_000_000})
    bounds = deadlines(host, wishes(), plan)
    assert bounds["start_s"] == 900 + 1106 + 276
    assert sections_of(plan, host)["Service"]["TimeoutStartSec"] == bounds["start_s"]
    assert deadlines(host, wishes(start_timeout_s=60), plan)["start_s"] == 60
    assert deadlines({}, wishes(), capacity())["start_s"] == 180


def test_slow_failures_still_reach_the_start_limit() -> None:
    unit = sections_of(start_timeout_s=600)["Unit"]
    assert unit["StartLimitBurst"] == 5
    assert unit["StartLimitIntervalSec"] == 5 * (600 + 15)


@pytest.mark.parametrize(
    ("version", "killed"), [("0.5.9", True), ("0.5.18+double", True), ("0.5.19", False)]
)
def test_only_versions_that_kill_themselves_may_end_by_sigkill(version: str, killed: bool) -> None:
    service = sections_of(capacity(version=version))["Service"]
    assert ("SuccessExitStatus" in service) is killed


def test_secrets_come_as_a_credential_or_not_at_all() -> None:
    service = sections_of(secrets_present=True, instance="blue")["Service"]
    assert service["LoadCredential"] == "secrets.yaml:/etc/sglang/blue/secrets.yaml"
    assert "LoadCredential" not in sections_of()["Service"]


def test_folders_on_other_file_systems_are_waited_for() -> None:
    mounts = sections_of(model_path="/srv/m", model_draft_path="/srv/d")["Unit"]
    assert mounts["RequiresMountsFor"] == ["/opt/sglang/engine", "/srv/m", "/srv/d"]
    hub = sections_of(model_path="org/name")["Unit"]
    assert hub["RequiresMountsFor"] == ["/opt/sglang/engine"]


def test_the_unit_orders_after_what_it_wants_and_starts_at_boot() -> None:
    sections = sections_of()
    assert sections["Unit"]["Wants"] == sections["Unit"]["After"]
    assert "nvidia-fabricmanager.service" in sections["Unit"]["After"]
    assert sections["Install"] == {"WantedBy": "multi-user.target"}


def test_nothing_hides_the_gpus() -> None:
    service = sections_of()["Service"]
    hiding = ("PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock", "PrivateIPC")
    assert not set(hiding) & set(service)
    assert "MemoryDenyWriteExecute" not in service


def test_nothing_measured_changes_the_unit() -> None:
    running = facts(server={"startup": {"load_s": 274.0, "max_total_num_tokens": 159_300}})
    assert sections_of(host=running) == sections_of(host=facts())


def test_the_text_has_no_line_too_long_to_read() -> None:
    unit = build_unit(wishes(**HEADLINE), capacity(), facts(), ARGV, {"HOME": "/h"})
    text = unit_text(unit)
    assert text.startswith("[Unit]\nDescription=SGLang server kimi (kimi-k2.5)\n")
    assert "\nPrivateTmp=yes\n" in text
    # A script is one word, whatever its length.
    lines = [line for line in text.split("\n") if not line.startswith("ExecStopPost=")]
    assert all(len(line) <= 100 for line in lines)

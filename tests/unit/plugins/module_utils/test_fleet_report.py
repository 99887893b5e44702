# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run: one per host, whatever became of it."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._render.fleet_report import (
    fleet_report,
)

PLAN = {
    "instance": "kimi",
    "engine": {"version": "0.5.23"},
    "capacity": {"tokens": {"device": 159_300, "in_reach": None}},
}


def test_each_host_ends_as_its_run_did() -> None:
    hosts = {
        "gpu-02": {"plan": PLAN, "gate": {"verdict": "blocked", "need": "restart"}},
        "gpu-01": {
            "plan": PLAN,
            "gate": {"verdict": "proceed", "need": "start"},
            "proof": {"x": 1},
        },
        "gpu-03": {"plan": None, "gate": None, "proof": None},
        "gpu-04": {"plan": PLAN, "gate": {"verdict": "nothing", "need": "none"}, "proof": None},
        "gpu-05": {
            "plan": PLAN,
            "gate": {"verdict": "proceed", "need": "start"},
            "proof": {"failed": True},
        },
        "gpu-06": {"plan": PLAN, "gate": {"verdict": "proceed", "need": "restart"}},
        # The look before the roles, one of which then failed.
        "gpu-07": {
            "plan": PLAN,
            "gate": {"verdict": "proceed", "need": "start", "converged": False},
        },
    }
    lines = fleet_report(hosts).splitlines()
    assert lines[0].split() == [
        "host",
        "instance",
        "engine",
        "device",
        "tokens",
        "in",
        "reach",
        "result",
    ]
    assert [line.split("-  ")[-1].strip() for line in lines[1:]] == [
        "proven",
        "BLOCKED",
        "not reached",
        "nothing to do",
        "FAILED its proof",
        "restart proceed",
        "not reached",
    ]
    assert all(len(line) <= 80 for line in lines)

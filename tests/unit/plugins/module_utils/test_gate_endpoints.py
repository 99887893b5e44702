# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which endpoint exists in which version, and what the loads endpoints answer."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._engine.endpoints import (
    Loads,
    parse_loads,
    paths,
    ports,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine.version import Version


@pytest.mark.parametrize(
    ("purpose", "version", "expected"),
    [
        ("server_info", "0.5.5.post3", ["/get_server_info"]),
        ("server_info", "0.5.6.post2", ["/server_info", "/get_server_info"]),
        ("loads", "0.5.7", ["/get_load", "/metrics"]),
        ("loads", "0.5.8.post1", ["/v1/loads", "/get_load", "/metrics"]),
        ("loads", "0.5.21", ["/v1/loads", "/metrics"]),
        ("loads", None, ["/v1/loads", "/get_load", "/metrics"]),
    ],
)
def test_paths_by_version(purpose: str, version: str | None, expected: list[str]) -> None:
    assert list(paths(purpose, Version.parse(version) if version else None)) == expected


def test_ports() -> None:
    assert ports(30000, attention_dp=False) == (30000,)
    assert ports(30000, attention_dp=True) == (30000, *range(30233, 30240))
    assert ports(65400, attention_dp=True) == (65400, *range(65167, 65174))


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            "/v1/loads",
            {
                "loads": [
                    {"num_running_reqs": 1, "num_waiting_reqs": 2, "num_used_tokens": 30},
                    {"num_running_reqs": 4, "num_waiting_reqs": 0, "num_used_tokens": 5},
                ]
            },
            Loads(5, 2, 35),
        ),
        ("/v1/loads", {"loads": [{"num_running_reqs": 1}]}, Loads(1, 0, None)),
        # The older endpoint counts waiting requests among all.
        ("/get_load", [{"num_reqs": 5, "num_waiting_reqs": 2, "num_tokens": 9}], Loads(3, 2, 9)),
        (
            "/metrics",
            'sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 2.0\n'
            'sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 2.0\n'
            'sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 3.0\n'
            'sglang:num_queue_reqs{dp_rank="0",tp_rank="0"} 1e+01\n',
            Loads(5, 10, None),
        ),
        ("/metrics", "sglang_num_running_reqs 4.0\nsglang_num_used_tokens 8\n", Loads(4, 0, 8)),
    ],
)
def test_loads_are_summed_over_groups(path: str, body: Any, expected: Loads) -> None:
    assert parse_loads(path, body) == expected


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/loads", {"loads": []}),
        ("/v1/loads", {"loads": [{"dp_rank": 0}]}),
        ("/v1/loads", ["x"]),
        ("/v1/loads", None),
        ("/get_load", [{"num_running_reqs": 1}]),
        ("/metrics", "python_info 1\n"),
        ("/metrics", {"a": 1}),
    ],
)
def test_an_answer_without_loads_is_unknown_not_zero(path: str, body: Any) -> None:
    assert parse_loads(path, body) is None

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit of a router: what it is started with, and what nobody may see."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._render.systemd import unit_text
from ansible_collections.llmops.sglang.plugins.module_utils._route.unit import (
    own_url,
    router_arguments,
    router_unit,
    worker_list,
)
from ansible_collections.llmops.sglang.plugins.module_utils._route.worker import RouteError


def wishes(**changes: Any) -> dict[str, Any]:
    """A router as the role's defaults make it."""
    return {
        "name": "main",
        "path": "/opt/sglang/routers/0.3.2",
        "host": "0.0.0.0",
        "port": 30000,
        "metrics_host": "127.0.0.1",
        "metrics_port": 29000,
        "policy": "cache_aware",
        "prefill_policy": "",
        "decode_policy": "",
        "pd_disaggregation": False,
        "health_endpoint": "/health",
        "health_interval_s": 10,
        "health_timeout_s": 5,
        "health_failures": 3,
        "health_successes": 2,
        "worker_startup_timeout_s": 1800,
        "worker_startup_interval_s": 5,
        "request_timeout_s": 1800,
        "shutdown_grace_s": 180,
        "log_level": "info",
        "extra_args": [],
        "api_key_file": "",
        "admin_key_file": "",
        **changes,
    }


def test_the_unit_is_one_that_can_be_written() -> None:
    text = unit_text(router_unit(wishes(extra_args=["--max-concurrent-requests", 64])))
    assert "--max-concurrent-requests 64" in text
    assert "--policy cache_aware" in text
    assert (
        "ExecStartPost=+/opt/sglang/routers/0.3.2/bin/python "
        "/usr/local/lib/sglang-router/register.py http://127.0.0.1:30000 /etc/sglang-router/main"
        in text
    )
    assert "TimeoutStopSec=195" in text
    assert "LoadCredential" not in text


def test_keys_are_named_and_nowhere_else() -> None:
    text = unit_text(router_unit(wishes(api_key_file="/etc/k/api", admin_key_file="/etc/k/admin")))
    assert "LoadCredential=api-key:/etc/k/api" in text
    assert "LoadCredential=admin-key:/etc/k/admin" in text
    assert "--api-key" not in text and "--control-plane-api-keys" not in text


@pytest.mark.parametrize("word", ["--api-key", "--api-key=sesame", "--port", "--worker-urls"])
def test_words_that_a_variable_stands_for_are_refused(word: str) -> None:
    with pytest.raises(RouteError, match="there is a variable of this role") as error:
        router_unit(wishes(extra_args=[word, "sesame"]))
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize("name", ["", "a b", "../x", "-a", "a/b"])
def test_a_name_that_is_no_name_of_a_unit_is_refused(name: str) -> None:
    with pytest.raises(RouteError, match="sglang_router_name"):
        router_unit(wishes(name=name))


def test_a_router_for_prefill_and_decode() -> None:
    argv = router_arguments(
        wishes(pd_disaggregation=True, prefill_policy="bucket", decode_policy="power_of_two")
    )
    assert argv[-1] == "--pd-disaggregation"
    assert argv[argv.index("--prefill-policy") + 1] == "bucket"
    assert argv[argv.index("--decode-policy") + 1] == "power_of_two"
    assert "--prefill-policy" not in router_arguments(wishes())


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:30000"),
        ("::", "http://[::1]:30000"),
        ("fd00::7", "http://[fd00::7]:30000"),
        ("192.0.2.7", "http://192.0.2.7:30000"),
    ],
)
def test_the_host_reaches_its_router(host: str, url: str) -> None:
    assert own_url(wishes(host=host)) == url


def test_an_address_alone_is_a_worker() -> None:
    assert worker_list(["http://gpu-01:30000/", {"url": "http://GPU-02:1", "priority": 7}]) == [
        {"url": "http://gpu-01:30000"},
        {"url": "http://gpu-02:1", "priority": 7},
    ]


@pytest.mark.parametrize("worker", [7, {"priority": 1}, {"url": None}, "gpu-01"])
def test_what_has_no_address_is_no_worker(worker: Any) -> None:
    with pytest.raises(RouteError):
        worker_list([worker])


def test_a_key_as_a_value_is_refused_and_not_repeated() -> None:
    with pytest.raises(RouteError, match="api_key_file") as error:
        worker_list([{"url": "http://gpu-01:1", "api_key": "sesame"}])
    assert "sesame" not in str(error.value)

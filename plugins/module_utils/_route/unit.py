# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systemd unit of a router, from the variables of its role, and the list that it starts with.

Sections are as those of a server's unit: ``[name, [[key, value], ...]]``.

Private to the collection.
"""

from __future__ import annotations

import re
from typing import Any

from .worker import RouteError, normal_url

SCRIPTS = "/usr/local/lib/sglang-router"
#: Credentials of the unit: name, and the variable that says where its file is.
_KEYS = {"api-key": "api_key_file", "admin-key": "admin_key_file"}
# Beyond its own bound for requests in flight.
_STOP_MARGIN_S = 15
_START_S = 90
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# What these would set has a variable of its own, or must not be seen in an argument list.
_TAKEN = re.compile(r"--(?:host|port|api-key|control-plane-api-keys|worker-urls|prefill|decode)\b")

Settings = list[list[Any]]


def router_unit(wishes: dict[str, Any]) -> list[list[Any]]:
    """Return the sections. Raises RouteError for what no router could be started with."""
    name = wishes["name"]
    if not _NAME.fullmatch(name):
        raise RouteError(f"sglang_router_name {name!r} is no name for a unit")
    folder = f"/etc/sglang-router/{name}"
    python = f"{wishes['path']}/bin/python"
    return [
        [
            "Unit",
            [
                ["Description", f"SGLang router {name}"],
                ["Documentation", "https://docs.sglang.ai/advanced_features/router.html"],
                ["Wants", ["network-online.target"]],
                ["After", ["network-online.target"]],
                ["StartLimitIntervalSec", 300],
                ["StartLimitBurst", 5],
            ],
        ],
        [
            "Service",
            [
                ["Type", "exec"],
                ["DynamicUser", True],
                ["SyslogIdentifier", f"sglang-router-{name}"],
                ["#", "Its age is the age of the process: a key file that is newer is not in use."],
                ["RuntimeDirectory", [f"sglang-router-{name}"]],
                ["#", "For the tokenizers that it fetches; it has no home otherwise."],
                ["CacheDirectory", [f"sglang-router-{name}"]],
                ["Environment", {"HOME": f"/var/cache/sglang-router-{name}"}],
                *_credentials(wishes),
                ["ExecStart", [python, f"{SCRIPTS}/launch.py", *router_arguments(wishes)]],
                [
                    "#",
                    "A router forgets its workers when it stops. As root, for the workers' keys.",
                ],
                [
                    "ExecStartPost",
                    [f"+{python}", f"{SCRIPTS}/register.py", own_url(wishes), folder],
                ],
                ["Restart", "always"],
                ["RestartSec", 2],
                ["TimeoutStartSec", _START_S],
                ["#", "its own bound for requests in flight, and a little more"],
                ["TimeoutStopSec", wishes["shutdown_grace_s"] + _STOP_MARGIN_S],
                ["LimitNOFILE", 1048576],
                *_sandbox(),
            ],
        ],
        ["Install", [["WantedBy", "multi-user.target"]]],
    ]


def own_url(wishes: dict[str, Any]) -> str:
    """Where the router's own host reaches it."""
    host = wishes["host"]
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    shown = everywhere.get(host) or (f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{wishes['port']}"


def _credentials(wishes: dict[str, Any]) -> Settings:
    files = [[name, wishes[variable]] for name, variable in _KEYS.items() if wishes[variable]]
    if not files:
        return []
    return [
        ["#", "Keys reach the router as files that only this process sees."],
        *(["LoadCredential", f"{name}:{path}"] for name, path in files),
    ]


def router_arguments(wishes: dict[str, Any]) -> list[str]:
    """The argument list; keys are not in it."""
    flags = {
        "--host": wishes["host"],
        "--port": wishes["port"],
        "--policy": wishes["policy"],
        "--prefill-policy": wishes["prefill_policy"],
        "--decode-policy": wishes["decode_policy"],
        "--prometheus-host": wishes["metrics_host"],
        "--prometheus-port": wishes["metrics_port"],
        "--health-check-endpoint": wishes["health_endpoint"],
        "--health-check-interval-secs": wishes["health_interval_s"],
        "--health-check-timeout-secs": wishes["health_timeout_s"],
        "--health-failure-threshold": wishes["health_failures"],
        "--health-success-threshold": wishes["health_successes"],
        "--worker-startup-timeout-secs": wishes["worker_startup_timeout_s"],
        "--worker-startup-check-interval": wishes["worker_startup_interval_s"],
        "--request-timeout-secs": wishes["request_timeout_s"],
        "--shutdown-grace-period-secs": wishes["shutdown_grace_s"],
        "--log-level": wishes["log_level"],
    }
    words = [
        word
        for flag, value in flags.items()
        if value not in (None, "")
        for word in (flag, str(value))
    ]
    extra = [str(word) for word in wishes["extra_args"]]
    for word in extra:
        if _TAKEN.match(word):
            raise RouteError(
                f"sglang_router_extra_args has {word.split('=', 1)[0]}: there is a variable of "
                "this role for that"
            )
    return words + (["--pd-disaggregation"] if wishes["pd_disaggregation"] else []) + extra


def _sandbox() -> Settings:
    return [
        ["#", "It needs a network and nothing else of the host."],
        ["ProtectSystem", "strict"],
        ["ProtectHome", True],
        ["PrivateTmp", True],
        ["PrivateDevices", True],
        ["NoNewPrivileges", True],
        ["ProtectControlGroups", True],
        ["ProtectKernelTunables", True],
        ["ProtectKernelModules", True],
        ["RestrictSUIDSGID", True],
        ["RestrictAddressFamilies", ["AF_INET", "AF_INET6", "AF_UNIX"]],
        ["RestrictNamespaces", True],
        ["LockPersonality", True],
        ["CapabilityBoundingSet", ""],
    ]


def worker_list(workers: list[Any]) -> list[dict[str, Any]]:
    """Workers as router_workers takes them; an address alone is enough for one.

    Raises RouteError for one that is neither, and for a key as a value: the list is a file that
    everybody may read.
    """
    listed = []
    for worker in workers:
        named = {"url": worker} if isinstance(worker, str) else worker
        if not isinstance(named, dict) or not isinstance(named.get("url"), str):
            shown = sorted(named) if isinstance(named, dict) else named
            raise RouteError(f"sglang_router_workers has a worker without a url: {shown}")
        if named.get("api_key"):
            raise RouteError(
                f"sglang_router_workers has the key of {named['url']} as a value: put it into a "
                "file on the router's host, and name that as its api_key_file"
            )
        listed.append({**named, "url": normal_url(named["url"], "worker")})
    return listed

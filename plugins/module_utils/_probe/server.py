# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running server: its unit, its start, and what it says of itself.

This module util is private to the llmops.sglang collection.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import typing as t

from .._layout import TIER_KEY, proven_record, server_url, unit_file
from .journal import read_startup
from .redact import Redactor
from .source import Source, parse_json, read_json

Facts = dict[str, t.Any]

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "InvocationID",
    "NRestarts",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "NeedDaemonReload",
    "ActiveEnterTimestamp",
    "ActiveEnterTimestampMonotonic",
    "ControlGroup",
    "Slice",
    "MemoryMax",
    "MemoryHigh",
    "LimitMEMLOCK",
    "LimitMEMLOCKSoft",
)
# What may be told of /server_info: numbers and names the engine resolved itself, no free text.
INFO_KEYS = (
    "version",
    "max_total_num_tokens",
    "max_req_input_len",
    "tp_size",
    "pp_size",
    "dp_size",
    "page_size",
    "kv_cache_dtype",
    "mem_fraction_static",
    "max_running_requests",
    "attention_backend",
    "hicache_ratio",
    "hicache_size",
)
_PROVEN_KEYS = (
    "at",
    "invocation_id",
    "fingerprint",
    "device_tokens",
    "host_tokens",
)


def read_unit(source: Source, unit: str, timeout_s: float) -> dict[str, str]:
    """The unit's properties from one call; empty when systemd cannot be asked."""
    said = source.command(
        "systemctl-show.txt",
        ["systemctl", "show", unit, "--no-pager", f"--property={','.join(_PROPERTIES)}"],
        timeout_s,
    )
    pairs = (line.partition("=") for line in said.text.splitlines() if "=" in line)
    return {name: value for name, _sign, value in pairs}


def read_argv(source: Source, pid: int | None, redactor: Redactor) -> list[str] | None:
    """The command line of the running server, without secrets."""
    text = source.read_text(f"/proc/{pid}/cmdline") if pid is not None else None
    return redactor.argv(text.rstrip("\0\n").split("\0")) if text else None


def main_pid(show: dict[str, str]) -> int | None:
    """The main process of the unit; None when there is none."""
    return _number(show.get("MainPID")) or None


def read_server(
    source: Source,
    redactor: Redactor,
    unit: str,
    instance: str,
    show: dict[str, str],
    argv: list[str] | None,
    port: int,
    keys: t.Sequence[str],
    detail: bool,
    timeout_s: float,
) -> Facts:
    """The C(server) part of the facts."""
    if not show and source.origin == "live":
        return {"unit": unit, "reason": "systemd did not answer"}
    pid = main_pid(show)
    active = show.get("ActiveState")
    uptime = _uptime(source, show) if active == "active" else None
    url = server_url(flag_value(argv, "--host"), port)
    asks = pid is not None or source.origin == "recording"
    info = _info(source, url, keys) if asks else None
    # Of a server that does not answer the last words count too: it may be dying for a minute.
    startup = read_startup(
        source, redactor, show.get("InvocationID") or None, info is None, detail, timeout_s
    )
    _settle(startup, show, info is not None)
    code = _number(show.get("ExecMainCode"))
    return {
        "unit": unit,
        "load_state": show.get("LoadState"),
        "active_state": active,
        "sub_state": show.get("SubState"),
        "main_pid": pid,
        "invocation_id": show.get("InvocationID") or None,
        "active_since": _since(source, show, uptime),
        "uptime_s": uptime,
        "restarts": _number(show.get("NRestarts")),
        "result": show.get("Result"),
        "exit_status": _number(show.get("ExecMainStatus")) if code else None,
        "need_daemon_reload": show.get("NeedDaemonReload") == "yes",
        "argv": argv,
        "url": url if asks else None,
        "startup": startup,
        "info": info,
        "loads": _loads(source, url, keys) if asks else None,
        "tier_fingerprint": _tier(source, instance),
        "proven": _proven(source, instance),
    }


def _settle(startup: Facts, show: dict[str, str], answers: bool) -> None:
    """Bring the log's word together with systemd's and the server's own."""
    active = show.get("ActiveState")
    if active == "failed":
        startup["state"] = "failed"
        if startup["cause"] in (None, "exit") and show.get("Result") == "oom-kill":
            startup["cause"] = "host_oom_kill"
    elif active == "inactive":
        startup.update(state="absent", cause=None, cause_line=None)
    elif answers and startup["state"] in ("absent", "starting"):
        startup["state"] = "ready"  # its first lines were rotated away
    elif active in ("active", "activating") and startup["state"] == "absent":
        startup["state"] = "starting"
    if startup["state"] in ("ready", "starting"):
        startup.update(cause=None, cause_line=None)


def flag_value(argv: list[str] | None, *flags: str) -> str | None:
    """The last value of a flag on a command line, in both spellings."""
    found = None
    words = argv or []
    for position, word in enumerate(words):
        name, sign, value = word.partition("=")
        if name in flags and sign:
            found = value
        elif word in flags and position + 1 < len(words):
            found = words[position + 1]
    return found


def _info(source: Source, url: str, keys: t.Sequence[str]) -> Facts | None:
    """The allowed keys of /server_info (before 0.5.6: /get_server_info)."""
    for path in ("/server_info", "/get_server_info"):
        answer = parse_json(source.http_get("server_info.json", url + path, keys))
        if isinstance(answer, dict):
            states = answer.get("internal_states")
            first = states[0] if isinstance(states, list) and states else {}
            merged = {**(first if isinstance(first, dict) else {}), **answer}
            return {
                key: merged[key]
                for key in INFO_KEYS
                if isinstance(merged.get(key), (str, int, float))
            }
    return None


def _loads(source: Source, url: str, keys: t.Sequence[str]) -> Facts | None:
    """Requests and tokens now: /v1/loads, before 0.5.8 /get_load, else the metrics."""
    answer = parse_json(source.http_get("loads.json", f"{url}/v1/loads?include=core", keys))
    loads = answer.get("loads") if isinstance(answer, dict) else answer
    if loads is None:
        loads = parse_json(source.http_get("get_load.json", f"{url}/get_load", keys))
    if isinstance(loads, list) and loads and all(isinstance(load, dict) for load in loads):
        waiting = _sum(loads, "num_waiting_reqs")
        running = _sum(loads, "num_running_reqs")
        everything = _sum(loads, "num_reqs")
        if running is None and everything is not None:
            running = everything - (waiting or 0)
        used = _sum(loads, "num_used_tokens")
        return {
            "running": running,
            "waiting": waiting,
            "used_tokens": used if used is not None else _sum(loads, "num_tokens"),
        }
    metrics = source.http_get("metrics.txt", f"{url}/metrics", keys)
    if not metrics or "sglang:num_running_reqs" not in metrics:
        return None
    return {
        "running": _metric(metrics, "num_running_reqs"),
        "waiting": _metric(metrics, "num_queue_reqs"),
        "used_tokens": _metric(metrics, "num_used_tokens"),
    }


def _sum(loads: list[Facts], key: str) -> int | None:
    values = [load[key] for load in loads if isinstance(load.get(key), int)]
    return sum(values) if values else None


def _metric(text: str, name: str) -> int | None:
    """A gauge summed over the data parallel ranks; all ranks of a group say the same."""
    groups: dict[str, int] = {}
    for labels, value in re.findall(rf"^sglang:{name}(\{{.*\}})? ([\d.e+]+)", text, re.M):
        rank = re.search(r'dp_rank="(\d+)"', labels)
        group = rank[1] if rank else ""
        groups[group] = max(groups.get(group, 0), int(float(value)))
    return sum(groups.values()) if groups else None


def _tier(source: Source, instance: str) -> str | None:
    """From which variables the host pool of the installed unit was planned, by fingerprint."""
    text = source.read_text(unit_file(instance)) or ""
    found = re.search(rf"^{TIER_KEY}=(\w+)$", text, re.MULTILINE)
    return found[1] if found else None


def _proven(source: Source, instance: str) -> Facts | None:
    """The record of the last proof."""
    record = read_json(source, proven_record(instance))
    if not isinstance(record, dict):
        return None
    return {key: record.get(key) for key in _PROVEN_KEYS}


def _uptime(source: Source, show: dict[str, str]) -> int | None:
    """Seconds since the unit became active, by the clock that never jumps."""
    since = _number(show.get("ActiveEnterTimestampMonotonic"))
    with contextlib.suppress(ValueError, IndexError):
        now = float((source.read_text("/proc/uptime") or "").split()[0])
        return int(now - since / 1e6) if since else None
    return None


def _since(source: Source, show: dict[str, str], uptime: int | None) -> str | None:
    """When the unit became active, as UTC."""
    told = show.get("ActiveEnterTimestamp", "")
    stamp = re.search(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC", told)
    if stamp:
        return f"{stamp[1]}T{stamp[2]}Z"
    if uptime is None:
        return None
    return (source.now() - datetime.timedelta(seconds=uptime)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None

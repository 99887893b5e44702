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

from .._engine import endpoints
from .._engine.log_lines import GIB
from .._engine.version import Version
from .._layout import TIER_KEY, proven_record, server_url, unit_file
from .crashes import read_crashes
from .journal import add_result, read_startup
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
# What the answers are called in a recording.
_LOADS_NAMES = {
    "/v1/loads": "loads.json",
    "/get_load": "get_load.json",
    "/metrics": "metrics.txt",
}
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
    return number(show.get("MainPID")) or None


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
    if not show and source.knows("systemctl-show.txt"):
        return {"unit": unit, "reason": "systemd did not answer"}
    pid = main_pid(show)
    active = show.get("ActiveState")
    uptime = _uptime(source, show) if active == "active" else None
    url = server_url(flag_value(argv, "--host"), port)
    asks = pid is not None or not show
    said = _info(source, url, keys) if asks else None
    # Of a server that does not answer the last words count too: it may be dying for a minute.
    startup = read_startup(
        source, redactor, unit, show.get("InvocationID") or None, said is None, detail, timeout_s
    )
    _settle(startup, show, said is not None)
    info = None
    if said is not None:
        _fill(startup, said)
        info = _allowed(said, redactor)
    code = number(show.get("ExecMainCode"))
    return {
        "unit": unit,
        "load_state": show.get("LoadState"),
        "active_state": active,
        "sub_state": show.get("SubState"),
        "main_pid": pid,
        "invocation_id": show.get("InvocationID") or None,
        "active_since": _since(source, show, uptime),
        "uptime_s": uptime,
        "restarts": number(show.get("NRestarts")),
        "result": show.get("Result"),
        "exit_status": number(show.get("ExecMainStatus")) if code else None,
        "need_daemon_reload": show.get("NeedDaemonReload") == "yes",
        "argv": argv,
        "url": url if asks else None,
        "startup": startup,
        "info": info,
        "loads": _loads(source, url, keys, (info or {}).get("version")) if asks else None,
        "crashes": read_crashes(source, redactor, instance, timeout_s),
        "tier_fingerprint": _tier(source, instance),
        "proven": _proven(source, instance),
    }


def _settle(startup: Facts, show: dict[str, str], answers: bool) -> None:
    """Bring the log's word together with systemd's and the server's own."""
    active = show.get("ActiveState")
    if active == "failed":
        startup["state"] = "failed"
    elif active == "inactive":
        startup.update(state="absent", cause=None, cause_line=None)
    elif answers and startup["state"] in ("absent", "starting"):
        startup["state"] = "ready"  # its first lines were rotated away
    elif active in ("active", "activating") and startup["state"] == "absent":
        startup["state"] = "starting"
    if startup["state"] == "failed":
        add_result(startup, show.get("Result"))
    elif startup["state"] != "absent":
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
    """All that the server says of itself, secrets included: not for the facts as it is."""
    for path in endpoints.paths("server_info"):
        answer = parse_json(source.http_get("server_info.json", url + path, keys))
        if isinstance(answer, dict):
            states = answer.get("internal_states")
            first = states[0] if isinstance(states, list) and states else {}
            return {**(first if isinstance(first, dict) else {}), **answer}
    return None


def _allowed(info: Facts, redactor: Redactor) -> Facts:
    """What may be told of it."""
    told = {key: info[key] for key in INFO_KEYS if isinstance(info.get(key), (str, int, float))}
    return {
        key: redactor.text(value) if isinstance(value, str) else value
        for key, value in told.items()
    }


def _fill(startup: Facts, info: Facts) -> None:
    """Take from the server what the journal no longer tells of its start."""
    usage = info.get("memory_usage")
    usage = usage if isinstance(usage, dict) else {}
    told = {
        "max_total_num_tokens": _count(info.get("max_total_num_tokens"))
        or _count(usage.get("token_capacity")),
        "max_running_requests": _count(info.get("max_running_requests")),
        "swa_tokens": _count(usage.get("token_capacity_swa")),
        # The server rounds, and says GB for GiB as its log does.
        "weights_bytes_per_rank": _gib(usage.get("weight")),
        "device_bytes_per_rank": _gib(usage.get("kvcache")),
    }
    filled = {key: value for key, value in told.items() if value and startup.get(key) is None}
    if filled:
        startup.update(filled, from_server=sorted(filled))


def _count(value: t.Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _gib(value: t.Any) -> int | None:
    return int(value * GIB) if isinstance(value, (int, float)) and 0 < value < GIB else None


def _loads(source: Source, url: str, keys: t.Sequence[str], version: str | None) -> Facts | None:
    """Requests and tokens now, from the best of the endpoints that this version has."""
    known = None
    with contextlib.suppress(ValueError):
        known = Version.parse(version) if version else None
    for path in endpoints.paths("loads", known):
        body = source.http_get(_LOADS_NAMES[path], url + path, keys)
        loads = None if body is None else endpoints.parse_loads(path, endpoints.decoded(body))
        if loads is not None:
            return loads.as_dict()
    return None


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
    since = number(show.get("ActiveEnterTimestampMonotonic"))
    with contextlib.suppress(ValueError, IndexError, OverflowError):
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


def number(text: str | None) -> int | None:
    """A count in a text; None when it holds anything else."""
    return int(text) if text and re.fullmatch("[0-9]{1,18}", text) else None

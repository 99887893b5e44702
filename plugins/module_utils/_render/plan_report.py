# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A capacity as a person reads it: at most 80 columns, no colour.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .findings import findings_text
from .page import size, wrap

_GB = 10**9
_UNKNOWN = "unknown"
_STARTS = {"certain": "for certain", "likely": "with luck", "no": "not"}
_TITLE_WIDTH = 34


def plan_report(
    name: str, capacity: Mapping[str, Any], findings: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """What holds context now, what would hold more, and what to know about it.

    `findings` are those of the whole plan; without them the capacity's own are shown.
    """
    return f"{_head(name, capacity)}\n\n{options_report(capacity, findings)}"


def options_report(
    capacity: Mapping[str, Any], findings: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """The second half of a plan's report: what would hold more, and what to know about it."""
    known = findings_text(capacity["findings"] if findings is None else findings)
    blocks = [_options(capacity), f"Findings\n{known}" if known else ""]
    return "\n\n".join(block for block in blocks if block) + "\n"


def capacity_table(capacity: Mapping[str, Any]) -> str:
    """Stable `name: value` lines of what a deployment decides, for a diff of old and new."""
    device, host, requests = capacity["device"], capacity["host"], capacity["requests"]
    lines = {
        "SGLang": capacity["engine_version"],
        "device tier": _tokens(device["tokens"]),
        "device tier, per rank": _gb(device["bytes_per_rank"]),
        "host tier": _host_mode(host),
        "host tier, slots per rank": _tokens(host["tokens"]) if host["mode"] != "off" else "none",
        "host tier, per rank": _gb(host["bytes_per_rank"]),
        "host tier, on this node": _gb(host["bytes_node"]),
        "tokens in reach": _tokens(capacity["tokens"]["in_reach"]),
        f"requests of {_count(requests['context_tokens'])} tokens": _count(requests["in_reach"]),
        "longest request": _tokens(capacity["longest_request_tokens"]),
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def _head(name: str, capacity: Mapping[str, Any]) -> str:
    device, host, ram = capacity["device"], capacity["host"], capacity["ram"]
    ranks = capacity["ranks_per_node"]
    origin = f"  ({device['origin']})" if device["origin"] else ""
    if device["error_percent"] is not None:
        origin = f"  ({device['origin']}, +/- {device['error_percent']:.0f} %)"
    lines = [
        f"{name}   SGLang {capacity['engine_version']}   {ranks} rank{'s' if ranks > 1 else ''}",
        "",
        f"KV    {_per_token(capacity)}",
        f"      device tier  {_tokens(device['tokens'])}"
        f"   {_gib(device['bytes_per_rank'])} per rank{origin}",
        *(f"      {line}" for line in _host_lines(host)),
        *(f"      {line}" for line in _request_lines(capacity)),
        f"RAM   {_ram_line(ram)}",
        *wrap(f"bound by {ram['bound_by']}", "      "),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _per_token(capacity: Mapping[str, Any]) -> str:
    each = capacity["bytes_per_token"]
    if each["target"] is None:
        return "bytes per token unknown"
    draft = f", {each['draft']:,} B for the draft" if each["draft"] else ""
    return f"{each['target']:,} B per token and rank{draft}"


def _host_lines(host: Mapping[str, Any]) -> list[str]:
    if host["mode"] == "off":
        return ["host tier    none"]
    starts = _STARTS.get(host["certainty"] or "", "not checked")
    return [
        f"host tier    {_tokens(host['tokens'])}   {_gib(host['bytes_per_rank'])} per rank"
        f"   {_gib(host['bytes_node'])} in all",
        f"             {_host_mode(host)}, starts: {starts}",
    ]


def _host_mode(host: Mapping[str, Any]) -> str:
    """The choice in words, with the number that was given to the engine."""
    if host["mode"] == "ratio" and host["ratio"] is not None:
        return f"ratio {host['ratio']:.2f}"
    if host["mode"] == "size" and host["size_gb"] is not None:
        return f"size {host['size_gb']} GB per rank"
    if host["mode"] == "engine_auto":
        share = "" if host["fraction"] is None else f", {host['fraction']:g} of the RAM"
        return f"sized by SGLang{share}"
    return str(host["mode"])


def _request_lines(capacity: Mapping[str, Any]) -> list[str]:
    requests = capacity["requests"]
    return [
        f"{_count(requests['device'])} requests of {_count(requests['context_tokens'])} tokens "
        f"at once, {_count(requests['in_reach'])} in reach",
        f"longest single request {_count(capacity['longest_request_tokens'])} tokens",
    ]


def _ram_line(ram: Mapping[str, Any]) -> str:
    return (
        f"{_gib(ram['available_after_stop_bytes'])} available once stopped, "
        f"{_gib(ram['reserve_bytes'])} kept free, {_gib(ram['usable_bytes'])} usable"
    )


def _options(capacity: Mapping[str, Any]) -> str:
    options = capacity["options"]
    if not options:
        return ""
    lines = [
        "More context in parallel: what would help",
        f"  #  {'change':<{_TITLE_WIDTH}}{'tokens in reach':>16}{'RAM':>9}   starts",
    ]
    for option in options:
        if option["certainty"] != "no":
            lines.extend(_option_lines(option))
    for option in options:
        if option["certainty"] == "no":
            lines.extend(wrap(f"not offered: {option['title']} {option['note']}", "     "))
    return "\n".join([*lines, *_advice(options[0])])


def _option_lines(option: Mapping[str, Any]) -> list[str]:
    factor = f"x{option['factor']:.1f}"
    ram = size(option["ram_bytes"], 0)
    row = (
        f"{option['rank']:>3}  {option['title']:<{_TITLE_WIDTH}}{option['tokens_in_reach']:>10,}"
        f" {factor:>5} {ram:>8}  {_STARTS[option['certainty']]}"
    )
    return [row, *(wrap(option["note"], "     ") if option["note"] else [])]


def _advice(first: Mapping[str, Any]) -> list[str]:
    """How to take the best option, when it starts for certain."""
    if first["certainty"] != "certain":
        return []
    settings = [f"{name}: {value}" for name, value in first["variables"].items()]
    lead = "  Take the first:  "
    more = [f"{'':{len(lead)}}{entry}" for entry in [*settings[1:], "then llmops.sglang.deploy"]]
    return ["", f"{lead}{settings[0]}", *more]


def _count(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,}"


def _tokens(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,} tokens"


def _gb(value_bytes: int | None) -> str:
    return _UNKNOWN if value_bytes is None else f"{value_bytes / _GB:.2f} GB"


def _gib(value_bytes: int | None) -> str:
    return _UNKNOWN if value_bytes is None else size(value_bytes)

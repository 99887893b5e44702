# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A capacity as a person reads it: at most 80 columns, no colour.

Private to the collection.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .findings import findings_text
from .page import setting_lines, size, wrap
from .words import STARTS, number

_UNKNOWN = "unknown"
_TITLE_WIDTH = 34
_NEXT = "then llmops.sglang.deploy"


def plan_report(
    name: str, capacity: Mapping[str, Any], findings: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """What holds context now, what would hold more and at which price, what to know about it.

    `findings` are those of the whole plan; without them the capacity's own are shown.
    """
    return f"{_head(name, capacity)}\n\n{options_report(capacity, findings, detailed=True)}"


def options_report(
    capacity: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]] | None = None,
    *,
    detailed: bool = False,
) -> str:
    """The second half of a plan's report: what would hold more, and what to know about it.

    `detailed` tells of the best option how it adds up and what it costs.
    """
    known = findings_text(capacity["findings"] if findings is None else findings)
    blocks = [_options(capacity, detailed), f"Findings\n{known}" if known else ""]
    return "\n\n".join(block for block in blocks if block) + "\n"


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
        *(f"      {line}" for line in _other_pools(device)),
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


def _other_pools(device: Mapping[str, Any]) -> list[str]:
    """Device pools beside the one of full-length tokens, where the model has them."""
    pools = {"window pool": device["swa_tokens"], "state slots": device["state_slots"]}
    units = {"window pool": " tokens", "state slots": ""}
    return [
        f"{name:<12} {count:,}{units[name]}" for name, count in pools.items() if count is not None
    ]


def _host_lines(host: Mapping[str, Any]) -> list[str]:
    if host["mode"] == "off":
        return ["host tier    none"]
    starts = STARTS.get(host["certainty"] or "", "not checked")
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
        f"{number(requests['device'])} requests of {number(requests['context_tokens'])} tokens "
        f"at once, {number(requests['in_reach'])} in reach",
        f"longest single request {number(capacity['longest_request_tokens'])} tokens",
    ]


def _ram_line(ram: Mapping[str, Any]) -> str:
    return (
        f"{_gib(ram['available_after_stop_bytes'])} available once stopped, "
        f"{_gib(ram['reserve_bytes'])} kept free, {_gib(ram['usable_bytes'])} usable"
    )


def _options(capacity: Mapping[str, Any], detailed: bool) -> str:
    options = capacity["options"]
    if not options:
        return ""
    offered = [option for option in options if option["certainty"] != "no"]
    lines = [
        "More context in parallel: what would help",
        f"  #  {'change':<{_TITLE_WIDTH}}{'tokens in reach':>16}{'RAM':>9}   starts",
        *(line for option in offered for line in _option_lines(option)),
        *_note_lines(offered),
    ]
    for option in options:
        if option["certainty"] == "no":
            lines.extend(wrap(f"not offered: {option['title']} {option['note']}", "     "))
    if options[0]["certainty"] == "certain":
        lines += ["", *(_first(capacity, options[0]) if detailed else []), *_step(options[0])]
    return "\n".join(lines)


def _option_lines(option: Mapping[str, Any]) -> list[str]:
    """One line of numbers; a long title goes on below itself."""
    title, *more = textwrap.wrap(option["title"], _TITLE_WIDTH - 1)
    factor = f"x{option['factor']:.1f}"
    ram = size(option["ram_bytes"], 0)
    row = (
        f"{option['rank']:>3}  {title:<{_TITLE_WIDTH}}{option['tokens_in_reach']:>10,}"
        f" {factor:>5} {ram:>8}  {STARTS[option['certainty']]}"
    )
    return [row, *(f"     {line}" for line in more)]


def _note_lines(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to know about some, or why they are not certain: each note once, with its ranks."""
    ranks: dict[str, list[str]] = {}
    for option in options:
        if option["note"]:
            ranks.setdefault(option["note"], []).append(str(option["rank"]))
    lines: list[str] = []
    for note, those in ranks.items():
        head = f"     {', '.join(those)}: "
        lines += wrap(note, " " * len(head), head)
    return lines


def _first(capacity: Mapping[str, Any], first: Mapping[str, Any]) -> list[str]:
    """The best option in full."""
    requests = capacity["requests"]
    gives = (
        f"{number(first['requests'])} requests of {requests['context_tokens']:,} tokens at once, "
        f"{number(requests['device'])} on the GPUs alone"
    )
    return [
        *_entry("The first gives", [gives]),
        *_entry("How it adds up", first["arithmetic"].split("; ")),
        *_entry("What it costs", first["costs"]),
        "",
    ]


def _step(first: Mapping[str, Any]) -> list[str]:
    """How to take the best option."""
    return _entry("Take the first", [*setting_lines(first["variables"]), _NEXT])


def _entry(label: str, texts: Sequence[str]) -> list[str]:
    """Texts below each other beside their label; each goes on below itself."""
    lines: list[str] = []
    for position, text in enumerate(texts):
        head = f"  {label if not position else '':<17}"
        lines += wrap(text, f"{'':{len(head) + 2}}", head)
    return lines


def _tokens(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,} tokens"


def _gib(value_bytes: int | None) -> str:
    return _UNKNOWN if value_bytes is None else size(value_bytes)

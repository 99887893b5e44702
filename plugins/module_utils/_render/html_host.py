# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host as a section of the page: its answer, tiers, memory, options and findings.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .comparison import comparison, tokens_origin
from .html_bars import figure, key, legend
from .html_options import options_part
from .markup import Child, Markup, element
from .memory import KINDS, gpu_bars, planned_gpu_bar, ram_bars, tier_bars
from .page import amount, size
from .words import Facts, day, gpu_words, number, part, server_state

_GIB = 2**30
_TIERS = {"kv": "device tier", "pinned": "host tier, beyond the device tier"}
_NO_PLAN = (
    "Nothing is planned: sglang_model_path is not set for this host, and what fits depends on it."
)

Plan = Mapping[str, Any]


def host_section(
    name: str, ident: str, facts: Facts, plan: Plan | None, failure: str | None
) -> Markup:
    """Everything about one host; `ident` is unique on the page. What is not known says so."""
    parts: list[Child] = [element("h2", name), _identity(facts)]
    if failure:
        parts.append(element("p", f"Failed: {failure}", class_="failure"))
    if plan is not None:
        parts += [_answers(facts, plan), _tiers(ident, plan)]
    if facts:
        parts += [_gpus(ident, facts, plan), _ram(ident, facts, plan)]
    if plan is not None:
        parts += [options_part(plan["capacity"]), _findings(plan["findings"])]
    elif not failure:
        parts.append(element("p", _NO_PLAN))
    return element("section", parts, id=ident)


def _identity(facts: Facts) -> list[Markup]:
    """What the host is: its server, then its GPUs."""
    server = part(facts, "server")
    words = []
    if server:
        words += [
            str(server.get("unit") or "no unit"),
            server_state(server, part(server, "startup")),
        ]
    version = part(server, "info").get("version") or part(facts, "engine").get("version")
    words.append(f"SGLang {version or 'unknown'}")
    proven = part(server, "proven").get("at")
    words.append(
        f"proven {day(str(proven), str(facts.get('taken_at')))}" if proven else "not proven"
    )
    lines = [words, gpu_words(facts)] if facts else []
    return [element("p", "   \u00b7   ".join(line), class_="quiet") for line in lines]


# --- the answer ----------------------------------------------------------------------------------


def _answers(facts: Facts, plan: Plan) -> Markup:
    """The numbers people come for, with what they are now where that is something else."""
    capacity, running = plan["capacity"], plan.get("running")
    context = number(capacity["requests"]["context_tokens"])
    return element(
        "dl",
        _answer("tokens in reach", running, capacity, "tokens", "in_reach"),
        _answer(f"requests of {context} tokens at once", running, capacity, "requests", "in_reach"),
        _answer("RAM for the host tier", running, capacity, "host", "bytes_node"),
        _answer("longest single request, tokens", running, capacity, "longest_request_tokens"),
        class_="answers",
    )


def _answer(title: str, running: Plan | None, capacity: Plan, *path: str) -> Markup:
    say = amount if path[-1].startswith("bytes") else number
    now, planned = (None if side is None else say(_at(side, path)) for side in (running, capacity))
    words = "planned" if now is None else f"planned; now {now}"
    return element(
        "div",
        element("dt", title),
        element("dd", planned, class_="value"),
        element("dd", "now and as planned" if now == planned else words, class_="quiet"),
    )


def _at(side: Plan, path: Sequence[str]) -> int | None:
    found: Any = side
    for name in path:
        found = found[name]
    return None if found is None else int(found)


def _tiers(ident: str, plan: Plan) -> list[Markup]:
    bars = tier_bars(plan)
    scale = max((stack.total_bytes or 0 for stack in bars), default=0) or None
    origin = tokens_origin(plan["capacity"]["device"])
    reason = plan["capacity"]["device"].get("reason")
    note = f"Hatched is {origin}: {reason}." if origin and reason else None
    return [
        element("h3", "Context: tiers in tokens"),
        figure(f"{ident}-tiers", bars, key(_TIERS), _tokens, number, scale),
        element("p", note, class_="quiet") if note else Markup(),
        _comparison(plan),
    ]


def _comparison(plan: Plan) -> Markup:
    rows = [
        element(
            "tr",
            element("th", label, scope="row"),
            element("td", running, class_="number"),
            element("td", planned, class_="number" + (" changed" if running != planned else "")),
        )
        for label, running, planned in comparison(plan)
    ]
    heads = [element("th", head, scope="col", class_="number") for head in ("running", "planned")]
    head = element("tr", element("th", "what", scope="col"), heads)
    return element("table", element("thead", head), element("tbody", rows))


# --- memory --------------------------------------------------------------------------------------


def _gpus(ident: str, facts: Facts, plan: Plan | None) -> list[Markup]:
    """Empty for a host without GPUs: its first lines say so."""
    capacity = None if plan is None else plan["capacity"]
    bars = gpu_bars(facts, capacity)
    if not bars:
        return []
    planned = None if capacity is None else planned_gpu_bar(facts, capacity)
    groups = [("now, each", bars), *([("planned, each", [planned])] if planned else [])]
    return [
        element("h3", "GPU memory, GiB"),
        figure(
            f"{ident}-gpu",
            [*bars, *([planned] if planned else [])],
            legend(groups, size, KINDS),
            size,
            _short,
        ),
    ]


def _ram(ident: str, facts: Facts, plan: Plan | None) -> list[Markup]:
    bars = ram_bars(facts, plan)
    table = legend([(stack.label, [stack]) for stack in bars], size, KINDS)
    return [
        element("h3", f"RAM{_of(bars[0].total_bytes)}"),
        figure(f"{ident}-ram", bars, table, size, _short),
        element(
            "p", f"The host tier is bound by {plan['capacity']['ram']['bound_by']}.", class_="quiet"
        )
        if plan is not None
        else Markup(),
    ]


def _of(total: int | None) -> str:
    return "" if total is None else f", {total / _GIB:.0f} GiB"


def _short(value: int) -> str:
    """GiB for a segment: one decimal where there is room for it."""
    gib = value / _GIB
    return f"{gib:.0f}" if gib >= 100 else f"{gib:.1f}"


def _tokens(value: int) -> str:
    return f"{value:,} tokens"


# --- findings ------------------------------------------------------------------------------------


def _findings(findings: Sequence[Mapping[str, Any]]) -> list[Markup]:
    if not findings:
        return []
    return [element("h3", "Findings"), *_each_finding(findings)]


def _each_finding(findings: Sequence[Mapping[str, Any]]) -> Iterator[Markup]:
    for entry in findings:
        head = [
            element("b", entry["severity"]),
            f" {entry['text']} ",
            element("small", entry["id"]),
        ]
        variable = [" ", element("code", entry["variable"])] if entry["variable"] else None
        yield element(
            "div",
            element("p", head),
            element("p", entry["remedy"], variable, class_="quiet"),
            class_=f"finding {entry['severity']}",
        )

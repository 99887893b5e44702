# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a run: one file, no network, no script. Private to the collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .fleet_report import outcome
from .html_bars import hatching
from .html_host import host_section
from .html_style import STYLE
from .markup import Markup, element
from .page import amount
from .words import moment, number, part, server_state

_HEADS = ("host", "server", "SGLang", "tokens in reach", "requests at once", "RAM", "findings")


def fleet_page(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page; `hosts` maps names to `facts`, `plan`, `gate`, `proof` and `failure`, each of
    which may be absent or None. The same data give the same page."""
    names = sorted(hosts)
    title = f"SGLang on {names[0]}" if len(names) == 1 else f"SGLang on {len(names)} hosts"
    idents = {name: f"host-{position}" for position, name in enumerate(names, start=1)}
    sections = [
        host_section(
            name,
            idents[name],
            hosts[name].get("facts") or {},
            hosts[name].get("plan"),
            hosts[name].get("failure"),
        )
        for name in names
    ]
    body = element(
        "body",
        hatching(),
        element("header", element("h1", title), element("p", _taken(hosts), class_="quiet")),
        element("main", _summary(hosts, idents) if len(names) > 1 else None, sections),
        element("footer", "Made by the collection llmops.sglang.", class_="quiet"),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _taken(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """When the hosts were measured, and whether that was the hosts themselves."""
    facts = [entry["facts"] for entry in hosts.values() if entry.get("facts")]
    times = sorted(str(entry["taken_at"]) for entry in facts if entry.get("taken_at"))
    if not times:
        return "No host was measured."
    first, last = moment(times[0]), moment(times[-1])
    until = f" to {last}" if last != first else ""
    source = (
        " from a recording" if any(entry.get("origin") == "recording" for entry in facts) else ""
    )
    return f"Measured{source} {first}{until}"


def _summary(hosts: Mapping[str, Mapping[str, Any]], idents: Mapping[str, str]) -> Markup:
    rows = [_row(name, ident, hosts[name]) for name, ident in idents.items()]
    heads = [element("th", head, scope="col") for head in _HEADS]
    return element(
        "table", element("thead", element("tr", heads)), element("tbody", rows), class_="stacks"
    )


def _row(name: str, ident: str, host: Mapping[str, Any]) -> Markup:
    cells = zip(_HEADS[1:], _cells(host))
    return element(
        "tr",
        element("th", element("a", name, href=f"#{ident}"), scope="row"),
        [element("td", text, data_label=head) for head, text in cells],
    )


def _cells(host: Mapping[str, Any]) -> list[str]:
    """What the summary says about one host, in the order of its columns."""
    facts, plan = host.get("facts") or {}, host.get("plan")
    server = part(facts, "server")
    state = server_state(server, part(server, "startup")) if server else "unknown"
    if host.get("failure"):
        state = "FAILED"
    elif host.get("gate"):
        state = outcome(host)
    if plan is None:
        version = str(part(facts, "engine").get("version") or "unknown")
        return [state, version, "not planned", *["\u2013"] * 3]
    capacity, running = plan["capacity"], plan.get("running")
    findings = Counter(entry["severity"] for entry in plan["findings"])
    return [
        state,
        str(capacity["engine_version"]),
        _change(running, capacity, "tokens"),
        _change(running, capacity, "requests"),
        amount(capacity["host"]["bytes_node"]),
        ", ".join(f"{count} {severity}" for severity, count in findings.items()) or "none",
    ]


def _change(running: Mapping[str, Any] | None, capacity: Mapping[str, Any], key: str) -> str:
    planned = number(capacity[key]["in_reach"])
    now = planned if running is None else number(running[key]["in_reach"])
    return planned if now == planned else f"{now} \u2192 {planned}"

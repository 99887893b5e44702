# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways to more context as a table, with the variables to copy. Private to the collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .markup import Child, Markup, element
from .page import setting_lines, size
from .words import STARTS, number

_HEADS = ("change", "tokens in reach", "requests", "RAM", "starts")

Option = Mapping[str, Any]


def options_part(capacity: Mapping[str, Any]) -> list[Markup]:
    """Heading and table; empty where nothing is known that could be offered."""
    options = capacity["options"]
    if not options:
        return []
    heads = [element("th", head, scope="col") for head in _HEADS]
    return [
        element("h3", "More context in parallel: what would help"),
        element(
            "table",
            element("thead", element("tr", heads)),
            element("tbody", [_row(option) for option in options]),
            class_="stacks",
        ),
    ]


def _row(option: Option) -> Markup:
    factor = option["factor"]
    reach = [
        element("b", number(option["tokens_in_reach"])),
        f" x{factor:.1f}" if factor is not None else None,
    ]
    cells: list[Child] = [
        reach,
        number(option["requests"]),
        size(option["ram_bytes"], 0),
        element("span", STARTS[option["certainty"]], class_=option["certainty"]),
    ]
    return element(
        "tr",
        element("th", _change(option), scope="row"),
        [
            element("td", child, data_label=head, class_="amount")
            for head, child in zip(_HEADS[1:], cells)
        ],
        class_="dim" if option["certainty"] == "no" else None,
    )


def _change(option: Option) -> list[Markup | None]:
    """What it is and what to set, and to whom it matters, how it adds up and what it costs."""
    settings = "\n".join(setting_lines(option["variables"]))
    return [
        element("b", f"{option['rank']}. {option['title']}"),
        element("p", option["note"], class_="quiet") if option["note"] else None,
        element("pre", settings) if option["certainty"] != "no" else None,
        element(
            "details",
            element("summary", "how it adds up, what it costs"),
            _points(option["arithmetic"].split("; ")),
            _points(option["costs"]),
            class_="quiet",
            # The best one tells all at once; paper shows no more than is open.
            open="open" if option["rank"] == 1 else None,
        ),
    ]


def _points(texts: Sequence[str]) -> Markup | None:
    return element("ul", [element("li", text) for text in texts]) if texts else None

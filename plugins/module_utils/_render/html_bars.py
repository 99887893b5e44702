# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacked bars as inline SVG with a legend in numbers. Private to the collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .markup import Child, Markup, element
from .memory import KINDS, Bar

#: Share of a bar that one character of a number takes on a narrow phone.
_CHARACTER = 0.0255

Say = Callable[[int], str]


def figure(
    ident: str, bars: Sequence[Bar], legend: Markup, say: Say, short: Say, scale: int | None = None
) -> Markup:
    """Bars below each other and their legend.

    `say` writes a number with its unit, `short` without. `scale` is what a whole width stands for;
    without it each bar takes the whole width.
    """
    rows = [
        _row(f"{ident}-{number}", stack, say, short, scale) for number, stack in enumerate(bars)
    ]
    return element("figure", rows, element("figcaption", legend))


def _row(ident: str, stack: Bar, say: Say, short: Say, scale: int | None) -> Markup:
    label = element("span", stack.label)
    if stack.total_bytes is None:
        return element("div", label, element("span", stack.note, class_="dim"), class_="bar")
    return element("div", label, _svg(ident, stack, say, short, scale), class_="bar")


def _svg(ident: str, stack: Bar, say: Say, short: Say, scale: int | None) -> Markup:
    total = stack.total_bytes or 0
    whole = scale or total
    shown = {kind: size for kind, size in stack.segments.items() if size}
    told = ", ".join(f"{KINDS[kind]} {say(size)}" for kind, size in shown.items())
    children: list[Child] = [
        element("title", f"{stack.label}: {say(total)}", id=f"{ident}-t"),
        element("desc", f"{told}{', predicted' if stack.predicted else ''}", id=f"{ident}-d"),
    ]
    left = 0
    for kind, size in shown.items():
        children.append(_segment(kind, left / whole, size / whole, short(size), stack.predicted))
        left += size
    children.append(_rect(0, total / whole, "edge"))
    return element("svg", children, role="img", aria_labelledby=f"{ident}-t {ident}-d")


def _segment(kind: str, left: float, share: float, text: str, predicted: bool) -> Markup:
    """One part of a bar; places are shares of the whole width."""
    return element(
        "g",
        _rect(left, share),
        _rect(left, share, "hatch") if predicted else None,
        element("text", text, x=_percent(left + share / 2), y="50%")
        if share > _CHARACTER * len(text)
        else None,
        class_=kind,
    )


def _rect(left: float, share: float, kind: str | None = None) -> Markup:
    return element("rect", x=_percent(left), width=_percent(share), height="100%", class_=kind)


def _percent(share: float) -> str:
    return f"{100 * share:.4f}%"


def legend(
    columns: Sequence[tuple[str, Sequence[Bar]]], say: Say, names: Mapping[str, str]
) -> Markup:
    """A table of what each colour means, with one column of numbers for each group of bars.

    `names` are the kinds by their words; kinds that no bar has are left out.
    """
    known = [
        (head, [stack for stack in bars if stack.total_bytes is not None]) for head, bars in columns
    ]
    known = [(head, bars) for head, bars in known if bars]
    used = [
        kind
        for kind in names
        if any(stack.segments.get(kind) for _head, bars in known for stack in bars)
    ]
    body = [
        element(
            "tr",
            element("th", swatch(kind), names[kind], scope="row"),
            [_cell(bars, kind, say) for _head, bars in known],
        )
        for kind in used
    ]
    heads = [element("th", head, scope="col", class_="number") for head, _bars in known]
    first = element("th", "what", scope="col")
    return element("table", element("thead", element("tr", first, heads)), element("tbody", body))


def _cell(bars: Iterable[Bar], kind: str, say: Say) -> Markup:
    sizes = [stack.segments.get(kind, 0) for stack in bars]
    least, most = say(min(sizes)), say(max(sizes))
    text = most if least == most else f"{least} to {most}"
    return element("td", text if any(sizes) else "\u2013", class_="number")


def key(names: Mapping[str, str]) -> Markup:
    """What each colour means, where the numbers stand elsewhere."""
    words = [element("span", swatch(kind), text) for kind, text in names.items()]
    return element("p", words, class_="key")


def swatch(kind: str) -> Markup:
    """A square of a kind's colour."""
    square = element("g", element("rect", width="100%", height="100%"), class_=kind)
    return element("svg", square, class_="swatch", aria_hidden="true")


def hatching() -> Markup:
    """The pattern that marks what is predicted, once for the whole page."""
    line = element("path", d="M-2 2 L2 -2 M0 8 L8 0 M6 10 L10 6")
    pattern = element(
        "pattern", line, id="hatch", width="8", height="8", patternUnits="userSpaceOnUse"
    )
    return element("svg", element("defs", pattern), width="0", height="0", aria_hidden="true")

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTML and SVG elements whose text is escaped by construction. Private to the collection."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Union

#: No browser shows these, and no XML parser takes them.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_EMPTY = frozenset({"br", "meta", "rect"})


class Markup(str):
    """Text that is markup already. Every other text is escaped where it enters an element."""


Child = Union[str, None, Iterable["Child"]]


def element(name: str, *children: Child, **attributes: str | None) -> Markup:
    """An element; children are text, elements, lists of them, or None.

    Attributes of value None are left out. A trailing underscore keeps a name apart from a keyword
    of Python (`class_`), one inside stands for a hyphen (`aria_label`).
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{given} />")
    return Markup(f"<{name}{given}>{_join(children)}</{name}>")


def escape(text: str) -> Markup:
    """Text for a place inside an element or an attribute's quotes; control characters go."""
    return Markup(html.escape(_CONTROLS.sub("\ufffd", text)))


def _join(children: Child) -> str:
    if children is None:
        return ""
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return escape(children)
    return "".join(_join(child) for child in children)

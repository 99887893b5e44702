# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/rules.md from the rules themselves. Run it after a change of a rule."""

from __future__ import annotations

import re
import sys
import textwrap
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rules.md"
LEVELS = ("refuse", "warn", "advise")
GROUPS = {
    "0": "Flags, variables and secrets",
    "1": "Host and model",
    "2": "Collectives and parallelism",
    "3": "Speculation",
    "4": "KV cache",
    "5": "Parsers and backends",
}
HEAD = """\
# Rules

What the engine refuses late, does silently or never says, found before a server is touched.
`refuse`: the server would not start, or would cut or leak something; nothing is changed. `warn`: it
starts and disappoints. `advise`: there is something to know. Words in *italics* stand for what is
found on the host. After the rules, the installed engine's own parser has the last word.

<!-- Written by tools/list_rules.py. -->
"""


def page(rules: tuple[Any, ...]) -> str:
    """The whole page."""
    count = {level: sum(rule.severity == level for rule in rules) for level in LEVELS}
    parts = [HEAD, f"{len(rules)} rules: " + ", ".join(f"{count[n]} {n}" for n in LEVELS) + ".\n"]
    for group, members in groupby(rules, key=lambda rule: str(rule.id)[len("ENG-")]):
        parts.append(f"## {GROUPS[group]}\n")
        parts.extend(entry(rule) for rule in members)
    return "\n".join(parts)


def entry(rule: Any) -> str:
    """One rule: what it says, what to do, and where the engine does it."""
    about = f", `{rule.variable}`" if rule.variable and "{" not in rule.variable else ""
    lines = [
        f"### {rule.id}\n",
        wrapped(f"{rule.severity}{about}: {plain(rule.text)}"),
        wrapped(f"- Remedy: {plain(rule.remedy)}"),
        wrapped(f"- Source: {plain(rule.source)}"),
    ]
    return "\n".join(lines) + "\n"


def wrapped(text: str) -> str:
    """The text in lines of at most 100 columns."""
    rest = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text, 100, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def plain(text: str) -> str:
    """A format string over a case, for people: what is filled in becomes words in italics."""
    text = re.sub(r"\{case\.wishes\[(\w+)\]\}", r"*\1*", text)
    return re.sub(r"\{case\.(\w+)\}", lambda found: f"*{found[1].replace('_', ' ')}*", text)


def main() -> None:
    """Write the page."""
    # The rules need nothing but the standard library, so no installed collection is asked for.
    sys.path.insert(0, str(ROOT))
    from plugins.module_utils._engine.rules import RULES

    PAGE.write_text(page(RULES), encoding="utf-8")


if __name__ == "__main__":
    main()

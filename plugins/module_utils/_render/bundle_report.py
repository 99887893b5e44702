# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a recorded host was saved, and what is not in it. Private to the collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .page import wrap

_REMOVED = {
    "secrets": ("secret", "secrets"),
    "requests": ("text of a request", "texts of requests"),
}
_RENAMED = {
    "hosts": ("host", "hosts"),
    "addresses": ("address", "addresses"),
    "gpus": ("GPU", "GPUs"),
    "interfaces": ("interface", "interfaces"),
    "users": ("home folder", "home folders"),
}


def bundle_report(name: str, bundle: Mapping[str, Any], path: str) -> str:
    """A few lines for a person: where on the controller the bundle of a host is."""
    removed = bundle["removed"]
    lines = [
        f"{name}   recorded, {bundle['files']} files in {bundle['bytes'] / 1000:,.0f} kB:",
        f"  {path}",
        *wrap(f"removed: {_counted(removed, _REMOVED)}", "           ", "  "),
        *wrap(f"renamed: {_counted(removed, _RENAMED)}", "           ", "  "),
        "  Look into it before you send it:",
        f"    tar -xOzf {path} | less",
    ]
    return "\n".join(lines) + "\n"


def _counted(removed: Mapping[str, int], words: Mapping[str, tuple[str, str]]) -> str:
    counts = ((removed.get(kind) or 0, *word) for kind, word in words.items())
    told = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    return ", ".join(told) or "nothing"

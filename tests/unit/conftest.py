# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `ansible_collections.llmops.sglang` importable wherever the checkout lies."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

COLLECTION = Path(__file__).resolve().parents[2]


def _expose(name: str, path: Path) -> None:
    """Register `name` as a namespace package at `path`, unless Python finds one by itself."""
    if importlib.util.find_spec(name) is None:
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package


_expose("ansible_collections", COLLECTION.parents[1])
_expose("ansible_collections.llmops", COLLECTION.parent)
_expose("ansible_collections.llmops.sglang", COLLECTION)

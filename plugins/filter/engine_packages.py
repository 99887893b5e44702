# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What installs an SGLang version, as a filter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible_collections.llmops.sglang.plugins.module_utils._engine.packages import packages_of

_LOCKS = Path(__file__).resolve().parents[2] / "roles" / "sglang_engine" / "files" / "locks"


class FilterModule:
    """The filter `engine_packages`."""

    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """Name to function."""
        return {"engine_packages": engine_packages}


def engine_packages(version: str, cuda: int | str) -> dict[str, Any]:
    """The version's requirements, indexes, oldest Python, and the lock that comes along or "".

    Variables are looked at where no engine is installed, too; so what there are no builds of is a
    `problem` in words, and no error.
    """
    try:
        packages = packages_of(str(version), int(cuda))
    except ValueError as error:
        return {"requirements": [], "indexes": [], "python": "", "lock": "", "problem": str(error)}
    lock = _LOCKS / f"{version}-cu{int(cuda)}.txt"
    found = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(packages).items()}
    return {**found, "lock": str(lock) if lock.is_file() else "", "problem": ""}

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start sglang-router with the arguments given, and with keys that no argument list shows.

It takes keys as arguments alone, and those of a process are there for every user to see. So they
are added here, inside the process, from what systemd handed over.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def keys() -> list[str]:
    """The router's key for requests, and the one of its admin."""
    folder = Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nonexistent"))
    words = []
    for name, flag, form in (
        ("api-key", "--api-key", "{}"),
        ("admin-key", "--control-plane-api-keys", "admin:admin:admin:{}"),
    ):
        path = folder / name
        if path.is_file():
            key = path.read_text(encoding="utf-8").strip()
            if not key:
                sys.exit(f"launch: the file for the {name} holds nothing")
            words += [flag, form.format(key)]
    return words


if __name__ == "__main__":
    from sglang_router.launch_router import launch_router, parse_router_args

    launch_router(parse_router_args(sys.argv[1:] + keys()))

# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From uv's resolution (pylock.toml on stdin) to a lock in pip's format (stdout).

    lock.py COMMENT < pylock.toml > lock.txt

Needs Python 3.11 or newer. Where packages were found is left out: it may hold a password.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import tomllib

# Wheels that a GPU host could take; for the rest of the world hashes would be dead weight.
HOST_WHEEL = re.compile(r"-(?:any|[\w.]*linux[\w.]*_(?:x86_64|aarch64))\.whl$")
NOT_GLIBC = re.compile(r"-musllinux[\w.]*\.whl$")


def lock_text(resolution: dict[str, Any]) -> str:
    """One requirement per package, with the hashes of the files that a host may install it from."""
    return "".join(_requirement(package) for package in resolution["packages"])


def _requirement(package: dict[str, Any]) -> str:
    marker = f" ; {package['marker']}" if "marker" in package else ""
    hashes = sorted(
        f" \\\n    --hash=sha256:{file['hashes']['sha256']}" for file in _files(package)
    )
    return f"{package['name']}=={package['version']}{marker}{''.join(hashes)}\n" if hashes else ""


def _files(package: dict[str, Any]) -> list[dict[str, Any]]:
    """The wheels for a host; the source where there is none, as the installer would build it."""
    wheels = [wheel for wheel in package.get("wheels", []) if _is_for_hosts(_name(wheel))]
    return wheels or ([package["sdist"]] if "sdist" in package else [])


def _name(file: dict[str, Any]) -> str:
    """A file's name; uv tells it by the address alone."""
    return str(file.get("name") or (file.get("url") or file["path"]).rsplit("/", 1)[-1])


def _is_for_hosts(name: str) -> bool:
    return bool(HOST_WHEEL.search(name)) and not NOT_GLIBC.search(name)


if __name__ == "__main__":
    sys.stdout.write(f"# {sys.argv[1]}\n{lock_text(tomllib.loads(sys.stdin.read()))}")

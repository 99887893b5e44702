# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where weights come from: a hub of models, or anything that rsync can read.

This module util is private to the llmops.sglang collection.

The downloaders are the hub's own client and rsync. Here stands how they are called, and what they
say is there to be fetched.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import typing as t

_TIMEOUT_S = 300
# Name and size of every file of a model, and the commit that a branch points to now.
_LIST_HUB = """
import json, sys
from huggingface_hub import HfApi
info = HfApi().model_info(sys.argv[1], revision=sys.argv[2], files_metadata=True)
print(json.dumps({"commit": info.sha, "sizes": {s.rfilename: s.size for s in info.siblings}}))
"""
# `rsync --list-only`: mode, bytes, date, time, name.
_RSYNC_FILE = re.compile(r"^-\S{9,}\s+([0-9]+)\s+\S+\s+\S+\s(.+)$")


class OriginError(Exception):
    """Why an origin cannot be read."""


class Listing(t.NamedTuple):
    """What an origin has. C(revision) names it exactly; C(sizes) are bytes by path."""

    revision: str
    sizes: dict[str, int]

    @property
    def total_bytes(self) -> int:
        return sum(self.sizes.values())


class Hub(t.NamedTuple):
    """A model on a hub. C(python) runs an interpreter that has huggingface_hub."""

    identity: str
    revision: str
    python: str
    exclude: tuple[str, ...] = ()
    endpoint: str = ""
    token_file: str = ""

    def __str__(self) -> str:
        return f"hub {self.identity}"

    @property
    def environment(self) -> dict[str, str]:
        given = {
            "HF_ENDPOINT": self.endpoint,
            # The file's name, never the token: environments are there for everybody to see.
            "HF_TOKEN_PATH": self.token_file,
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_COLOR": "1",
        }
        return {name: value for name, value in given.items() if value}

    def listing(self) -> Listing:
        argv = [self.python, "-c", _LIST_HUB, self.identity, self.revision]
        found = json.loads(_run(argv, self.environment).strip().splitlines()[-1])
        sizes = {
            name: int(size or 0)
            for name, size in found["sizes"].items()
            if not any(fnmatch.fnmatch(name, pattern) for pattern in self.exclude)
        }
        return Listing(str(found["commit"]), sizes)

    def fetch(self, listing: Listing, folder: str) -> list[str]:
        """The command that fetches what is missing in a folder, of one commit only."""
        client = os.path.join(os.path.dirname(self.python), "hf")
        excluded = [word for pattern in self.exclude for word in ("--exclude", pattern)]
        return [
            *(client, "download", self.identity, "--revision", listing.revision),
            *("--local-dir", folder, *excluded),
        ]


class Rsync(t.NamedTuple):
    """A folder that rsync can read: C(peer:/models/x), C(rsync://peer/module/x) or a local one."""

    source: str
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"rsync {self.source}"

    @property
    def environment(self) -> dict[str, str]:
        # It may ask nobody for a password or a host key.
        return {"RSYNC_RSH": "ssh -o BatchMode=yes"}

    def listing(self) -> Listing:
        argv = [*self._rsync(), "--list-only", "--no-human-readable", self._folder]
        found = map(_RSYNC_FILE.match, _run(argv, self.environment).splitlines())
        return Listing(self.source, {line[2]: int(line[1]) for line in found if line})

    def fetch(self, listing: Listing, folder: str) -> list[str]:
        """The command that fetches what is missing in a folder; of half a file, the other half.

        A file is written beside the old one and renamed: the old one may be a hard link to weights
        that a server reads.
        """
        kept = ["--times", "--perms", "--partial-dir=.rsync-partial"]
        return [*self._rsync(), *kept, self._folder, f"{folder}/"]

    @property
    def _folder(self) -> str:
        return self.source.rstrip("/") + "/"

    def _rsync(self) -> list[str]:
        excluded = [f"--exclude={pattern}" for pattern in self.exclude]
        return ["rsync", "--recursive", "--copy-links", *excluded]


Origin = t.Union[Hub, Rsync]


def _run(argv: list[str], environment: dict[str, str]) -> str:
    """The output of a command. Raises OriginError with its last words."""
    try:
        # Not run_command: this is no method of a module.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            argv,
            env={**os.environ, "LC_ALL": "C", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise OriginError(f"{argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise OriginError(f"no answer within {_TIMEOUT_S} s") from error
    if done.returncode:
        words = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise OriginError(" ".join(words[-2:])[:500] or f"exit status {done.returncode}")
    return done.stdout

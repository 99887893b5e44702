# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the unit's user may read, found by trying it as that user.

Modes, ACLs, what a file server makes of root: nothing but a try knows them all.

Private to the collection.
"""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .._probe.weights import is_loaded


@dataclass(frozen=True)
class Obstacle:
    """A file or folder that a user may not read or enter, and the system's reason."""

    path: Path
    reason: str


def find_obstacle(model: Path, user: str, group: str | None) -> Obstacle | None:
    """Open every file that a server loads from a model, as a user; None when all can be read.

    Raises LookupError when there is no such user or group, PermissionError when this process may
    not act as them.
    """
    with _acting_as(user, group):
        try:
            files = [model]
            if not model.is_file():
                files = [model / name for name in sorted(os.listdir(model)) if is_loaded(name)]
        except FileNotFoundError:
            return None
        except OSError as error:
            return _obstacle(model, error)
        for file in files:
            try:
                os.close(os.open(file, os.O_RDONLY))
            except FileNotFoundError:
                continue
            except OSError as error:
                return _obstacle(file, error)
    return None


def _obstacle(path: Path, error: OSError) -> Obstacle:
    """The topmost folder on the way that cannot be entered, else the path itself."""
    # A link's way leads elsewhere, as in the hub's cache.
    way = [*reversed(path.parents), *reversed(Path(os.path.realpath(path)).parents)]
    closed = (folder for folder in way if not os.access(folder, os.X_OK, effective_ids=True))
    return Obstacle(next(closed, path), error.strerror or str(error))


@contextmanager
def _acting_as(user: str, group: str | None) -> Iterator[None]:
    """Have the rights of a user on files, for as long as it lasts."""
    account = pwd.getpwnam(user)
    gid = grp.getgrnam(group).gr_gid if group else account.pw_gid
    if (account.pw_uid, gid) == (os.geteuid(), os.getegid()):
        yield
        return
    groups, own_gid, own_uid = os.getgroups(), os.getegid(), os.geteuid()
    os.setgroups(os.getgrouplist(user, gid))
    try:
        os.setegid(gid)
        os.seteuid(account.pw_uid)
        yield
    finally:
        os.seteuid(own_uid)
        os.setegid(own_gid)
        os.setgroups(groups)

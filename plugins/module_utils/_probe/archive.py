# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives of recorded hosts: written in one go, read without writing anything.

This module util is private to the llmops.sglang collection.

In memory an archive is a mapping of paths to contents. A path without content (None) is a name that
was seen in its folder and not read.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
import tempfile
import time
import typing as t

Members = dict[str, t.Optional[bytes]]

# The largest part is the index of a large model's weights, some 20 MB.
MAX_FILE_BYTES = 256 << 20
MAX_BYTES = 1 << 30
MAX_MEMBERS = 200_000


def read_archive(path: str) -> Members:
    """The members of a tar file, compressed or not, by their paths below its top folder.

    Links, devices and paths that lead out of the archive are ignored. Raises ValueError when it is
    no archive or too large to be a recording.
    """
    members: Members = {}
    room = MAX_BYTES
    try:
        with tarfile.open(path) as archive:
            for count, member in enumerate(archive):
                if count > MAX_MEMBERS or member.size > min(room, MAX_FILE_BYTES):
                    raise ValueError(f"{path} is too large to be a recording")
                name = _safe(member.name)
                if name is None or not (member.isfile() or member.isdir()) or member.issparse():
                    continue
                stream = archive.extractfile(member) if member.isfile() else None
                members[name] = None if stream is None else stream.read()
                room -= member.size
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a recording: {error}") from error
    return members


def write_archive(path: str, members: Members) -> int:
    """Write a tar.gz that only its owner may read, whole or not at all; return its bytes.

    Raises OSError. A file that is there already is replaced.
    """
    modified_s = int(time.time())
    descriptor, temporary = tempfile.mkstemp(  # mode 0600
        prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or "."
    )
    try:
        with os.fdopen(descriptor, "wb") as raw:
            with (
                gzip.GzipFile("", "wb", 6, raw, modified_s) as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
            ):
                for name in sorted(members):
                    _add(archive, name, members[name], modified_s)
            raw.flush()
            os.fsync(raw.fileno())
            written = raw.tell()
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return written


def _add(archive: tarfile.TarFile, name: str, data: bytes | None, modified_s: int) -> None:
    """Add one member; its owner is nobody in particular."""
    member = tarfile.TarInfo(name)
    member.mtime = modified_s
    member.mode = 0o600
    if data is None:
        member.type, member.mode = tarfile.DIRTYPE, 0o700
        archive.addfile(member)
    else:
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))


def _safe(name: str) -> str | None:
    """The path of a member; None for one outside the archive and for the archive itself."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and ".." not in parts else None

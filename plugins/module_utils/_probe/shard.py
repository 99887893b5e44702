# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One file of a model folder: how long it has to be, and what tells it from another one.

This module util is private to the llmops.sglang collection.

A weight file has gigabytes, so only its header and a few blocks of its data are read.
"""

from __future__ import annotations

import hashlib
import io
import re
import typing as t

# The format's own limit; a longer header is no header.
MAX_HEADER_BYTES = 100_000_000
# Smaller files are read whole: a tokenizer may change in a single letter.
_WHOLE_BYTES = 32 << 20
# New weights differ almost everywhere, so a few blocks show them. More would cost seconds on a
# network file system.
_BLOCKS = 8
_BLOCK_BYTES = 4096
_POINTER = b"version https://git-lfs"


class Shard(t.NamedTuple):
    """What a file tells of itself.

    C(promised_bytes) is the length that its own header tells, None when its format has none.
    C(digest) changes with the content and stays the same in a copy. C(problem) says why the file
    cannot be what its name says.
    """

    promised_bytes: int | None
    digest: str
    problem: str | None


def read_shard(path: str) -> Shard:
    """Look into a file. Raises OSError when it cannot be read."""
    with open(path, "rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        header, promised, problem = _header(stream, path, size)
        digest = hashlib.sha256(header)
        for start, count in _samples(len(header), size):
            stream.seek(start)
            digest.update(stream.read(count))
    return Shard(promised, digest.hexdigest()[:16], problem)


def _header(stream: t.BinaryIO, path: str, size: int) -> tuple[bytes, int | None, str | None]:
    """The header with its length, the length of the whole file that it tells, what is wrong."""
    stream.seek(0)
    start = stream.read(len(_POINTER))
    if start == _POINTER:
        return b"", None, "a Git LFS pointer instead of the file"
    if path.endswith(".gguf") and start[:4] != b"GGUF":
        return b"", None, "not a GGUF file"
    if not path.endswith(".safetensors"):
        return b"", None, None
    length = int.from_bytes(start[:8], "little")
    if size < 8 or 8 + length > size:
        return b"", 8 + length, None
    if length > MAX_HEADER_BYTES:
        return b"", None, "no safetensors header"
    stream.seek(0)
    header = stream.read(8 + length)
    if header[8:9] != b"{":
        return b"", None, "no safetensors header"
    ends = re.findall(rb'"data_offsets"\s*:\s*\[\s*[0-9]{1,18}\s*,\s*([0-9]{1,18})', header)
    return header, 8 + length + max((int(end) for end in ends), default=0), None


def _samples(header_bytes: int, size: int) -> list[tuple[int, int]]:
    """Offset and length of what is read behind the header."""
    data = size - header_bytes
    if data <= _WHOLE_BYTES:
        return [(header_bytes, data)]
    step = (data - _BLOCK_BYTES) // (_BLOCKS - 1)
    return [(header_bytes + step * number, _BLOCK_BYTES) for number in range(_BLOCKS)]

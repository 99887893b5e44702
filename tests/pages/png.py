# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the pictures that a browser takes: 8-bit RGB or RGBA, not interlaced."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {2: 3, 6: 4}

Color = tuple[int, int, int]


def colors(data: bytes) -> Counter[Color]:
    """How many pixels of each colour a picture has. Raises ValueError for any other format."""
    if not data.startswith(SIGNATURE):
        raise ValueError("not a PNG")
    chunks = list(_chunks(data))
    width, height, depth, kind, *_rest, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    if depth != 8 or kind not in _CHANNELS or interlaced:
        raise ValueError(f"a PNG of depth {depth}, colour type {kind}, interlaced {interlaced}")
    step = _CHANNELS[kind]
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    found: Counter[Color] = Counter()
    above = bytes(width * step)
    for start in range(0, height * (width * step + 1), width * step + 1):
        line = raw[start + 1 : start + 1 + width * step]
        above = _unfiltered(raw[start], line, above, step)
        found.update(zip(above[0::step], above[1::step], above[2::step]))
    return found


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        yield name, data[at + 8 : at + 8 + size]
        at += size + 12


def _unfiltered(kind: int, line: bytes, above: bytes, step: int) -> bytes:
    """One row of a picture from the row above it, as the PNG specification has it."""
    if kind == 0:
        return line
    if kind == 2:
        return bytes((one + two) & 255 for one, two in zip(line, above))
    row = bytearray(line)
    for at in range(len(row)):
        left = row[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        row[at] = (row[at] + _predicted(kind, left, above[at], corner)) & 255
    return bytes(row)


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda near: abs(guess - near))

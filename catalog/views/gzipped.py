"""Builds one gzip member from parts that were compressed before (RFC 1951, 2; RFC 1952, 2.3).

A part ends on a byte boundary and does not refer to other parts (zlib's full flush), so parts can follow in any order.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

LEVEL = 6
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # no name, no time, any system
_LAST = b"\x03\x00"  # an empty block, marked as the last one
_RAW = -zlib.MAX_WBITS  # without zlib's own header


def part(plain: bytes) -> bytes:
    """Compress these bytes to blocks that other blocks may follow."""
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, _RAW)
    return deflate.compress(plain) + deflate.flush(zlib.Z_FULL_FLUSH)


def joined(plain: Iterable[bytes], compressed: Iterable[bytes]) -> list[bytes]:
    """The gzip form of these parts, in pieces. `compressed` has the parts in the same order, each made by `part`."""
    checksum = size = 0
    for piece in plain:
        checksum = zlib.crc32(piece, checksum)
        size += len(piece)
    return [_HEADER, *compressed, _LAST, struct.pack("<II", checksum, size & 0xFFFFFFFF)]

"""One gzip member out of parts that were compressed before (RFC 1951, 2; RFC 1952, 2.3).

A part ends at a byte and refers to nothing outside of itself (zlib's full flush), so parts can follow each other in any
order.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

LEVEL = 6
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # no name, no time, any system
_LAST = b"\x03\x00"  # an empty block that says it is the last
_RAW = -zlib.MAX_WBITS  # without zlib's own header


def part(plain: bytes) -> bytes:
    """These bytes as blocks that others may follow."""
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, _RAW)
    return deflate.compress(plain) + deflate.flush(zlib.Z_FULL_FLUSH)


def joined(plain: Iterable[bytes], compressed: Iterable[bytes]) -> list[bytes]:
    """The gzip form of these parts, in pieces; they come plain and, in the same order, as `part` compressed them."""
    checksum = size = 0
    for piece in plain:
        checksum = zlib.crc32(piece, checksum)
        size += len(piece)
    return [_HEADER, *compressed, _LAST, struct.pack("<II", checksum, size & 0xFFFFFFFF)]

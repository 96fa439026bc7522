"""The common part of drivers for engines that use stdin and stdout: JSON records, one per line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

MAX_LINE_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024


async def lines(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    """Yield records, which end with LF only. A record may be larger than any buffer of the stream. Raises ValueError
    for a record without an end.
    """
    rest = b""
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise ValueError("a record without an end")
        for line in whole:
            if line.strip():
                yield line

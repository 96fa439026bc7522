"""The lines that an engine sends, over stdout or HTTP: JSON records or events, one per line."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agents.engines.base import EngineError

MAX_LINE_BYTES = 64 * 1024 * 1024


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield lines that are not empty. They end with LF only, and may be larger than any buffer of the stream. Raises
    EngineError for a line without an end.
    """
    rest = bytearray()
    async for chunk in chunks:
        *ends, begins = chunk.split(b"\n")  # only the new bytes are searched: an engine may send one at a time
        for end in ends:
            line = bytes(rest + end)
            rest.clear()
            if line.strip():
                yield line
        rest += begins
        if len(rest) > MAX_LINE_BYTES:
            raise EngineError("the engine sends a piece without an end")

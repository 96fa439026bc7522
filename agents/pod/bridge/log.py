"""The engine's log: kept as evidence and sent to the gateway, without secrets. The engine never waits for its log."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable

from agents.pod.bridge.log_buffer import LogBuffer
from agents.pod.logs.budget import Budget
from agents.pod.logs.lines import LINE_BYTES, Level, LogLine, LogSource, level_of, prepared, with_lines
from agents.pod.masking import mask_text

KEPT_LINES = 20
LINE_CHARACTERS = 400  # of a line that is kept as evidence
CHUNK_BYTES = 64 * 1024
# How much an engine may log. The rest is read and thrown away: it must neither slow down the engine nor fill the
# memory.
LINES_PER_SECOND, BURST_LINES = 200.0, 2000.0
BYTES_PER_SECOND, BURST_BYTES = 128.0 * 1024, 1024.0 * 1024
# This long after the first dropped line, the log says how much was dropped, and shows the last dropped lines.
TELL_SECONDS = 1.0
LAST_WORDS = 20


class EngineLog:
    def __init__(self, log_buffer: LogBuffer | None = None, *, noise: str = "") -> None:
        self.log_buffer = log_buffer or LogBuffer()
        self._noise = noise
        self._lines: deque[tuple[float, str]] = deque(maxlen=KEPT_LINES)
        self._secrets: list[str] = []
        self._count = Budget(rate=LINES_PER_SECOND, burst=BURST_LINES)
        self._size = Budget(rate=BYTES_PER_SECOND, burst=BURST_BYTES)

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on these secrets never appear in the log."""
        self._secrets = list(dict.fromkeys([*self._secrets, *with_lines(secrets)]))

    @property
    def secrets(self) -> list[str]:
        return self._secrets

    @property
    def evidence(self) -> list[str]:
        return [text for _, text in self._lines]

    def heard(self, *, seconds: float) -> list[str]:
        """The lines of the last `seconds` seconds."""
        since = time.monotonic() - seconds
        return [text for at, text in self._lines if at >= since]

    def masked(self, text: str) -> str:
        return mask_text(text, self._secrets)

    def note(self, line: str, *, source: LogSource = LogSource.ENGINE) -> None:
        text = prepared(line, self._secrets)
        if text:
            self._keep(text, source, level_of(text) if source is LogSource.ENGINE else Level.WARNING)

    def tell(self, text: str, level: Level = Level.INFO) -> None:
        """Add a line that is meant for people and does not count as evidence."""
        self._hand_on(prepared(text, self._secrets), LogSource.BRIDGE, level)

    async def follow(self, stream: asyncio.StreamReader | None) -> None:
        """Read lines until the stream ends, as fast as they arrive."""
        if stream is None:
            return
        hearing = _Hearing(self)
        try:
            while chunk := await stream.read(CHUNK_BYTES):
                hearing.hear(chunk)
        finally:
            hearing.end()

    def takes(self, lines: int, size: int) -> bool:
        """Whether the limits have room for this many lines of this total size. If so, the room is used up."""
        return self._size.left >= size and self._count.take(lines) and self._size.take(size)

    def _keep(self, text: str, source: LogSource, level: Level | None) -> None:
        if not (self._noise and text.startswith(self._noise)):
            self._lines.append((time.monotonic(), text[:LINE_CHARACTERS]))
        self._hand_on(text, source, level)

    def _hand_on(self, text: str, source: LogSource, level: Level | None) -> None:
        self.log_buffer.add(LogLine(at=time.time(), source=source, level=level, text=text))


class _Hearing:
    """One output stream, cut into lines. It keeps the beginning of a long line, and the last lines of a flood."""

    def __init__(self, log: EngineLog) -> None:
        self._log = log
        self._rest = b""  # the beginning of the line that has not ended
        self._cut = 0  # number of bytes of that line that were thrown away
        self._dropped = 0  # number of lines that were thrown away
        self._flood = b""  # the last bytes of those lines
        self._telling: asyncio.TimerHandle | None = None

    def hear(self, chunk: bytes) -> None:
        ended, newline, begun = chunk.rpartition(b"\n")
        if not newline:
            self._go_on(chunk)
            return
        first, _, others = ended.partition(b"\n")
        self._go_on(first)
        whole = [(self._rest, self._cut)]
        self._rest, self._cut = b"", 0
        count = 1 + (others.count(b"\n") + 1 if others else 0)
        if self._dropped or not self._log.takes(count, len(ended)):
            self._drop(count, ended)
        else:
            whole += [(line, 0) for line in others.split(b"\n")] if others else []
            for line, cut in whole:
                self._note(line, cut)
        self._go_on(begun)

    def end(self) -> None:
        if self._telling:
            self._telling.cancel()
        self._tell()
        if self._rest:
            self._note(self._rest, self._cut)

    def _go_on(self, piece: bytes) -> None:
        room = max(LINE_BYTES - len(self._rest), 0)
        self._rest += piece[:room]
        self._cut += max(len(piece) - room, 0)

    def _note(self, line: bytes, cut: int) -> None:
        line, cut = line[:LINE_BYTES], cut + max(len(line) - LINE_BYTES, 0)
        text = line.decode("utf-8", "replace")
        self._log.note(text)
        if cut:
            self._log.tell(f"{cut} bytes of the line above dropped: it is too long", Level.WARNING)

    def _drop(self, count: int, ended: bytes) -> None:
        self._dropped += count
        self._flood = ended[-CHUNK_BYTES:]
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        """Say how much was dropped, and log the last dropped lines. The first of them is skipped, because its beginning
        may be missing.
        """
        self._telling = None
        if not self._dropped:
            return
        last = self._flood.split(b"\n")[1:][-LAST_WORDS:]
        missing = self._dropped - len(last)
        self._dropped, self._flood = 0, b""
        if missing > 0:
            self._log.tell(f"{missing} lines dropped: the engine writes more than can be kept", Level.WARNING)
        for line in last:
            self._note(line, 0)

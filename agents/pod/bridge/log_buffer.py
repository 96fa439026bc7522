"""A buffer in memory for log lines on their way to the gateway, which stores them. The engine never waits for it."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable

from agents.pod.logs.budget import Budget
from agents.pod.logs.lines import Level, LogLine, LogSource, prepared

# The limit while the gateway fetches no lines.
MOST_BYTES = 1024 * 1024
LINE_OVERHEAD_BYTES = 200
# A stream without new lines sends an empty line this often (seconds), to show that it is alive.
BEAT_SECONDS = 30.0
# Limits for the bridge's own log lines.
LINES_PER_SECOND, BURST_LINES = 20.0, 500.0
ENDING = b'{"ending":true}\n'

_LEVELS = {logging.DEBUG: Level.DEBUG, logging.INFO: Level.INFO, logging.WARNING: Level.WARNING}


class LogBuffer:
    """Numbers lines from 1. `life` is a new random id for each run of the bridge, because numbers start again at 1."""

    def __init__(self) -> None:
        self.life = secrets.token_hex(8)
        self._lines: deque[tuple[int, int, LogLine]] = deque()  # each with its number, its size in bytes, and the line
        self._bytes = 0
        self._last = 0
        self._news = asyncio.Event()
        self._is_ending = self._is_closed = False

    def add(self, line: LogLine) -> None:
        self._last += 1
        size = len(line.text) + LINE_OVERHEAD_BYTES
        self._lines.append((self._last, size, line))
        self._bytes += size
        while self._bytes > MOST_BYTES:
            self._bytes -= self._lines.popleft()[1]
        self._news.set()

    def ending(self) -> None:
        """The pod is about to end: readers should wait for the last line."""
        self._is_ending = True
        self._news.set()

    def close(self) -> None:
        """No more lines follow."""
        self._is_closed = True
        self._news.set()

    async def stream(self, *, life: str, after: int) -> AsyncGenerator[bytes, None]:
        """All lines after this number, as JSON, as they arrive, until the bridge ends. Empty lines show that the stream
        is alive.
        """
        at = after if life == self.life and 0 <= after <= self._last else 0
        told_of_end = False
        while True:
            self._news.clear()
            if found := self._after(at):
                at = self._last
                yield b"".join(found)
            if self._is_ending and not told_of_end:
                told_of_end = True
                yield ENDING
            if self._is_closed and at == self._last:
                return
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                yield b"\n"

    def _after(self, number: int) -> list[bytes]:
        first = self._lines[0][0] if self._lines else self._last + 1
        missed = first - number - 1
        told = [_encoded(first - 1, _missed(missed))] if missed > 0 and number > 0 else []
        skipped = max(number - first + 1, 0)
        return told + [_encoded(each, line) for each, _, line in list(self._lines)[skipped:]]


class SpoolHandler(logging.Handler):
    """Puts the bridge's own log lines into the log_buffer. May be called from any thread."""

    def __init__(self, log_buffer: LogBuffer, secrets_now: Callable[[], Iterable[str]]) -> None:
        super().__init__(logging.INFO)
        self._log_buffer = log_buffer
        self._secrets = secrets_now
        self._budget = Budget(rate=LINES_PER_SECOND, burst=BURST_LINES)
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        if not self._budget.take():
            return
        level = _LEVELS.get(record.levelno, Level.ERROR)
        for text in self.format(record).splitlines():
            line = LogLine(
                at=record.created, source=LogSource.BRIDGE, level=level, text=prepared(text, self._secrets())
            )
            if line.text and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._log_buffer.add, line)


def _missed(count: int) -> LogLine:
    text = f"{count} lines dropped: they came faster than they could be kept"
    return LogLine(at=time.time(), source=LogSource.BRIDGE, level=Level.WARNING, text=text)


def _encoded(number: int, line: LogLine) -> bytes:
    return json.dumps({"n": number}).encode()[:-1] + b"," + line.encoded()[1:]

"""The pod's log: the log lines of the bridge and the engine, and the gateway's own, in one ring (a log of limited
size).
The bridge is in the engine's container, so any program may answer in its place. Its lines are cleaned and masked once
more here, where the model key is known, and only as many are accepted as there is room for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import aiohttp

from agents.pod.gateway.pod import Pod
from agents.pod.logs.budget import Budget
from agents.pod.logs.lines import Level, LogLine, LogSource, decoded, prepared, with_lines
from agents.pod.logs.log_files import DIRECTORY, LogFiles
from agents.pod.logs.reading import LinesPage

log = logging.getLogger(__name__)

LIFE_HEADER = "Log-Life"
AGAIN_SECONDS = 1.0
SILENCE_SECONDS = 90.0  # the bridge sends a sign of life every 30 seconds
LINE_BYTES = 64 * 1024
# The most bytes that are accepted from the bridge. Above this, the bridge waits, and drops lines that it cannot hold.
BYTES_PER_SECOND, BURST_BYTES = 256.0 * 1024, 2.0 * 1024 * 1024
# Limits for the gateway's own log lines.
LINES_PER_SECOND, BURST_LINES = 10.0, 300.0
# At its end the gateway waits for the bridge's last lines: LAST_SECONDS, or up to ENDING_SECONDS more if the bridge is
# ending too.
LAST_SECONDS, ENDING_SECONDS = 0.5, 16.0
# The most readers that wait for new lines. They are few, because each is the control plane.
MOST_WAITING = 64

LOOKED_BACK_LINES = 500
_LIFE = re.compile(r"[0-9a-f]{16}")
_MARK = re.compile(r"([0-9a-f]{16}):(\d{1,15})")

_LEVELS = {logging.DEBUG: Level.DEBUG, logging.INFO: Level.INFO, logging.WARNING: Level.WARNING}


class PodLog:
    """The ring, and an event for its readers. While the disk is full, lines are dropped; the next line that can be
    written says how many.
    """

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._ring = LogFiles(Path(pod.start.run_dir) / DIRECTORY)
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._lost = 0
        self.waiting = 0

    @property
    def life(self) -> str:
        return self._ring.life

    @property
    def end(self) -> int:
        return self._ring.end

    def secrets(self) -> list[str]:
        return with_lines(self._pod.secret_texts())

    def keep(self, lines: list[LogLine]) -> None:
        """Store lines. May be called from any thread."""
        told = [_line(f"{self._lost} lines dropped: they could not be written", Level.WARNING)] if self._lost else []
        try:
            self._ring.append([*told, *lines])
            self._lost = 0
        except OSError:
            self._lost += len(lines)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell)

    def page(self, *, after: int | None, limit: int, source: LogSource | None, most_bytes: int) -> LinesPage:
        return self._ring.page(after=after, limit=limit, source=source, most_bytes=most_bytes)

    def tail(self, size: int) -> tuple[int, bytes]:
        return self._ring.tail(size)

    def fetched(self) -> tuple[str, int]:
        """The last line of the bridge that is in the log, as the bridge's life id and the line's number. An earlier
        process of this gateway may have fetched it.
        """
        page = self._ring.page(after=None, limit=LOOKED_BACK_LINES)
        marks = [match for _, line in page.lines if (match := _MARK.fullmatch(line.mark))]
        return (marks[-1][1], int(marks[-1][2])) if marks else ("", 0)

    async def wait(self, *, after: int, seconds: float) -> None:
        """Wait until there is something after this offset, or until `seconds` have passed."""
        if self.waiting >= MOST_WAITING:
            return
        self.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                while self._ring.end == after:
                    await self._news.wait()
        except TimeoutError:
            return
        finally:
            self.waiting -= 1

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class PodLogHandler(logging.Handler):
    """Puts the gateway's own log lines into the pod's log."""

    def __init__(self, pod_log: PodLog) -> None:
        super().__init__(logging.INFO)
        self._log = pod_log
        self._budget = Budget(rate=LINES_PER_SECOND, burst=BURST_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        level, secrets = _LEVELS.get(record.levelno, Level.ERROR), self._log.secrets()
        texts = [prepared(text, secrets) for text in self.format(record).splitlines()]
        if self._budget.take(len(texts)):
            self._log.keep([_line(text, level, at=record.created) for text in texts if text])


class Collector:
    """Fetches the bridge's log lines for as long as the gateway runs."""

    def __init__(self, session: aiohttp.ClientSession, pod: Pod, pod_log: PodLog) -> None:
        self._session = session
        self._url = f"{pod.start.bridge_url.rstrip('/')}/logs"
        self._headers = {"Authorization": f"Bearer {pod.start.bridge_token}"}
        self._log = pod_log
        self._budget = Budget(rate=BYTES_PER_SECOND, burst=BURST_BYTES)
        self._life, self._after = pod_log.fetched()
        self._ending = False  # the bridge has said that it is about to end
        self._ended = asyncio.Event()  # no bridge is connected now
        self._task = asyncio.create_task(self._collect())

    async def finish(self) -> None:
        """Fetch the last lines of a bridge that ends at the same time as the gateway, then stop."""
        for seconds in (LAST_SECONDS, ENDING_SECONDS):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), seconds)
            if not self._ending:
                break
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _collect(self) -> None:
        """Read from the bridge; when the connection ends, connect again."""
        while True:
            self._ending = False
            self._ended.clear()
            try:
                await self._listen()
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                log.debug("the bridge's log broke off: %r", error)
            self._ended.set()
            await asyncio.sleep(AGAIN_SECONDS)

    async def _listen(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=SILENCE_SECONDS)
        asked = {"life": self._life, "after": str(self._after)}
        async with self._session.get(self._url, params=asked, headers=self._headers, timeout=timeout) as answer:
            if answer.status != 200:
                return
            life = answer.headers.get(LIFE_HEADER, "")
            if not _LIFE.fullmatch(life):
                return
            if life != self._life:
                self._life, self._after = life, 0
            rest = b""
            async for piece in answer.content.iter_any():
                *whole, rest = (rest + piece).split(b"\n")
                self._take(whole)
                if len(rest) > LINE_BYTES:
                    raise ValueError("a line of the bridge's log does not end")
                await asyncio.sleep(self._budget.owe(len(piece)))

    def _take(self, raw_lines: list[bytes]) -> None:
        secrets = self._log.secrets()
        found = []
        for raw in raw_lines:
            fields = _fields(raw)
            if fields.get("ending") is True:
                self._ending = True
            number, line = fields.get("n"), decoded(raw) if "x" in fields else None
            if isinstance(number, int) and 0 < number < 10**15 and line and line.source is not LogSource.GATEWAY:
                self._after = max(self._after, number)
                found.append(self._own(line, secrets))
        if found:
            self._log.keep(found)

    def _own(self, line: LogLine, secrets: list[str]) -> LogLine:
        text, mark = prepared(line.text, secrets), f"{self._life}:{self._after}"
        return LogLine(at=_sane(line.at), source=line.source, level=line.level, text=text, mark=mark)


def _fields(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _sane(at: float) -> float:
    """The time of a line. Bridge and gateway share one clock, so a time far from now is replaced by now."""
    now = time.time()
    return at if now - 3600 <= at <= now + 1 else now


def _line(text: str, level: Level, *, at: float | None = None) -> LogLine:
    return LogLine(at=at or time.time(), source=LogSource.GATEWAY, level=level, text=text)

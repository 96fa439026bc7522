"""The common part of drivers for engines that use stdin and stdout: JSON records, one per line. Such a process serves
one conversation.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any, Self

from agents.engines.base import EngineError
from agents.engines.lines import lines

log = logging.getLogger(__name__)

Json = dict[str, Any]
Events = asyncio.Queue[Json | EngineError]

ANSWER_SECONDS = 5.0
ABORT_SECONDS = 5.0
_CHUNK_BYTES = 256 * 1024


class StdioDriver(ABC):
    """Each command has a number, and its answer repeats it. The engine's own driver adds what a command and an answer
    look like, and how a turn is run.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._events: Events | None = None
        self._gone: EngineError | None = None
        self._aborting: asyncio.Task[Any] | None = None
        self._reader = asyncio.create_task(self._read())

    @abstractmethod
    async def probe(self) -> None:
        """Return when the engine answers."""

    @abstractmethod
    def _take(self, record: Json) -> None:
        """Take a record: an answer, or an event of the turn."""

    @abstractmethod
    def _abort(self) -> None:
        """Abort the turn in the background. Only the next turn waits for the end: a stopped engine answers when it
        continues.
        """

    def usable(self) -> bool:
        return self._gone is None

    def conversation(self, session: str) -> Self:
        return self  # the process was started for this conversation

    async def channels(self) -> dict[str, str | None]:
        return {}

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        raise EngineError(f"the engine takes no messages of {channel} from the platform")

    async def wind_down(self) -> None:
        self._abort()  # these engines react to SIGTERM at once, also in the middle of a turn

    def fail(self, error: EngineError) -> None:
        if self._events is not None:
            self._events.put_nowait(error)

    async def _answers_now(self) -> None:
        """Wait until the turn before is over, because its late events would be taken for those of the next turn. Raises
        EngineError if the engine is too slow.
        """
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self.probe()
        except TimeoutError as error:
            raise EngineError("the engine does not answer") from error
        if self._aborting is None:
            return
        done, _ = await asyncio.wait({self._aborting}, timeout=ABORT_SECONDS)
        if not done:
            self._gone = EngineError("the engine did not end an aborted turn")
            raise self._gone
        self._aborting = None

    async def _answer_to(self, number: str, record: Json) -> Json:
        """Write the command with this number and wait for its answer."""
        if self._gone:
            raise self._gone
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._write(record)
            return await answer
        finally:
            self._asked.pop(number, None)

    def _take_answer(self, number: object, answer: Json) -> None:
        waiting = self._asked.get(str(number))
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _take_event(self, event: Json) -> None:
        if self._events is not None:
            self._events.put_nowait(event)

    def _write(self, record: Json) -> None:
        """Write without waiting for the pipe: a stopped engine would block the caller."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise EngineError("the engine has ended")
        stdin.write(json.dumps(record).encode() + b"\n")

    async def _read(self) -> None:
        """Read records until stdout ends, then let all waiting calls fail."""
        try:
            async for line in lines(_chunks(self._process.stdout)):
                self._take(json.loads(line))
        except (OSError, ValueError, EngineError) as error:
            log.warning("engine output: %s", error)
        self._gone = EngineError("the engine has ended")
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(self._gone)
        self.fail(self._gone)


async def _chunks(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        yield chunk


async def next_event(events: Events) -> Json:
    """The next event of a turn. Raises the error with which the turn was failed."""
    event = await events.get()
    if isinstance(event, EngineError):
        raise event
    return event


def overlook_failure(task: asyncio.Task[Any]) -> None:
    """If the engine ends instead of answering an abort, the turn has ended too."""
    if not task.cancelled() and (error := task.exception()):
        log.debug("abort: %s", error)

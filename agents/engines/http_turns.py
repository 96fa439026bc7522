"""The common part of drivers for engines that run a turn as one HTTP call and stream the reply. Such an engine ends the
turn when its caller disconnects, but only after a moment.
"""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import aiohttp

from agents.engines.base import ModelError, Turns
from agents.engines.http import HttpDriver
from agents.engines.lines import lines

Json = dict[str, Any]
_DONE = b"[DONE]"


class CallDriver(HttpDriver):
    """The engine's own driver adds how a call is made and how its answer is read."""

    abort_seconds: float  # an aborted turn is over after this time

    def __init__(
        self, process: asyncio.subprocess.Process, *, base_url: str, health: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(process, base_url=base_url, health=health, headers=headers)
        # conversations whose last turn was aborted, and the time at which that turn is over
        self._ending: dict[str, float] = {}

    def conversation(self, session: str) -> Turns:
        return _Calls(self, session)

    @abstractmethod
    def texts(self, session: str, message: str) -> AsyncGenerator[str, None]:
        """Run one turn and yield its text as it arrives. Raises EngineError or ModelError if the turn has failed."""

    def texts_while_alive(self, session: str, message: str) -> AsyncGenerator[str, None]:
        return self._while_alive(self.texts(session, message))

    async def prepare(self, session: str) -> None:
        """Wait for the end of an aborted turn. Otherwise the next turn would not see the text of the aborted one."""
        await _until(self._ending.pop(session, 0.0))

    def aborted(self, session: str) -> None:
        self._ending[session] = asyncio.get_running_loop().time() + self.abort_seconds

    async def wind_down(self) -> None:
        """The engine does not end while a turn runs. The turns have failed and their connections are closed, so wait
        until the engine has noticed this.
        """
        await _until(max(self._ending.values(), default=0.0))


class _Calls:
    def __init__(self, driver: CallDriver, session: str) -> None:
        self._driver = driver
        self._session = session
        self._text = ""

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        await self._driver.prepare(self._session)
        self._text = ""
        finished = False
        try:
            async with aclosing(self._driver.texts_while_alive(self._session, message)) as pieces:
                async for piece in pieces:
                    self._text += piece
                    yield piece
            finished = True
        except ModelError:
            finished = True
            raise
        finally:
            if not finished:
                self._driver.aborted(self._session)

    def reply(self) -> str:
        return self._text


async def server_sent_events(stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
    """The JSON of server-sent events. Each is one line of data of any length; comments and event names are left out."""
    async for line in lines(stream.iter_any()):
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data != _DONE:
            yield json.loads(data)


async def refusal(answer: aiohttp.ClientResponse) -> str:
    """What an answer in OpenAI's protocol says about its failure."""
    try:
        return str((await answer.json(content_type=None))["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"the engine answered {answer.status}"


async def _until(moment: float) -> None:
    await asyncio.sleep(max(moment - asyncio.get_running_loop().time(), 0.0))

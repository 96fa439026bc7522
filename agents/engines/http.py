"""The common part of drivers for engines that are HTTP servers: health checks, the end of the process, and turns that
can be failed.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import Any, TypeVar

import aiohttp

from agents.engines.base import EngineError

T = TypeVar("T")

POLL_SECONDS = 0.1
TRY_SECONDS = 5.0
# Loopback connects at once or not at all. How long a turn may take is decided by the bridge.
_CONNECT = aiohttp.ClientTimeout(total=None, sock_connect=TRY_SECONDS)


class HttpDriver(ABC):
    """A driver for one server process on the loopback address. The engine's own driver adds how to recognise a healthy
    answer, and how to run a turn.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, *, base_url: str, health: str, headers: Mapping[str, str]
    ) -> None:
        self._process = process
        self._health = health
        self._session = aiohttp.ClientSession(base_url, headers=headers, timeout=_CONNECT, trust_env=False)
        self._turns: set[asyncio.Future[None]] = set()
        self._gone: EngineError | None = None
        self._end = asyncio.create_task(self._await_end())

    async def settle(self) -> None:
        await self.probe()

    async def probe(self) -> None:
        """Ask again and again until the engine is healthy. Raises EngineError if the process ends."""
        while True:
            if self._gone:
                raise self._gone
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                if await self._is_healthy():
                    return
            await asyncio.sleep(POLL_SECONDS)

    def usable(self) -> bool:
        return self._gone is None

    async def channels(self) -> dict[str, str | None]:
        """No channels, unless an engine's driver overrides this."""
        return {}

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        """Messages are refused, unless an engine's driver overrides this."""
        raise EngineError(f"the engine takes no messages of {channel} from the platform")

    def fail(self, error: EngineError) -> None:
        for turn in self._turns:
            if not turn.done():
                turn.set_exception(error)

    async def _is_healthy(self) -> bool:
        async with asyncio.timeout(TRY_SECONDS), self._session.get(self._health) as answer:
            return answer.status == 200 and self._says_healthy(await answer.read())

    @abstractmethod
    def _says_healthy(self, body: bytes) -> bool:
        """Whether this body is a healthy engine's. Engines answer unknown paths with a page and status 200, so the body
        must be checked.
        """

    async def _while_alive(self, pieces: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """The pieces. Raises EngineError if the turn is failed from outside or the connection breaks."""
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.add(failed)
        try:
            while await _comes(piece := asyncio.ensure_future(anext(pieces)), failed):
                yield piece.result()
        except aiohttp.ClientError as error:
            raise self._gone or EngineError(f"the engine broke off the turn ({type(error).__name__})") from error
        finally:
            self._turns.discard(failed)
            await pieces.aclose()

    async def _await_end(self) -> None:
        await self._process.wait()
        self._gone = EngineError("the engine has ended")
        self.fail(self._gone)
        await self._session.close()


async def _comes(piece: asyncio.Future[T], failed: asyncio.Future[None]) -> bool:
    """Wait for the next piece. Returns False at the end. Raises the error with which the turn was failed, if that comes
    first.
    """
    try:
        waits: set[asyncio.Future[Any]] = {piece, failed}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not piece.done():
            piece.cancel()
            await asyncio.wait({piece})
    if failed.done():
        failed.result()
    if isinstance(piece.exception(), StopAsyncIteration):
        return False
    piece.result()
    return True

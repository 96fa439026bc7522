"""Looks at the database for calls that wait on an event loop: a thousand of them cost as much as one."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from django.db import Error, connection
from psycopg_pool import PoolTimeout

log = logging.getLogger(__name__)

Found = TypeVar("Found")


class SharedLook(Generic[Found]):
    """One look every `seconds` for all who wait in one event loop, each for the result of its key."""

    def __init__(self, look: Callable[[list[str]], Mapping[str, Found]], *, seconds: float) -> None:
        """`look` runs in a thread. It returns the results that are there already, of these keys."""
        self._look, self._seconds = look, seconds
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiters[Found]] = WeakKeyDictionary()

    async def wait(self, key: str, *, seconds: float) -> Found | None:
        """Wait for the result, `seconds` at most. None if it did not come in time."""
        loop = asyncio.get_running_loop()
        return await self._loops.setdefault(loop, _Waiters(self)).wait(key, seconds=seconds)

    async def look(self, keys: list[str]) -> Mapping[str, Found]:
        await asyncio.sleep(self._seconds)
        return await asyncio.to_thread(self._found, keys)

    def _found(self, keys: list[str]) -> Mapping[str, Found]:
        """Nothing while the database is away."""
        try:
            return self._look(keys)
        except (Error, PoolTimeout) as error:
            log.info("nobody who waits hears anything for a moment", extra={"error": repr(error)})
            return {}
        finally:
            connection.close()


class _Waiters(Generic[Found]):
    """Those who wait in one event loop."""

    def __init__(self, shared: SharedLook[Found]) -> None:
        self._shared = shared
        self._waiting: dict[str, set[asyncio.Future[Found]]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None

    async def wait(self, key: str, *, seconds: float) -> Found | None:
        result: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._waiting[key].add(result)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                return await result
        except TimeoutError:
            return None
        finally:
            self._forget(key, result)

    def _forget(self, key: str, result: asyncio.Future[Found]) -> None:
        others = self._waiting.get(key, set())
        others.discard(result)
        if not others:
            self._waiting.pop(key, None)

    async def _look(self) -> None:
        while self._waiting:
            for key, found in (await self._shared.look(list(self._waiting))).items():
                for result in self._waiting.pop(key, set()):
                    if not result.done():
                        result.set_result(found)

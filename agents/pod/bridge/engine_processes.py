"""The processes of one engine. This module has the contract of its two kinds, and the code that both share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from agents.engines.base import Launch, Turns
from agents.pod.bridge.engine_process import EngineProcess


class EngineProcesses(Protocol):
    """The live processes of one engine."""

    @property
    def processes(self) -> list[EngineProcess]: ...

    @property
    def death(self) -> asyncio.Future[str]:
        """Done when a process has ended that the bridge did not stop. The whole engine then counts as dead."""

    @property
    def launch(self) -> Launch | None:
        """The running launch; None while the engine is down."""

    def main_pid(self) -> int | None:
        """The process that an operator would call the engine."""

    async def open(self, launch: Launch) -> None:
        """Start the engine, or move it to a new launch. Raises EngineError."""

    def lease(self, session: str) -> AbstractAsyncContextManager[Turns]:
        """The conversation of this session, for one turn. Raises EngineError if the engine cannot take a turn."""

    def retire_idle(self) -> None:
        """End idle processes to free their memory."""

    def kill(self) -> None:
        """Kill all processes of the engine. When this returns, every turn has failed."""

    async def close(self) -> None:
        """End all processes, gracefully if there is time."""


class Lanes:
    """Turns of the same conversation run one after the other; turns of different conversations run at the same time."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}

    @asynccontextmanager
    async def of(self, session: str) -> AsyncIterator[None]:
        lane = self._lanes.setdefault(session, _Lane())
        lane.users += 1
        try:
            async with lane.lock:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                self._lanes.pop(session, None)


class _Lane:
    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


def last_words(process: EngineProcess) -> str:
    """A message about how a process ended that the bridge did not stop."""
    code = process.process.returncode or 0
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return f"the engine ended {how}"

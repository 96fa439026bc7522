"""What keeps an engine's processes: the contract of the two ways, and what both share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from agents.engines.base import Launch, Turns
from agents.pod.bridge.member import Member


class Crew(Protocol):
    """The live processes of one engine."""

    @property
    def members(self) -> list[Member]: ...

    @property
    def death(self) -> asyncio.Future[str]:
        """Done when a process has ended that nobody had asked to: then the engine is dead as a whole."""

    @property
    def launch(self) -> Launch | None:
        """What is running now; None while the engine is down."""

    def main_pid(self) -> int | None:
        """The process that an operator would call the engine."""

    async def open(self, launch: Launch) -> None:
        """Bring the engine up, or over to a new launch. Raises EngineError."""

    def lease(self, session: str) -> AbstractAsyncContextManager[Turns]:
        """The conversation, for one turn. Raises EngineError when the engine cannot take one."""

    def retire_idle(self) -> None:
        """Give back the memory of what rests."""

    def kill(self) -> None:
        """Nothing of the engine is left when this returns, and every turn has failed."""

    async def close(self) -> None:
        """End all, gracefully while there is time."""


class Lanes:
    """Turns of one conversation go one after the other, those of different ones side by side."""

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


def last_words(member: Member) -> str:
    """How a process ended that nobody had asked to."""
    code = member.process.returncode or 0
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return f"the engine ended {how}"

"""The engine's processes: one per conversation and only a few at a time, but at least one while the engine is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from agents.engines.base import Engine, EngineError, Launch, Turns
from agents.pod.bridge.crew import Lanes, last_words
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.member import STOPPED, Member

IDLE_SECONDS = 15 * 60.0
# The share of the tier's memory that the processes may use together. The rest is for programs that they start.
_SHARE = 0.6
MOST_PROCESSES = 12


def capacity(engine: Engine, memory_bytes: int) -> int:
    """How many processes fit. At least two, so that two conversations do not replace each other at each turn."""
    fitting = int(memory_bytes * _SHARE) // (engine.megabytes_per_process * 1024 * 1024)
    return min(max(fitting, 2), MOST_PROCESSES)


class Pool:
    """The processes of one engine (see Crew). Processes of the current launch run turns; those of an earlier launch
    end as soon as their turn is over.
    """

    def __init__(self, engine: Engine, *, size: int, marks: Mapping[str, str], log: EngineLog) -> None:
        self._engine = engine
        self._size = size
        self._marks = marks
        self._log = log
        self._launch: Launch | None = None
        self._generation = 0
        self._members: list[Member] = []
        self._lanes = Lanes()
        self._starting = asyncio.Lock()
        self._freed = asyncio.Condition()
        self._death: asyncio.Future[str] | None = None
        self._chores: set[asyncio.Task[None]] = set()

    @property
    def members(self) -> list[Member]:
        return list(self._members)

    @property
    def death(self) -> asyncio.Future[str]:
        if self._death is None:
            raise EngineError("the engine is not running")
        return self._death

    @property
    def launch(self) -> Launch | None:
        return self._launch if self._death else None

    def main_pid(self) -> int | None:
        """The process that was used last."""
        members = sorted(self._members, key=lambda member: (member.generation, member.used))
        return members[-1].pid if members else None

    async def open(self, launch: Launch) -> None:
        """Start the engine, or move it to a new launch: the old processes serve until the new one answers."""
        async with self._starting:
            spare = await self._start(None, launch, self._generation + 1)
            self._launch, self._generation = launch, spare.generation
            if self._death is None:
                self._death = asyncio.get_running_loop().create_future()
            self._enlist(spare)
            for member in self.members:
                if member.generation != self._generation and not member.busy:
                    self._retire(member)

    @asynccontextmanager
    async def lease(self, session: str) -> AsyncIterator[Turns]:
        async with self._lanes.of(session):
            member = await self._member_for(session)
            try:
                yield member.driver.conversation(session)
            finally:
                member.busy, member.used = False, time.monotonic()
                if member.generation != self._generation:
                    self._retire(member)
                async with self._freed:
                    self._freed.notify_all()

    def retire_idle(self) -> None:
        """End idle conversations to free their memory. The last process stays."""
        now = time.monotonic()
        for member in sorted(self._members, key=lambda member: member.used):
            if len(self._members) > 1 and not member.busy and now - member.used > IDLE_SECONDS:
                self._retire(member)

    def kill(self) -> None:
        self._death = None
        for member in self.members:
            member.ending = True
            member.driver.fail(EngineError("the engine was ended"))
            member.kill()
        self._members.clear()

    async def close(self) -> None:
        self._death = None
        members, self._members = self._members, []
        for member in members:
            member.driver.fail(EngineError("the agent is being stopped"))
        await asyncio.gather(*(member.stop() for member in members), *self._chores, return_exceptions=True)

    async def _member_for(self, session: str) -> Member:
        while True:
            async with self._starting:
                if member := await self._take(session):
                    member.busy = True
                    return member
            # All processes are busy: wait until one is free. Meanwhile others may start.
            async with self._freed:
                await self._freed.wait_for(self._has_room)

    async def _take(self, session: str) -> Member | None:
        """The process of this conversation, started if necessary; None if there is no room for it now."""
        launch, epoch = self._launch, self._death
        if launch is None or epoch is None:
            raise EngineError("the engine is not running")
        self._refuse_stopped()
        member = next((one for one in self._members if one.session == session), None)
        if member and member.generation == self._generation and member.driver.usable():
            return member
        if member:
            await self._end(member)
        if not self._has_room():
            return None
        await self._make_room()
        member = await self._start(session, launch, self._generation)
        if self._death is not epoch:
            member.kill()
            raise EngineError("the engine ended while the conversation was opened")
        self._enlist(member)
        self._refuse_stopped()
        self._dismiss_spares()
        return member

    def _refuse_stopped(self) -> None:
        """Raise EngineError if a process was stopped from outside. The whole engine then counts as stopped; a new
        process must not answer in its place.
        """
        if any(member.is_stopped() for member in self._members):
            raise EngineError(STOPPED)

    def _has_room(self) -> bool:
        talking = [member for member in self._members if member.session is not None]
        return self._death is None or len(talking) < self._size or not all(member.busy for member in talking)

    async def _make_room(self) -> None:
        """End the conversations that have been idle longest."""
        resting = [member for member in self._members if member.session is not None and not member.busy]
        resting.sort(key=lambda member: member.used)
        surplus = sum(1 for member in self._members if member.session is not None) - self._size + 1
        for member in resting[: max(surplus, 0)]:
            await self._end(member)

    async def _start(self, session: str | None, launch: Launch, generation: int) -> Member:
        return await Member.start(
            self._engine, launch, session, generation=generation, marks=self._marks, log=self._log
        )

    def _enlist(self, member: Member) -> None:
        self._members.append(member)
        member.watch(self._on_exit)

    def _dismiss_spares(self) -> None:
        for member in self.members:
            if member.session is None:
                self._retire(member)

    def _retire(self, member: Member) -> None:
        """End the process in the background."""
        task = asyncio.create_task(self._end(member))
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        self._dismiss(member)

    async def _end(self, member: Member) -> None:
        self._dismiss(member)
        await member.stop()

    def _dismiss(self, member: Member) -> None:
        """Take the process off the list: it gets no more turns, and its exit does not count as a death."""
        member.ending = True
        if member in self._members:
            self._members.remove(member)

    def _on_exit(self, member: Member) -> None:
        if member.ending or self._death is None or self._death.done():
            return
        self._death.set_result(last_words(member))

"""The engine's processes: one per conversation and only a few at a time, but at least one while the engine is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from agents.engines.base import Engine, EngineError, Launch, Turns
from agents.pod.bridge.engine_process import STOPPED, EngineProcess
from agents.pod.bridge.engine_processes import EngineProcesses
from agents.pod.bridge.log import EngineLog

IDLE_SECONDS = 15 * 60.0
# The share of the tier's memory that the processes may use together. The rest is for programs that they start.
_SHARE = 0.6
MOST_PROCESSES = 12


def capacity(engine: Engine, memory_bytes: int) -> int:
    """How many processes fit. At least two, so that two conversations do not replace each other at each turn."""
    fitting = int(memory_bytes * _SHARE) // (engine.megabytes_per_process * 1024 * 1024)
    return min(max(fitting, 2), MOST_PROCESSES)


class Pool(EngineProcesses):
    """The processes of one engine (see EngineProcesses). Processes of the current launch run turns; those of an earlier
    launch end as soon as their turn is over.
    """

    def __init__(self, engine: Engine, *, size: int, marks: Mapping[str, str], log: EngineLog) -> None:
        super().__init__(engine, marks=marks, log=log)
        self._size = size
        self._generation = 0
        self._processes: list[EngineProcess] = []
        self._freed = asyncio.Condition()
        self._chores: set[asyncio.Task[None]] = set()

    @property
    def processes(self) -> list[EngineProcess]:
        return list(self._processes)

    def main_pid(self) -> int | None:
        """The process that was used last."""
        processes = sorted(self._processes, key=lambda process: (process.generation, process.used))
        return processes[-1].pid if processes else None

    async def open(self, launch: Launch) -> None:
        """Start the engine, or move it to a new launch: the old processes serve until the new one answers."""
        async with self._starting:
            spare = await self._start(None, launch, self._generation + 1)
            self._launch, self._generation = launch, spare.generation
            self._is_up()
            self._enlist(spare)
            for process in self.processes:
                if process.generation != self._generation and not process.busy:
                    self._retire(process)

    @asynccontextmanager
    async def lease(self, session: str) -> AsyncIterator[Turns]:
        async with self._lanes.of(session):
            process = await self._process_for(session)
            try:
                yield process.driver.conversation(session)
            finally:
                process.busy, process.used = False, time.monotonic()
                if process.generation != self._generation:
                    self._retire(process)
                async with self._freed:
                    self._freed.notify_all()

    def retire_idle(self) -> None:
        """End idle conversations to free their memory. The last process stays."""
        now = time.monotonic()
        for process in sorted(self._processes, key=lambda process: process.used):
            if len(self._processes) > 1 and not process.busy and now - process.used > IDLE_SECONDS:
                self._retire(process)

    def kill(self) -> None:
        self._death = None
        for process in self.processes:
            process.ending = True
            process.driver.fail(EngineError("the engine was ended"))
            process.kill()
        self._processes.clear()

    async def close(self) -> None:
        self._death = None
        processes, self._processes = self._processes, []
        for process in processes:
            process.driver.fail(EngineError("the agent is being stopped"))
        await asyncio.gather(*(process.stop() for process in processes), *self._chores, return_exceptions=True)

    async def _process_for(self, session: str) -> EngineProcess:
        while True:
            async with self._starting:
                if process := await self._take(session):
                    process.busy = True
                    self.stirred.set()
                    return process
            # All processes are busy: wait until one is free. Meanwhile others may start.
            async with self._freed:
                await self._freed.wait_for(self._has_room)

    async def _take(self, session: str) -> EngineProcess | None:
        """The process of this conversation, started if necessary; None if there is no room for it now."""
        launch, epoch = self._launch, self._death
        if launch is None or epoch is None:
            raise EngineError("the engine is not running")
        self._refuse_stopped()
        process = next((one for one in self._processes if one.session == session), None)
        if process and process.generation == self._generation and process.driver.usable():
            return process
        if process:
            await self._end(process)
        if not self._has_room():
            return None
        await self._make_room()
        process = await self._start(session, launch, self._generation)
        if self._death is not epoch:
            process.kill()
            raise EngineError("the engine ended while the conversation was opened")
        self._enlist(process)
        self._refuse_stopped()
        self._dismiss_spares()
        return process

    def _refuse_stopped(self) -> None:
        """Raise EngineError if a process was stopped from outside. The whole engine then counts as stopped; a new
        process must not answer in its place.
        """
        if any(process.is_stopped() for process in self._processes):
            raise EngineError(STOPPED)

    def _has_room(self) -> bool:
        talking = [process for process in self._processes if process.session is not None]
        return self._death is None or len(talking) < self._size or not all(process.busy for process in talking)

    async def _make_room(self) -> None:
        """End the conversations that have been idle longest."""
        resting = [process for process in self._processes if process.session is not None and not process.busy]
        resting.sort(key=lambda process: process.used)
        surplus = sum(1 for process in self._processes if process.session is not None) - self._size + 1
        for process in resting[: max(surplus, 0)]:
            await self._end(process)

    def _enlist(self, process: EngineProcess) -> None:
        self._processes.append(process)
        process.watch(self._on_exit)

    def _dismiss_spares(self) -> None:
        for process in self.processes:
            if process.session is None:
                self._retire(process)

    def _retire(self, process: EngineProcess) -> None:
        """End the process in the background."""
        task = asyncio.create_task(self._end(process))
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        self._dismiss(process)

    async def _end(self, process: EngineProcess) -> None:
        self._dismiss(process)
        await process.stop()

    def _dismiss(self, process: EngineProcess) -> None:
        """Take the process off the list: it gets no more turns, and its exit does not count as a death."""
        process.ending = True
        if process in self._processes:
            self._processes.remove(process)

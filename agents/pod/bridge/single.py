"""For an engine that is one server: one process for all conversations, restarted when a new launch needs it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from agents.engines.base import Engine, EngineError, Launch, Turns
from agents.pod.bridge import causes
from agents.pod.bridge.engine_process import STOPPED, EngineProcess
from agents.pod.bridge.engine_processes import EngineProcesses
from agents.pod.bridge.log import EngineLog

MOST_TURNS = 12
# A new configuration waits this long for running turns. Then the turns fail, so that the configuration takes effect in
# time.
TURN_PATIENCE_SECONDS = 8.0


class Single(EngineProcesses):
    def __init__(self, engine: Engine, *, port: int, marks: Mapping[str, str], log: EngineLog) -> None:
        super().__init__(engine, marks=marks, log=log)
        self._port = port
        self._process: EngineProcess | None = None
        self._places = asyncio.Semaphore(MOST_TURNS)
        self._running = 0
        self._rested = asyncio.Event()
        self._rested.set()

    @property
    def processes(self) -> list[EngineProcess]:
        return [self._process] if self._process else []

    def main_pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def open(self, launch: Launch) -> None:
        """Start the engine, or restart it for a new launch. Running turns get some time to end; new turns wait for the
        restart instead of failing.
        Raises OSError if another program uses the engine's port, EngineError if the engine does not start.
        """
        async with self._starting:
            if self._process and self.launch and self.launch.serves_as(launch):
                self._launch = launch
                return
            await self._end_old()
            causes.refuse_taken(self._port)
            process = await self._start(None, launch)
            self._is_up()
            self._process, self._launch = process, launch
            process.watch(self._on_exit)

    @asynccontextmanager
    async def lease(self, session: str) -> AsyncIterator[Turns]:
        async with self._lanes.of(session), self._places:
            process = await self._take()
            try:
                yield process.driver.conversation(session)
            finally:
                self._give_back(process)

    def kill(self) -> None:
        self._death = None
        if process := self._dismissed():
            process.driver.fail(EngineError("the engine was ended"))
            process.kill()

    async def close(self) -> None:
        self._death = None
        if process := self._dismissed():
            process.driver.fail(EngineError("the agent is being stopped"))
            await process.stop()

    async def _end_old(self) -> None:
        if self._process is None:
            return
        try:
            async with asyncio.timeout(TURN_PATIENCE_SECONDS):
                await self._rested.wait()
        except TimeoutError:
            self._process.driver.fail(EngineError("the engine was restarted for a new configuration"))
        if process := self._dismissed():
            await process.stop()

    async def _take(self) -> EngineProcess:
        async with self._starting:
            if self._process is None or self._death is None or self._death.done():
                raise EngineError("the engine is not running")
            if self._process.is_stopped():
                raise EngineError(STOPPED)
            self._running += 1
            self._process.busy = True
            self.stirred.set()
            self._rested.clear()
            return self._process

    def _give_back(self, process: EngineProcess) -> None:
        self._running -= 1
        process.used = time.monotonic()
        if not self._running:
            process.busy = False
            self._rested.set()

    def _dismissed(self) -> EngineProcess | None:
        """Take the process out of service: it gets no more turns, and its exit does not count as a death. Returns the
        process, if there is one.
        """
        process, self._process = self._process, None
        if process:
            process.ending = True
        return process

"""One live process of an engine. The bridge starts it in its own session, watches it, and ends it together with all
processes that it started.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping

import psutil

from agents.engines.base import Driver, Engine, EngineError, Launch, Processes, start_seconds
from agents.pod import processes
from agents.pod.bridge import linux, wall
from agents.pod.bridge.log import EngineLog

_log = logging.getLogger(__name__)

LAST_WORDS_SECONDS = 0.2  # by then, the last output of an ended engine on stderr has arrived
BEAT_SECONDS = 3.0
# A healthy engine answers within milliseconds. On a machine that is short of CPU it may take seconds.
SILENCE_SECONDS = 5.0
# The limit even on a machine that is short of CPU: after this time, users get no answers either.
LONGEST_SILENCE_SECONDS = 30.0
LOOK_SECONDS = 0.5
# On a machine that is short of CPU, a start may take this many times the start time that the engine declares.
LONGEST_START = 5
WIND_DOWN_SECONDS = 3.0
TERM_SECONDS = 12.0
STOPPED = "the engine is stopped by a signal"
_STREAM_BYTES = 1024 * 1024


class EngineProcess:
    """A process for one conversation, or for none (`session` is None): a process without a conversation only shows that
    the engine works.
    """

    def __init__(
        self, session: str | None, generation: int, process: asyncio.subprocess.Process, seen: psutil.Process
    ) -> None:
        self.session = session
        self.generation = generation
        self.process = process
        self.busy = False
        self.ending = False  # the bridge wants it to end, so its exit does not count as a death
        self.used = self.answered = time.monotonic()
        self._waited = 0.0
        self.driver: Driver
        self._seen = seen
        self._following: list[asyncio.Task[None]] = []
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(
        cls,
        engine: Engine,
        launch: Launch,
        session: str | None,
        *,
        generation: int,
        marks: Mapping[str, str],
        log: EngineLog,
    ) -> EngineProcess:
        """Start the process and wait until it answers with the right model. After an EngineError it is gone."""
        process = await _spawn(launch, engine.session_argv(session, launch), marks)
        linux.leave_to_asyncio(process)
        following = asyncio.create_task(log.follow(process.stderr))
        engine_process = cls(session, generation, process, await _seen(process, following))
        engine_process._following.append(following)
        if engine.processes is Processes.ONE_SERVER:
            engine_process._following.append(asyncio.create_task(log.follow(process.stdout)))
        engine_process.driver = engine.attach(process, launch)
        limit = start_seconds(engine)
        try:
            await engine_process._settle(limit)
        except BaseException as error:
            engine_process.ending = True
            engine_process.kill()
            if isinstance(error, TimeoutError):
                raise EngineError(f"the engine did not start within {limit:g} s") from error
            raise
        engine_process.forgive()
        return engine_process

    async def _settle(self, limit: float) -> None:
        """Wait until the engine is ready. Raises TimeoutError after `limit` seconds. Time in which the machine gave no
        CPU to the engine, or to the bridge that listens, does not count: else a machine that is short of CPU would end
        all its engines and start them again for ever, which takes even more CPU.
        """
        started, waited_before, ran = time.monotonic(), linux.time_waited(os.getpid()), 0.0
        settling = asyncio.create_task(self.driver.settle())
        try:
            while not (await asyncio.wait({settling}, timeout=min(limit, LOOK_SECONDS)))[0]:
                took, ran_before, ran = time.monotonic() - started, ran, linux.time_run(self.pid)
                waited = linux.time_waited(self.pid) + linux.time_waited(os.getpid()) - waited_before
                is_over = took > limit + waited and not (ran == ran_before and self._is_ready())
                if is_over or took > limit * LONGEST_START:
                    raise TimeoutError
            settling.result()
        finally:
            settling.cancel()

    def _is_ready(self) -> bool:
        """Whether the process is ready to run, or waits for a disk. The kernel counts a wait only after the wait has
        ended.
        """
        try:
            return self._seen.status() in {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP}
        except psutil.NoSuchProcess:
            return False

    @property
    def pid(self) -> int:
        return self.process.pid

    def watch(self, on_exit: Callable[[EngineProcess], None]) -> None:
        self._tasks += [asyncio.create_task(self._beat()), asyncio.create_task(self._await_exit(on_exit))]

    def ailment(self) -> str | None:
        """The reason why the process must not be used; None if it is fine."""
        if not self.driver.usable():
            return "the engine lost track of a turn"
        if self.is_stopped():
            return STOPPED
        if self._silence() > SILENCE_SECONDS + BEAT_SECONDS:
            return "the engine does not answer"
        return None

    def is_calm(self) -> bool:
        """Whether it has no turn and owes no answer, so nobody waits for news of it."""
        return not self.busy and self._silence() < BEAT_SECONDS + 1.0

    def _silence(self) -> float:
        """For how many seconds it could have answered and did not. Time without CPU does not count."""
        silence = time.monotonic() - self.answered
        if silence > LONGEST_SILENCE_SECONDS:
            return silence
        return silence - (linux.time_waited(self.pid) - self._waited)

    def is_stopped(self) -> bool:
        try:
            return self._seen.status() == psutil.STATUS_STOPPED
        except psutil.NoSuchProcess:
            return False  # it has ended; its exit is reported soon

    def forgive(self) -> None:
        """Restart the count of silence: the process has answered, or nobody could have heard an answer until now."""
        self.answered, self._waited = time.monotonic(), linux.time_waited(self.pid)

    async def stop(self, *, seconds: float = TERM_SECONDS) -> None:
        """End the process gracefully: wind down, SIGTERM, and SIGKILL after `seconds`. Its children are killed too."""
        self.ending = True
        if self.busy and not self.is_stopped():
            await self._wind_down()
        children = processes.descendants(self._seen)
        # A stopped process reacts to SIGKILL only.
        processes.send([self._seen], signal.SIGKILL if self.is_stopped() else signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            children += processes.descendants(self._seen)
            processes.send([self._seen], signal.SIGKILL)
            await self.process.wait()
        processes.send(children, signal.SIGKILL)
        self._forget()

    async def _wind_down(self) -> None:
        try:
            async with asyncio.timeout(WIND_DOWN_SECONDS):
                await self.driver.wind_down()
        except (EngineError, TimeoutError) as error:
            _log.info("turns were not ended before the stop: %r", error)

    def tree(self) -> list[psutil.Process]:
        """The process and all its descendants."""
        return [self._seen, *processes.descendants(self._seen)]

    def kill(self) -> None:
        """Kill the process and all its descendants at once."""
        tree = self.tree()
        processes.send(tree, signal.SIGKILL)
        self._forget()

    def _forget(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _beat(self) -> None:
        """Probe the engine again and again. A missing answer shows in `ailment`."""
        try:
            while True:
                await self.driver.probe()
                self.forgive()
                await asyncio.sleep(BEAT_SECONDS)
        except EngineError:
            return

    async def _await_exit(self, on_exit: Callable[[EngineProcess], None]) -> None:
        await self.process.wait()
        on_exit(self)


async def _spawn(launch: Launch, session: tuple[str, ...], marks: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *launch.argv,
        *session,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=launch.cwd,
        env={**launch.env, **marks},
        start_new_session=True,
        preexec_fn=wall.child_setup(launch.ports),
        limit=_STREAM_BYTES,
    )


async def _seen(process: asyncio.subprocess.Process, following: asyncio.Task[None]) -> psutil.Process:
    """The process, to look at it later. Raises EngineError if it is gone already; the log then has its last words."""
    try:
        return psutil.Process(process.pid)
    except psutil.NoSuchProcess as error:
        await asyncio.wait({following}, timeout=LAST_WORDS_SECONDS)
        raise EngineError("the engine ended as soon as it was started") from error

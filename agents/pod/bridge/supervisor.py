"""The supervisor of the engine. It installs, starts, watches and restarts the engine, and applies new
configurations.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from agents.cause import Cause
from agents.engines import egress
from agents.engines.base import Engine, EngineError, EnginePlace, ProxyAccess
from agents.pod import processes
from agents.pod.bridge import causes, commands, files, install, linux, wall
from agents.pod.bridge.engine_process import LAST_WORDS_SECONDS, EngineProcess
from agents.pod.bridge.engine_processes import EngineProcesses
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.restoring import RestoreFailed, Restoring
from agents.pod.bridge.sidecar import SidecarSupervisor
from agents.pod.bridge.status import StatusFile
from agents.pod.logs.lines import LogSource
from agents.pod.masking import secrets_of
from agents.pod.start import BridgeStart
from agents.runtimes.base import Phase, PodConfig

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
# An engine that is well and has no turn is looked at less often. What changes wakes the supervisor (`stirred`).
CALM_SECONDS = 3.0
LATE_SECONDS = 2.0
PUBLISH_SECONDS = 1.5
# The pause before a restart: 5 s at first, then doubled up to 60 s. After 60 s of health the next pause is 5 s again.
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
HEALTHY_SECONDS = 60.0
DEATHS_OF_A_LOOP = 3
# A hung engine is ended after HUNG_SECONDS. An engine that somebody stopped by a signal may be meant to continue, so it
# gets more time.
HUNG_SECONDS = 30.0
STOPPED_SECONDS = 120.0


class Death(Exception):
    """The engine is down and must be started again."""

    def __init__(self, message: str, *, cause: Cause = Cause.ENGINE_DIED) -> None:
        super().__init__(message)
        self.cause = cause


class RestartAsked(Exception):
    """The control plane wants a new process of the engine, though this one may be well."""


class DataLost(Exception):
    """The agent's data disappeared from its disk after the engine had run."""


class EngineSupervisor:
    def __init__(
        self,
        start: BridgeStart,
        engine: Engine,
        engine_processes: EngineProcesses,
        side: SidecarSupervisor,
        status: StatusFile,
        engine_log: EngineLog,
        restoring: Restoring,
        *,
        spared: Callable[[], int | None] = lambda: None,
    ) -> None:
        """`spared` returns the pid of a child process that must survive the engine's death, or None."""
        self._spared = spared
        self._restoring = restoring
        self._engine = engine
        self._engine_processes = engine_processes
        self._side = side
        self._status = status
        self._log = engine_log
        self._wanted = start.config
        self._changed = asyncio.Event()
        self._place = EnginePlace(
            install=install.directory(engine, Path(start.engine_cache)),
            node=Path(start.node) if start.node else install.node(),
            data=Path(start.data_dir),
            memory_bytes=start.memory_bytes,
            port=start.engine_port,
            side_port=start.side_port,
            password=start.engine_password,
        )
        self._llm = ProxyAccess(url=start.llm_url, token=start.llm_token)
        self._run_dir = Path(start.run_dir)
        self._deaths = 0
        self._sick_since: dict[int, float] = {}
        self._healthy_since = 0.0
        self._was_full = False
        self._is_restart_asked = False

    @property
    def wanted(self) -> PodConfig:
        return self._wanted

    def configure(self, config: PodConfig) -> None:
        """Accept a newer configuration. The engine gets it within seconds."""
        if config.revision < self._wanted.revision:
            return
        self._wanted = config
        self._log.hide(secrets_of(config))
        self._changed.set()
        self._engine_processes.stirred.set()

    def restart(self) -> bool:
        """Have the engine ended and started again at once. False while it does not run: it is being started anyway, or
        must not run.
        """
        if self._status.phase not in {Phase.READY, Phase.UNHEALTHY}:
            return False
        self._is_restart_asked = True
        self._changed.set()
        self._engine_processes.stirred.set()
        return True

    async def keep(self) -> None:
        """Run until cancelled."""
        await self._install()
        await self._restore()
        while True:
            try:
                await self._bring_up()
                await self._watch()
            except Death as death:
                await self._bury(death)
            except RestartAsked:
                await self._renew()
            except DataLost as lost:
                await self._kill()
                await self.refuse(str(lost))

    async def refuse(self, why: str, *, cause: Cause = Cause.DATA_LOST) -> None:
        """Until cancelled, run no engine, because the agent's data is gone or damaged. Nothing is written to the disk,
        not even by an engine that would start from zero, so every later start finds the same state.
        """
        self._status.show(Phase.FAILED, cause=cause, message=why)
        while True:
            await self._rest(LONGEST_PAUSE_SECONDS)

    async def _install(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._install_once()
            except (commands.InstallError, OSError) as error:
                self._status.show(Phase.FAILED, cause=_install_cause(error), message=str(error))
            await self._rest(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _install_once(self) -> None:
        if not install.is_installed(self._engine, self._place.install):
            self._status.show(Phase.INSTALLING)
            async with _pulse(self._status):
                await install.install(self._engine, self._place, self._log, self._status.progress)

    async def _restore(self) -> None:
        """Restore the backup for which this pod was started, before its engine starts. If the restore fails, the engine
        does not start.
        """
        if self._restoring.is_done():
            return
        self._status.show(Phase.RESTORING)
        try:
            async with _pulse(self._status):
                await self._restoring.restore()
        except RestoreFailed as failed:
            self._status.show(Phase.FAILED, cause=Cause.RESTORE, message=f"the backup is not restored: {failed}")
            while True:
                await self._rest(LONGEST_PAUSE_SECONDS)

    async def _bring_up(self) -> None:
        self._is_restart_asked = False  # what starts now is a new process
        if self._status.phase in {Phase.INSTALLING, Phase.RESTORING, Phase.STARTING}:
            self._status.show(Phase.STARTING)
        await self._apply()
        self._healthy_since = time.monotonic()
        self._status.clear_trouble()  # trouble of the process before this one
        # before the status says "ready": a reader of that status no longer asks for the restore
        self._restoring.confirm()
        self._status.show(Phase.READY)

    async def _apply(self) -> None:
        """Apply the wanted configuration to a running or a new engine; this may restart the engine. Raises Death."""
        async with _pulse(self._status):
            await self._render_and_open()

    async def _render_and_open(self) -> None:
        self._changed.clear()
        self._look_for_data()
        config = self._wanted
        try:
            launch = self._engine.render(config, place=self._place, llm=self._llm)
            launch = egress.through_broker(launch, config, self._llm, directory=self._run_dir)
            if config.egress_limited and wall.is_possible():
                launch = egress.walled(launch, self._llm.port, self._place.port, self._place.side_port)
            if launch != self._engine_processes.launch:
                files.render(launch)
                await self._engine_processes.open(launch)
            await self._side.want(launch.side)
        except EngineError as error:
            raise Death(str(error)) from error
        except OSError as error:
            self._log.note(f"bridge: {error}", source=LogSource.BRIDGE)
            raise Death(error.strerror or str(error), cause=causes.of_error(error)) from error
        except (LookupError, TypeError, ValueError) as error:
            raise Death(f"the configuration cannot be rendered ({error!r})", cause=Cause.CONFIG) from error
        self._status.revision, self._status.walled = config.revision, launch.ports is not None
        if self._status.walled:
            self._end_those_outside()

    def _end_those_outside(self) -> None:
        """End what older processes have left behind outside of the wall. A turn that still runs there is not cut off:
        until its end the pod does not say that it is walled.
        """
        engine = [child for one in self._engine_processes.processes for child in one.tree()]
        kept = {self._spared(), *(child.pid for child in engine)}
        left = wall.outside(processes.descendants(psutil.Process()))
        processes.send([one for one in left if one.pid not in kept], signal.SIGKILL)

    async def _watch(self) -> None:
        """Never returns. Raises Death when the engine is down."""
        published = time.monotonic()
        pid = self._engine_processes.main_pid()
        while True:
            due = time.monotonic() + self._pause()
            await self._sleep_until_something(due)
            now = time.monotonic()
            if now - due > LATE_SECONDS:
                for process in self._engine_processes.processes:
                    # the bridge itself did not run in this time, so the engine's silence does not count
                    process.forgive()
            if self._is_restart_asked:
                raise RestartAsked
            self._judge(now)
            if self._changed.is_set():
                await self._apply()
            self._engine_processes.retire_idle()
            linux.reap_orphans()
            if now - published > PUBLISH_SECONDS or self._engine_processes.main_pid() != pid:
                published, pid = now, self._engine_processes.main_pid()
                self._look_for_data()
                self._look_at_disk()
                self._status.publish()

    def _look_for_data(self) -> None:
        """Raise DataLost if the data is gone. An engine that has run left something on the disk; without this check it
        would silently start from zero.
        """
        if self._status.revision is not None and (lost := causes.lost_data(self._place.data)):
            raise DataLost(lost)

    def _look_at_disk(self) -> None:
        """Report a full disk. An engine goes on for a while without disk space, but it forgets what people tell it."""
        full = causes.full_disk(self._place.data)
        if full:
            if not self._was_full:
                self._log.note(f"bridge: {full}", source=LogSource.BRIDGE)
            self._status.trouble(Cause.DISK_FULL, full)
        elif self._was_full:
            self._status.clear_trouble()
        self._was_full = full is not None

    def _pause(self) -> float:
        is_calm = self._status.phase == Phase.READY and all(one.is_calm() for one in self._engine_processes.processes)
        return CALM_SECONDS if is_calm else TICK_SECONDS

    async def _sleep_until_something(self, due: float) -> None:
        stirred = self._engine_processes.stirred
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await stirred.wait()
        stirred.clear()

    def _judge(self, now: float) -> None:
        """Set the phase to READY or UNHEALTHY by the state of the processes. Raises Death when a process is gone or
        hangs for too long.
        """
        if self._engine_processes.death.done():
            raise Death(self._engine_processes.death.result())
        sick = {process: ailment for process in self._engine_processes.processes if (ailment := process.ailment())}
        self._sick_since = {process.pid: self._sick_since.get(process.pid, now) for process in sick}
        for process, ailment in sick.items():
            process.driver.fail(EngineError(ailment))
            if not process.driver.usable() or now - self._sick_since[process.pid] > _patience(process):
                raise Death(ailment, cause=Cause.ENGINE_HUNG)
        if sick:
            self._status.show(Phase.UNHEALTHY, cause=Cause.ENGINE_HUNG, message=next(iter(sick.values())))
        elif self._status.phase != Phase.READY:
            self._status.show(Phase.READY)
        if now - self._healthy_since > HEALTHY_SECONDS:
            self._deaths = 0

    async def _bury(self, death: Death) -> None:
        """End what is left of the engine, report the death, and wait before the next start."""
        await asyncio.sleep(LAST_WORDS_SECONDS)
        await self._kill()
        if time.monotonic() - self._healthy_since > HEALTHY_SECONDS and self._healthy_since:
            self._deaths = 0
        self._deaths += 1
        self._healthy_since = 0.0
        self._status.restarts += 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (self._deaths - 1), LONGEST_PAUSE_SECONDS)
        self._show_death(death, pause)
        await self._rest(pause)

    async def _renew(self) -> None:
        """End a running engine without a pause after it. Its running turns fail."""
        self._log.note("bridge: the engine is started again, because this was asked for", source=LogSource.BRIDGE)
        await self._kill()
        self._deaths, self._healthy_since = 0, 0.0
        self._status.restarts += 1
        self._status.show(Phase.UNHEALTHY, message="the engine is started again, because this was asked for")

    async def _kill(self) -> None:
        await self._side.end()
        self._engine_processes.kill()
        left = [child for child in processes.descendants(psutil.Process()) if child.pid != self._spared()]
        processes.send(left, signal.SIGKILL)

    def _show_death(self, death: Death, pause: float) -> None:
        again = f"{death}; next start in {pause:.0f} s"
        cause = death.cause
        if cause == Cause.ENGINE_DIED:
            cause = causes.in_words("\n".join(self._log.heard(seconds=FIRST_PAUSE_SECONDS - 1))) or cause
        if self._deaths >= DEATHS_OF_A_LOOP:
            cause = Cause.CRASH_LOOP if cause == Cause.ENGINE_DIED else cause
            self._status.show(Phase.FAILED, cause=cause, message=f"{self._deaths} times in a row: {again}")
            return
        started = self._status.revision is not None
        self._status.show(Phase.UNHEALTHY if started else Phase.STARTING, cause=cause, message=again)

    async def _rest(self, seconds: float) -> None:
        """Wait this many seconds before a restart. A new configuration may solve the problem: it shortens the pause to
        FIRST_PAUSE_SECONDS.
        """
        self._changed.clear()
        until = time.monotonic() + seconds
        shortest = time.monotonic() + FIRST_PAUSE_SECONDS
        while (now := time.monotonic()) < (min(until, shortest) if self._changed.is_set() else until):
            await asyncio.sleep(min(TICK_SECONDS, max(until - now, 0.01)))
            linux.reap_orphans()
            self._status.publish()


class _pulse:  # noqa: N801 - used like a statement
    """Keeps `state.json` up to date during a long step."""

    def __init__(self, status: StatusFile) -> None:
        self._status = status

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._beat())

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(PUBLISH_SECONDS)
            self._status.publish()


def _patience(process: EngineProcess) -> float:
    return STOPPED_SECONDS if process.is_stopped() else HUNG_SECONDS


def _install_cause(error: Exception) -> Cause:
    if isinstance(error, OSError):
        return causes.of_error(error)
    return Cause.DISK_FULL if causes.in_words(str(error)) == Cause.DISK_FULL else Cause.INSTALL

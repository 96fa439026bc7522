"""The bridge as a program: what it does before, during and after the time in which it keeps the engine running."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import psutil
from aiohttp import web

from agents.cause import Cause
from agents.engines import ENGINES
from agents.engines.base import Engine, Processes
from agents.pod import processes, restic
from agents.pod.bridge import causes, damage, linux, memory
from agents.pod.bridge.backup import BackupSource
from agents.pod.bridge.backups import Backups
from agents.pod.bridge.data_swap import DataSwap
from agents.pod.bridge.engine_processes import EngineProcesses
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.log_buffer import LogBuffer, SpoolHandler
from agents.pod.bridge.pool import Pool, capacity
from agents.pod.bridge.restoring import Restoring
from agents.pod.bridge.server import BridgeServer
from agents.pod.bridge.sidecar import SidecarSupervisor
from agents.pod.bridge.single import Single
from agents.pod.bridge.status import StatusFile
from agents.pod.bridge.supervisor import EngineSupervisor
from agents.pod.lifeline import told_to_end
from agents.pod.masking import secrets_of
from agents.pod.start import BridgeStart
from agents.runtimes.base import Phase

log = logging.getLogger(__name__)

LEFTOVER_SECONDS = 10.0
GRACE_SECONDS = 2.0


class AlreadyRunningError(Exception):
    """Another bridge is running for this pod's data directory."""


async def serve(start: BridgeStart, home: str) -> None:
    """Keep the engine running until SIGTERM or SIGINT, or until the supervisor of the pod is gone. At the end no
    process of the engine is left.
    """
    run_dir, engine, log_buffer = Path(start.run_dir), ENGINES[start.engine], LogBuffer()
    engine_log = _engine_log(start, engine, log_buffer)
    engine_processes = _engine_processes(engine, start, home, engine_log)
    status = StatusFile(run_dir / "state.json", engine_log=engine_log, engine_pid=engine_processes.main_pid)
    exchange = DataSwap(Path(start.data_dir))
    with _sole_bridge(Path(start.data_dir)):
        exchange.settle(start.restore)
        refusal = _move_in(start, engine)
        linux.become_subreaper()
        _end_leftovers(start.namespace, home)
        side = SidecarSupervisor(marks=processes.marks(start.namespace, home, processes.ENGINE))
        source = partial(_backed_up, start, engine, home)
        backups = Backups(source)
        restoring = Restoring(start.restore, source, exchange)
        supervisor = EngineSupervisor(
            start, engine, engine_processes, side, status, engine_log, restoring, spared=lambda: backups.pid
        )
        server = BridgeServer(
            token=start.token,
            supervisor=supervisor,
            engine_processes=engine_processes,
            status=status,
            engine_log=engine_log,
            read_memory=partial(memory.read, engine.stores, Path(start.data_dir)),
            backups=backups,
            restoring=restoring,
        )
        async with AsyncExitStack() as stack:
            try:
                await _listen(stack, server.app(), start)
            except OSError as error:
                status.show(Phase.FAILED, cause=Cause.PORT, message=f"port {start.port}: {error.strerror}")
                raise
            await _until_told(supervisor, refusal)
            log_buffer.ending()
            await backups.close()
            await side.end()
            await _end(engine_processes)
            await _say_last_words(status, log_buffer)


def _engine_log(start: BridgeStart, engine: Engine, log_buffer: LogBuffer) -> EngineLog:
    """The engine's log, which also takes the bridge's own lines. The bridge masks the secrets that it knows in both."""
    engine_log = EngineLog(log_buffer, noise=engine.noise)
    logging.getLogger().addHandler(SpoolHandler(log_buffer, lambda: engine_log.secrets))
    engine_log.hide([start.token, start.llm_token, start.engine_password, *secrets_of(start.config)])
    return engine_log


async def _say_last_words(status: StatusFile, log_buffer: LogBuffer) -> None:
    status.show(Phase.STOPPED)
    await asyncio.sleep(0)  # the lines that were just logged are on their way to the log_buffer
    log_buffer.close()


def _backed_up(start: BridgeStart, engine: Engine, home: str) -> BackupSource:
    """What is backed up. Raises NoRestic. restic counts as part of the installation, not as a process of the engine."""
    return BackupSource(
        data=Path(start.data_dir),
        left_out=engine.stores.left_out,
        program=restic.find(start.restic, Path(start.engine_cache)),
        cache=Path(start.run_dir) / "restic",
        remembered=lambda: memory.read(engine.stores, Path(start.data_dir)).body(),
        marks=processes.marks(start.namespace, home, processes.INSTALL),
        damaged=lambda: damage.found(Path(start.data_dir), engine.stores),
    )


def _engine_processes(engine: Engine, start: BridgeStart, home: str, engine_log: EngineLog) -> EngineProcesses:
    marks = processes.marks(start.namespace, home, processes.ENGINE)
    if engine.processes is Processes.ONE_SERVER:
        return Single(engine, port=start.engine_port, marks=marks, log=engine_log)
    return Pool(engine, size=capacity(engine, start.memory_bytes), marks=marks, log=engine_log)


async def _listen(stack: AsyncExitStack, app: web.Application, start: BridgeStart) -> None:
    # If the gateway disconnects, aiohttp cancels the handler, and this ends the turn.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, start.host, start.port).start()


async def _until_told(supervisor: EngineSupervisor, refusal: tuple[Cause, str] | None) -> None:
    """Keep the engine running until this bridge must end. An error in the supervisor also ends the bridge; the runtime
    then starts a new bridge.
    """
    keeping = asyncio.create_task(supervisor.refuse(refusal[1], cause=refusal[0]) if refusal else supervisor.keep())
    told = asyncio.create_task(told_to_end())
    done, pending = await asyncio.wait({keeping, told}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    if keeping in done:
        log.error("the supervisor failed", exc_info=keeping.exception())


async def _end(engine_processes: EngineProcesses) -> None:
    """End the engine first, then all its background processes."""
    await engine_processes.close()
    processes.kill_all(lambda: processes.descendants(psutil.Process()), seconds=LEFTOVER_SECONDS)
    linux.reap_orphans()


def _end_leftovers(namespace: str, home: str) -> None:
    """Kill processes of an earlier bridge. When a bridge is killed, its engine dies too, but the programs that the
    engine had started go on.
    Raises AlreadyRunningError if they do not end.
    """
    left = processes.kill_all(lambda: processes.marked(namespace, home), seconds=LEFTOVER_SECONDS)
    if left:
        raise AlreadyRunningError(f"processes of an earlier engine do not end: {[process.pid for process in left]}")


def _move_in(start: BridgeStart, engine: Engine) -> tuple[Cause, str] | None:
    """Prepare the directories. If the agent's data is gone or damaged, create nothing in it and return the cause and a
    message; else return None.
    """
    data = Path(start.data_dir)
    Path(start.run_dir).mkdir(mode=0o700, parents=True, exist_ok=True)
    if start.data_expected and not start.restore:
        if lost := causes.lost_data(data):
            return Cause.DATA_LOST, lost
        if damaged := damage.found(data, engine.stores):
            return Cause.DATA_DAMAGED, damaged
    _find_room(data)
    return None


def _find_room(data: Path) -> None:
    """The user of a third-party image may have no writable home, and no writable directory for temporary files. Then
    use directories below the data directory.
    """
    for name, usual, own in (("HOME", "", data / "home"), ("TMPDIR", "/tmp", data / "tmp")):  # noqa: S108
        if not os.access(os.environ.get(name) or usual, os.W_OK):
            own.mkdir(mode=0o700, exist_ok=True)
            os.environ[name] = str(own)


class _sole_bridge:  # noqa: N801 - used like a statement
    """Two engines must never use the same agent's data, not even those of two generations of the same pod.
    The lock is on the directory itself, so the kernel releases it however the bridge ends. Raises AlreadyRunningError.
    """

    def __init__(self, data: Path) -> None:
        self._path = data

    def __enter__(self) -> None:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._close_to_others()
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunningError(str(self._path)) from error

    def _close_to_others(self) -> None:
        """When a cluster mounts a volume, it gives the pod's group access to it each time. This directory must be open
        to its owner only.
        """
        seen = self._path.stat()
        if seen.st_uid == os.geteuid() and seen.st_mode & 0o077:
            self._path.chmod(0o700)

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

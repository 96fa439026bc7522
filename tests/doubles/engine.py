"""A test engine whose adapter answers with more than text: `says` sets the content of its next turns.

Its process only stays alive. The bridge, its control of the engine's processes and the adapter's interface are the
real ones.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from aiohttp import web

from agents.engines.base import Engine, Launch, Processes
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.server import BridgeServer
from agents.pod.bridge.single import Single
from agents.pod.bridge.status import StatusFile
from agents.pod.turns.parts import Part, TurnEnding
from agents.runtimes.base import Phase
from tests.doubles.bridge import TOKEN
from tests.ports import free_port


class PartsEngine:
    """Plays the roles of `Engine`, `Driver` and `Turns`, as far as one conversation needs them."""

    id = "parts"
    processes = Processes.ONE_SERVER

    def __init__(self) -> None:
        self.says: Sequence[str | Part | TurnEnding] = ()

    def session_argv(self, _: str | None, __: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, _: asyncio.subprocess.Process, __: Launch, /) -> PartsEngine:
        return self

    def conversation(self, _: str) -> PartsEngine:
        return self

    async def settle(self) -> None:
        return

    async def probe(self) -> None:
        return

    async def wind_down(self) -> None:
        return

    def usable(self) -> bool:
        return True

    def fail(self, _: Exception) -> None:
        return

    async def turn(self, _: str) -> AsyncGenerator[str | Part | TurnEnding, None]:
        for piece in self.says:
            yield piece

    def reply(self) -> str:
        return "".join(piece for piece in self.says if isinstance(piece, str))


@contextmanager
def bridge_of(engine: PartsEngine, directory: Path) -> Iterator[str]:
    """Yields the address of a bridge that runs this engine."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    port = free_port()
    runner, engine_processes = asyncio.run_coroutine_threadsafe(_serve(engine, directory, port), loop).result(20)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        asyncio.run_coroutine_threadsafe(engine_processes.close(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


async def _serve(engine: PartsEngine, directory: Path, port: int) -> tuple[web.AppRunner, Single]:
    log = EngineLog()
    engine_processes = Single(cast("Engine", engine), port=free_port(), marks={}, log=log)
    lives = (sys.executable, "-c", "import time; time.sleep(600)")
    await engine_processes.open(Launch(files={}, directories=(), argv=lives, env={}, cwd=directory, model=None))
    status = StatusFile(directory / "state.json", engine_log=log, engine_pid=engine_processes.main_pid)
    status.revision = 1
    status.show(Phase.READY)
    no: Any = None  # for arguments that turns do not need
    server = BridgeServer(
        token=TOKEN,
        supervisor=no,
        engine_processes=engine_processes,
        status=status,
        engine_log=log,
        read_memory=no,
        backups=no,
        restoring=no,
    )
    runner = web.AppRunner(server.app(), handler_cancellation=True)  # as the bridge does
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, engine_processes

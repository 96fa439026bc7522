"""The supervisor of the sidecar, the program beside the engine. The sidecar runs as long as the engine is up, and is
started again when it ends by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping

import psutil

from agents.engines.base import Sidecar
from agents.pod import processes
from agents.pod.bridge import linux, wall

log = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
TERM_SECONDS = 3.0
KILL_SECONDS, POLL_SECONDS = 2.0, 0.01


class SidecarSupervisor:
    """Keeps at most one program beside the engine. If that program ends, the engine does not count as dead."""

    def __init__(self, *, marks: Mapping[str, str]) -> None:
        self._marks = marks
        self._wanted: Sidecar | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def want(self, side: Sidecar | None) -> None:
        """Run exactly this program beside the engine; None runs no program."""
        if side == self._wanted:
            return
        await self.end()
        self._wanted = side
        if side:
            self._keeping = asyncio.create_task(self._keep(side))

    async def end(self) -> None:
        self._wanted = None
        keeping, self._keeping = self._keeping, None
        if keeping:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping

    async def _keep(self, side: Sidecar) -> None:
        pause = PAUSE_SECONDS
        while True:
            try:
                code = await self._run(side)
                log.warning("the program beside the engine ended (%d); next start in %.0f s", code, pause)
            except OSError as error:
                log.warning("the program beside the engine does not start: %s", error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _run(self, side: Sidecar) -> int:
        """Run until the program ends and return its exit code. On cancel, end the program and all processes that it
        started.
        """
        process = await asyncio.create_subprocess_exec(
            *side.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=side.cwd,
            env={**side.env, **self._marks},
            start_new_session=True,
            preexec_fn=wall.child_setup(side.ports),
        )
        linux.leave_to_asyncio(process)
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    try:
        tree = [*processes.descendants(psutil.Process(process.pid))]
    except psutil.NoSuchProcess:
        return
    process.terminate()
    try:
        async with asyncio.timeout(TERM_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    finally:
        await _kill(tree)


async def _kill(tree: list[psutil.Process]) -> None:
    """Kill these processes and wait until none runs: a killed process still exists for a moment."""
    for child in tree:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILL_SECONDS):
            while any(processes.is_alive(child) for child in tree):  # noqa: ASYNC110 - there is no event for the end of a process that is not our child
                await asyncio.sleep(POLL_SECONDS)

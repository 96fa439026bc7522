"""Puts a backup in the place of the agent's data before the engine starts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from agents.pod import archive
from agents.pod.bridge import linux
from agents.pod.bridge.backup import BackupSource, PodOrder, environment
from agents.pod.bridge.data_swap import DataSwap
from agents.pod.restic import NoRestic

RESTORE_SECONDS = 4 * 3600.0
_PIECE = 64 * 1024


class RestoreFailed(Exception):
    """The restore failed, and the agent's data is unchanged. The message is shown to people."""


class Restoring:
    """`wanted` is the id of the restore for which this pod was started, "" for none. The order with the access data
    arrives later by HTTP.
    """

    def __init__(self, wanted: str, source: Callable[[], BackupSource], exchange: DataSwap) -> None:
        self.wanted = wanted
        self._source = source
        self._exchange = exchange
        self._order: asyncio.Future[PodOrder] | None = None
        self._failure = ""
        self._clearing: asyncio.Task[None] | None = None

    def is_done(self) -> bool:
        return not self.wanted or self._exchange.is_in_place(self.wanted)

    def confirm(self) -> None:
        """The engine is ready on the restored data, so the former data can be removed."""
        if self._exchange.confirm():
            self._clearing = asyncio.create_task(asyncio.to_thread(self._exchange.clear))

    def take(self, order: PodOrder) -> dict[str, Any]:
        """Accept the order unless it was accepted before, and return the progress. An order of another restore is
        refused.
        """
        if order.id != self.wanted:
            return {"phase": "failed", "message": "this pod was not started for that restore"}
        if self._failure:
            return {"phase": "failed", "message": self._failure}
        if self.is_done():
            return {"phase": "done"}
        if self._order and not self._order.done():
            self._order.set_result(order)
        return {"phase": "running"}

    async def restore(self) -> None:
        """Wait for the order and carry it out. Raises RestoreFailed."""
        self._order = asyncio.get_running_loop().create_future()
        order = await self._order
        try:
            async with asyncio.timeout(RESTORE_SECONDS):
                await self._restore(order, await asyncio.to_thread(self._source))
        except TimeoutError as error:
            raise self._failed(f"it was not over after {RESTORE_SECONDS:.0f} s") from error
        except (archive.InvalidArchive, NoRestic) as error:
            raise self._failed(str(error)) from error
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error

    def _failed(self, why: str) -> RestoreFailed:
        self._failure = why
        return RestoreFailed(why)

    async def _restore(self, order: PodOrder, source: BackupSource) -> None:
        into = await asyncio.to_thread(self._exchange.fill)
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as dump:
            try:
                process = await asyncio.create_subprocess_exec(
                    *(source.program, "--quiet", "--no-lock", "dump", order.snapshot, "/", "--archive", "tar"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=writing,
                    stderr=asyncio.subprocess.PIPE,
                    env=environment(source, order),
                    start_new_session=True,
                    preexec_fn=linux.die_with_parent,
                )
            finally:
                os.close(writing)
            linux.leave_to_asyncio(process)
            unpacking = asyncio.create_task(asyncio.to_thread(_unpack, dump, into, order.most_bytes))
            try:
                _, said = await asyncio.gather(unpacking, process.communicate(order.password.encode()))
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
                await asyncio.wait([unpacking])  # the thread ends when its input ends
        if process.returncode != 0:
            words = said[1].decode("utf-8", "replace").strip().splitlines()
            raise archive.InvalidArchive(f"restic ended with {process.returncode}: {words[-1][:300] if words else ''}")
        await asyncio.to_thread(self._exchange.take_in, self.wanted)


def _unpack(dump: IO[bytes], into: Path, most_bytes: int) -> None:
    archive.unpack(dump, into, most_bytes=most_bytes)
    while dump.read(_PIECE):
        pass  # skip the padding after the end of the archive

"""The backup that a pod is making, or the last one it made. Only one runs at a time. It has the id of its order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from agents.pod.bridge import backup
from agents.pod.bridge.backup import BackupProgress, BackupSource, NoBackup, PodOrder
from agents.pod.restic import NoRestic

log = logging.getLogger(__name__)


class Busy(Exception):
    """Another backup is being made."""


class Backups:
    def __init__(self, source: Callable[[], BackupSource]) -> None:
        """`source` may raise NoRestic."""
        self._source = source
        self._order: PodOrder | None = None
        self._progress = BackupProgress()
        self._task: asyncio.Task[dict[str, Any]] | None = None

    @property
    def pid(self) -> int | None:
        """The process id of restic while it runs."""
        return self._progress.pid

    def take(self, order: PodOrder) -> dict[str, Any]:
        """Start the backup unless it is already started, and return its progress or its result. Raises Busy."""
        if self._order is None or self._order.id != order.id:
            if self._task and not self._task.done():
                raise Busy
            self._order, self._progress = order, BackupProgress()
            self._task = asyncio.create_task(self._take(order, self._progress))
        return {"id": order.id, **self._state()}

    async def close(self) -> None:
        """Stop a running backup; it then counts as failed."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _state(self) -> dict[str, Any]:
        if self._task is None or not self._task.done():
            return {"phase": "running", "percent": self._progress.percent}
        if self._task.cancelled():
            return {"phase": "failed", "message": "the pod is being stopped"}
        return self._task.result()

    async def _take(self, order: PodOrder, progress: BackupProgress) -> dict[str, Any]:
        try:
            source = await asyncio.to_thread(self._source)
            taken = await backup.take(source, order, progress)
        except (NoBackup, NoRestic) as failure:
            log.warning("no backup: %s", failure)
            return {"phase": "failed", "message": str(failure)}
        except Exception as error:
            log.exception("no backup")
            return {"phase": "failed", "message": f"unexpected error ({type(error).__name__})"}
        known = {"snapshot": taken.snapshot, "size": taken.size, "note": taken.note, "broken": taken.broken}
        return {"phase": "done", **known}

"""Tells at once when a pod of this machine has come up, waits for a restore or has ended. The kernel reports all of
these, so nothing is polled.

Whoever is told looks at the pod; so a call that is missed or comes twice does no harm. The reconciler's scan finds what
nobody was told of, for example after a worker was killed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
from asyncinotify import Inotify, Mask

from agents.runtimes.base import Phase
from agents.runtimes.local import observing

log = logging.getLogger(__name__)

Tell = Callable[[str], object]  # gets the id of the pod's agent


class PodFollower:
    """Follows pods in one thread, which is started for the first of them."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._gate = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rising: dict[Path, asyncio.Task[None]] = {}  # by run directory
        self._ending: dict[str, list[int]] = {}  # by agent: a stop is asked for each second, and followed once

    def until_up(self, agent_id: str, run_dir: Path) -> None:
        """Tell the agent's id when the reports in the run directory say that the pod waits for a restore, and when they
        say that it is ready or has failed.
        """
        self._begun().call_soon_threadsafe(self._follow_reports, agent_id, run_dir)

    def until_ended(self, agent_id: str, programs: Iterable[psutil.Process]) -> None:
        """Tell the agent's id when all of these processes have ended."""
        self._begun().call_soon_threadsafe(self._follow_ends, agent_id, [program.pid for program in programs])

    def _begun(self) -> asyncio.AbstractEventLoop:
        with self._gate:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="pod-follower", daemon=True).start()
            return self._loop

    # In the follower's own thread.

    def _follow_reports(self, agent_id: str, run_dir: Path) -> None:
        if earlier := self._rising.get(run_dir):
            earlier.cancel()
        task = asyncio.get_running_loop().create_task(self._reports(agent_id, run_dir))
        self._rising[run_dir] = task
        task.add_done_callback(lambda ended: self._forget(run_dir, ended))

    def _forget(self, run_dir: Path, ended: asyncio.Task[None]) -> None:
        if self._rising.get(run_dir) is ended:
            del self._rising[run_dir]

    async def _reports(self, agent_id: str, run_dir: Path) -> None:
        told = None
        try:
            with Inotify() as changes:
                changes.add_watch(run_dir, Mask.MOVED_TO | Mask.ONLYDIR)  # programs replace their reports as a whole
                while told in {None, Phase.RESTORING}:
                    phase = observing.news(run_dir)
                    if phase not in {None, told}:
                        told = phase
                        self._tell(agent_id)
                    elif Mask.IGNORED in (await changes.get()).mask:  # the pod is deleted
                        return
        except OSError as error:  # the pod is gone already, or this machine has no watch left
            log.info("a pod is not followed", extra={"agent": agent_id, "error": str(error)})

    def _follow_ends(self, agent_id: str, pids: list[int]) -> None:
        if self._ending.get(agent_id) != pids:
            self._ending[agent_id] = pids
            ends = asyncio.gather(*map(_end_of, pids))
            ends.add_done_callback(lambda _: self._all_ended(agent_id, pids))

    def _all_ended(self, agent_id: str, pids: list[int]) -> None:
        if self._ending.get(agent_id) == pids:
            del self._ending[agent_id]
        self._tell(agent_id)


async def _end_of(pid: int) -> None:
    """Wait until this process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # it has ended already
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)

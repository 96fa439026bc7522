"""Tells at once when a pod of this machine has come up, waits for a restore or has ended. The kernel reports all of
these, so nothing is polled.

Whoever is told looks at the pod; so a call that is missed or comes twice does no harm. The reconciler's scan finds what
nobody was told of, for example after a worker was killed.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from agents.runtimes.base import Phase
from agents.runtimes.local import observing

log = logging.getLogger(__name__)

Tell = Callable[[str], object]  # gets the id of the pod's agent

_LIBC = ctypes.CDLL(None, use_errno=True)
_MOVED_TO, _ONLY_A_DIRECTORY = 0x80, 0x0100_0000  # of inotify(7); programs replace their reports as a whole
_IGNORED = 0x8000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024


@dataclass(slots=True)
class _Rising:
    """A pod that has not come up yet."""

    agent_id: str
    run_dir: Path
    told: Phase | None = None


class PodFollower:
    """Follows pods in one thread, which is started for the first of them."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._gate = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reports = -1  # the file descriptor of inotify
        self._rising: dict[int, _Rising] = {}  # by the number of the watch

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
        try:
            if self._reports < 0:
                self._reports = _checked(_LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
                asyncio.get_running_loop().add_reader(self._reports, self._read)
            how = ctypes.c_uint32(_MOVED_TO | _ONLY_A_DIRECTORY)
            watch = _checked(_LIBC.inotify_add_watch(self._reports, os.fsencode(run_dir), how))
        except OSError as error:  # the pod is gone already, or this machine has no watch left
            log.info("a pod is not followed", extra={"agent": agent_id, "error": str(error)})
            return
        self._rising[watch] = _Rising(agent_id, run_dir)
        self._look(watch)  # the reports may be older than the watch

    def _read(self) -> None:
        text = os.read(self._reports, _READ_BYTES)
        changed: set[int] = set()
        at = 0
        while at < len(text):
            watch, mask, _, length = _EVENT.unpack_from(text, at)
            at += _EVENT.size + length
            if mask & _IGNORED:
                self._rising.pop(watch, None)
            else:
                changed.add(watch)
        for watch in changed:
            self._look(watch)

    def _look(self, watch: int) -> None:
        pod = self._rising.get(watch)
        phase = observing.news(pod.run_dir) if pod else None
        if pod is None or phase in {None, pod.told}:
            return
        pod.told = phase
        if phase != Phase.RESTORING:
            del self._rising[watch]
            _LIBC.inotify_rm_watch(self._reports, watch)
        self._tell(pod.agent_id)

    def _follow_ends(self, agent_id: str, pids: list[int]) -> None:
        loop, left = asyncio.get_running_loop(), set[int]()

        def ended(descriptor: int) -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            left.discard(descriptor)
            if not left:
                self._tell(agent_id)

        for pid in pids:
            try:
                left.add(os.pidfd_open(pid))
            except OSError:  # it has ended already
                continue
        for descriptor in left:
            loop.add_reader(descriptor, ended, descriptor)
        if not left:
            self._tell(agent_id)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result

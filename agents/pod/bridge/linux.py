"""Linux functions that the bridge uses: orphans of the engine become children of the bridge, and the engine dies with
the bridge.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MIB = 2**20
# Loaded here, once: between fork and exec nothing may be loaded.
_LIBC = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Orphaned processes of an engine become children of this process instead of init, so that they can be found and
    ended.
    """
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def die_with_parent() -> None:
    """Runs in the child between fork and exec: the kernel sends SIGKILL to the child when the bridge ends for any
    reason.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_before_the_engine() -> None:
    """Like `die_with_parent`. In addition, the kernel kills this process first when the container's memory is full."""
    die_with_parent()
    with contextlib.suppress(OSError):
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")
        os.close(score)


def memory_in_use() -> int | None:
    """Bytes of memory that this process itself holds, rounded down to whole MiB; None where the kernel does not say.
    Pages of files do not count: the kernel counts them for the container that read or wrote them first, which is
    another container here.
    """
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    except (OSError, IndexError, ValueError):
        return None
    return (resident - shared) * os.sysconf("SC_PAGESIZE") // _MIB * _MIB


_waited_for: list[asyncio.subprocess.Process] = []


def leave_to_asyncio(process: asyncio.subprocess.Process) -> None:
    """The event loop waits for this process, so `reap_orphans` must not take its exit status."""
    _waited_for.append(process)


def time_run(pid: int) -> float:
    """For how many seconds the process's first thread has run on a CPU; 0 where the kernel does not say."""
    return _scheduled(pid)[0]


def time_waited(pid: int) -> float:
    """For how many seconds the process's first thread was ready to run but had no CPU; 0 if the kernel does not say."""
    return _scheduled(pid)[1]


def _scheduled(pid: int) -> tuple[float, float]:
    try:
        ran, waited, *_ = Path(f"/proc/{pid}/schedstat").read_text().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def reap_orphans() -> None:
    """Take the exit status of dead orphans; otherwise they would stay as zombies."""
    _waited_for[:] = [process for process in _waited_for if process.returncode is None]
    own = {process.pid for process in _waited_for}
    while dead := _a_dead_child():
        if dead in own:
            return  # the event loop takes this one; the next call finds those behind it
        with contextlib.suppress(ChildProcessError):
            os.waitpid(dead, os.WNOHANG)


def _a_dead_child() -> int:
    """The pid of a dead child, 0 for none. The exit status stays there for the code that waits for it."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found else 0

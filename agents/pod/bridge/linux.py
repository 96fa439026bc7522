"""What the kernel does for the bridge: orphans of the engine become its children, and the engine dies with it."""

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
# Loaded once, here: between fork and exec nothing may be loaded.
_LIBC = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Whatever an engine leaves behind becomes our child instead of init's, and can be found and ended."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def die_with_parent() -> None:
    """Runs in the child between fork and exec: SIGKILL when the bridge is gone, however it went."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_before_the_engine() -> None:
    """As `die_with_parent`, and the kernel ends this one first where the container's memory is full."""
    die_with_parent()
    with contextlib.suppress(OSError):
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")
        os.close(score)


def memory_in_use() -> int | None:
    """Bytes of memory that this process itself holds, in whole MiB; None where the kernel does not say.

    Without pages of files: those count for the container that read or wrote them first, which is another one's here.
    """
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    except (OSError, IndexError, ValueError):
        return None
    return (resident - shared) * os.sysconf("SC_PAGESIZE") // _MIB * _MIB


_waited_for: list[asyncio.subprocess.Process] = []


def leave_to_asyncio(process: asyncio.subprocess.Process) -> None:
    """The event loop waits for this one; its exit status is not ours to take."""
    _waited_for.append(process)


def time_run(pid: int) -> float:
    """For how many seconds of its life the process's first thread had a CPU; 0 where the kernel does not say."""
    return _scheduled(pid)[0]


def time_waited(pid: int) -> float:
    """For how many seconds of its life the process's first thread was ready to run and had no CPU; 0 where the kernel
    does not say."""
    return _scheduled(pid)[1]


def _scheduled(pid: int) -> tuple[float, float]:
    try:
        ran, waited, *_ = Path(f"/proc/{pid}/schedstat").read_text().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def reap_orphans() -> None:
    """Take the exit status of dead adopted processes, or they would stay as zombies."""
    _waited_for[:] = [process for process in _waited_for if process.returncode is None]
    own = {process.pid for process in _waited_for}
    while dead := _a_dead_child():
        if dead in own:
            return  # the loop will take it; what is behind it comes next time
        with contextlib.suppress(ChildProcessError):
            os.waitpid(dead, os.WNOHANG)


def _a_dead_child() -> int:
    """Its pid, without taking its status from whoever waits for it; 0 for none."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found else 0

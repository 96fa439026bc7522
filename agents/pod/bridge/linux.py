"""What the kernel does for the bridge: orphans of the engine become its children, and the engine dies with it."""

from __future__ import annotations

import ctypes
import os
import signal

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Loaded once, here: between fork and exec nothing may be loaded.
_LIBC = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Whatever an engine leaves behind becomes our child instead of init's, and can be found and ended."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def die_with_parent() -> None:
    """Runs in the child between fork and exec: SIGKILL when the bridge is gone, however it went."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def reap_orphans(own: set[int]) -> None:
    """Take the exit status of dead adopted processes; those in `own` are waited for by others."""
    for child in psutil.Process().children():
        if child.pid in own:
            continue
        try:
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
        except (psutil.NoSuchProcess, ChildProcessError):
            continue

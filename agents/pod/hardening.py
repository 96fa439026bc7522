"""What a program that holds secrets does to itself before it reads them."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_dumps() -> None:
    """No core file, and `/proc/<pid>/{environ,mem,maps,fd}` closed to other processes of the same user (Linux)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


def read_stdin() -> bytes:
    """The whole of stdin, which is then closed for good: what came in must not be readable a second time."""
    text = sys.stdin.buffer.read()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return text

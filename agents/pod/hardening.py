"""Protections that a program turns on before it reads secrets."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_dumps() -> None:
    """Forbid core files, and forbid other processes of the same user to read `/proc/<pid>/{environ,mem,maps,fd}` (Linux
    only). Raises OSError.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


def read_stdin() -> bytes:
    """Read all of stdin, then replace stdin by an empty file, so that the content cannot be read a second time."""
    text = sys.stdin.buffer.read()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return text

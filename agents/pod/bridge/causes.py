"""Finds the cause of a failure from the kernel's error number or from the last messages of the engine."""

from __future__ import annotations

import errno
import os
import re
import socket
from pathlib import Path

from agents.cause import Cause
from agents.pod.archive import OWN

# With less free space than this no engine can go on: its next session file does not fit.
FULL_BYTES = 128 * 1024
# Names that a new disk contains by itself, and the service's own directory.
_OF_THE_DISK = {"lost+found", OWN}

_NUMBERS = {
    errno.ENOSPC: Cause.DISK_FULL,
    errno.EDQUOT: Cause.DISK_FULL,
    errno.EADDRINUSE: Cause.PORT,
    errno.ENOMEM: Cause.OOM,
}
_WORDS = {
    Cause.DISK_FULL: re.compile(r"(?i)\bENOSPC\b|no space left on device|\bEDQUOT\b|disk quota exceeded|disk is full"),
    Cause.PORT: re.compile(r"(?i)\bEADDRINUSE\b|address already in use"),
    Cause.OOM: re.compile(r"(?i)heap out of memory|\bENOMEM\b|cannot allocate memory|\bMemoryError\b|\bbad_alloc\b"),
}


def of_error(error: OSError) -> Cause:
    return _NUMBERS.get(error.errno or 0, Cause.BOOT)


def in_words(text: str) -> Cause | None:
    """The cause that the text names, if a person can do something about it; else None."""
    return next((cause for cause, words in _WORDS.items() if words.search(text)), None)


def full_disk(directory: Path) -> str | None:
    """A message for people if nothing more can be written to this disk; None while there is room, or if the disk cannot
    be read.
    """
    try:
        system = os.statvfs(directory)
    except OSError:
        return None
    left = system.f_bavail * system.f_frsize
    if left >= FULL_BYTES or not system.f_blocks:
        return None
    return f"the disk of the agent's data is full: {left} of {system.f_blocks * system.f_frsize} bytes are left"


def lost_data(directory: Path) -> str | None:
    """A message for people if the directory is empty although the agent had data in it; None if it contains anything.
    A disk that cannot be read does not count as empty.
    """
    try:
        if any(found.name not in _OF_THE_DISK for found in directory.iterdir()):
            return None
    except FileNotFoundError:
        pass
    except OSError:
        return None
    return (
        "the agent's disk is empty, although it had data: the engine is not started."
        " A rebuild restores the newest backup; without a backup it begins with the empty disk"
    )


def refuse_taken(port: int) -> None:
    """Raise OSError if another program listens on this port. The engine itself would notice this late or never."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise OSError(error.errno, f"port {port} of the engine is taken by another program") from error

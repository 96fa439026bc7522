"""A pod's programs end when the supervisor they were started under is gone, unless the operator keeps pods."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import psutil

CHECK_SECONDS = 2.0
# How far two readings of one process's start may lie apart: the kernel counts in ticks, the boot time is adjusted.
_START_TOLERANCE = 2.0


async def supervisor_gone(environ: Mapping[str, str] = os.environ) -> None:
    """Return once the process in AGENTPODS_SUPERVISOR (`<pid>:<create time>`) is gone; without one, never."""
    named = environ.get("AGENTPODS_SUPERVISOR", "")
    if not named or environ.get("KEEP_PODS") == "1":
        await asyncio.Event().wait()
    pid, _, created = named.partition(":")
    while _lives(int(pid), float(created)):  # noqa: ASYNC110 - no event tells of another process's end
        await asyncio.sleep(CHECK_SECONDS)


def _lives(pid: int, created: float) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - created) <= _START_TOLERANCE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # it is there, and that is all we ask

"""Ends a pod's programs when the supervisor that started them is gone, unless the operator wants to keep pods
(KEEP_PODS=1).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping

import psutil

CHECK_SECONDS = 2.0  # where the kernel cannot tell the end of a process
# How many seconds two readings of the same process's start time may differ: the kernel counts in ticks, and the boot
# time is adjusted.
_START_TOLERANCE = 2.0


async def told_to_end() -> None:
    """Return at SIGTERM or SIGINT, or when the supervisor of the pod is gone."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    waits = [asyncio.ensure_future(ended.wait()), asyncio.ensure_future(supervisor_gone())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def supervisor_gone(environ: Mapping[str, str] = os.environ) -> None:
    """Return when the process in AGENTPODS_SUPERVISOR (`<pid>:<create time>`) is gone; without that variable, never
    return.
    """
    named = environ.get("AGENTPODS_SUPERVISOR", "")
    if not named or environ.get("KEEP_PODS") == "1":
        await asyncio.Event().wait()
    pid, _, created = named.partition(":")
    while _lives(int(pid), float(created)):
        await _end_of(int(pid))


async def _end_of(pid: int) -> None:
    """Return when this process has ended, or perhaps has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:
        await asyncio.sleep(CHECK_SECONDS)
        return
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _lives(pid: int, created: float) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - created) <= _START_TOLERANCE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # it exists, and nothing more is asked here

"""An owner's download of one backup. A separate program makes the archive, and the web process passes it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from django.conf import settings

from agents.backups import address, reading
from agents.backups.models import Backup
from agents.errors import BackupFailed, BackupsAreOff
from agents.pod.restic import NoRestic
from config import callers, waiting

PIECE_BYTES = 64 * 1024
downloads = waiting.WaitLimit(16, each=lambda: 2)


class Broken(Exception):
    """The archive is incomplete. The answer is cut off, so that nobody takes the archive for complete."""


def archive(backup: Backup) -> Iterator[bytes]:
    """The whole backup as a tar.gz, in pieces.

    Raises what fails before the first byte: BackupsAreOff, BackupFailed, Unavailable.
    """
    url = address.url()
    if url is None:
        raise BackupFailed("the endpoint of backups is not there")
    pieces = _pieces(backup, url)
    next(pieces)
    return pieces


def _pieces(backup: Backup, url: str) -> Iterator[bytes]:
    """Yield an empty piece first, once the first byte is there. `archive` takes it at once, so the place is taken then.
    The place is given back when the iterator ends."""
    with downloads.take(backup.agent.user_id), ExitStack() as stack:
        process = _started(backup, url)
        stack.callback(process.wait)
        stack.callback(process.kill)
        if process.stdout is None:
            raise BackupFailed("there is no pipe to it")
        out = stack.enter_context(process.stdout)
        if caller := callers.caller.get():
            stack.enter_context(caller.ends(process.kill))
        first = out.read(1)
        if not first:
            raise BackupFailed("the store does not give it now")
        yield b""
        yield first
        while piece := os.read(out.fileno(), PIECE_BYTES):
            yield piece
        if process.wait() != 0:
            raise Broken(backup.name)


def _started(backup: Backup, url: str) -> subprocess.Popen[bytes]:
    """Start the program. It reads through the endpoint, as a pod does, because the web process has no credentials of
    the store."""
    try:
        given = reading.way_to(backup, url)
    except NoRestic as error:
        raise BackupsAreOff(str(error)) from error
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.backups.packing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd=settings.BASE_DIR,
    )
    if process.stdin is None:
        raise BackupFailed("no pipe")
    process.stdin.write(json.dumps(given).encode())
    process.stdin.close()
    return process

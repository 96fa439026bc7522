"""Runs drills (checks that a backup can be restored) in one extra thread of a worker, one after the other. A drill may
take an hour and a half, and mails, deletions and other backups need the worker's own threads.

A worker that is told to end does not wait for drills. A drill that was cut off is due again when its lease ends.
"""

from __future__ import annotations

import logging
import threading

from django.db import connection

from agents.backups import drills

log = logging.getLogger(__name__)

_lock = threading.Lock()
_asked: list[str] = []  # the drill of the first one is running


def begin(agent_id: str) -> None:
    """Run this repository's drill, after those that this process was asked for before."""
    with _lock:
        if agent_id in _asked:
            return
        _asked.append(agent_id)
        if len(_asked) > 1:
            return
    threading.Thread(target=_hold_all, name="drills", daemon=True).start()


def begin_due() -> None:
    """Run the drill of the repository that waits longest, unless this process runs one already: the task comes again in
    ten minutes."""
    due = None if _asked else drills.next_due()
    if due:
        begin(due)


def _hold_all() -> None:
    while _asked:
        try:
            drills.hold(_asked[0])
        except Exception:
            log.exception("a drill ended with an error", extra={"agent": _asked[0]})
        finally:
            connection.close()
        with _lock:
            del _asked[0]
            if not _asked:
                return

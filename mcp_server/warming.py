"""Each web process in production prepares `/mcp` a while after it has started, so that no call of MCP waits for it.

It takes seconds of processor time, so it must not compete with the start itself. A call that comes before does the
work.
"""

from __future__ import annotations

import logging
import threading

from django.db import connection

log = logging.getLogger(__name__)

AFTER_SECONDS = 10.0


def start(after: float = AFTER_SECONDS) -> threading.Timer:
    """Start a thread that prepares it after so many seconds."""
    thread = threading.Timer(after, _prepare)
    thread.name, thread.daemon = "mcp-warming", True
    thread.start()
    return thread


def _prepare() -> None:
    try:
        from mcp_server import views  # noqa: PLC0415 # REST framework needs the loaded apps

        views.warm()
    except Exception:  # the first call does it again, and reports the error
        log.exception("MCP could not be prepared ahead of calls")
    finally:
        connection.close()

"""Ends an HTTP call to another service when the client of our request hangs up (config/callers.py), or after a time
limit.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from config import callers


@contextmanager
def ends_with_caller(session: requests.Session, *, seconds: float | None = None) -> Iterator[None]:
    """Make calls of this session fail as a lost connection as soon as the caller has hung up.

    They also fail after `seconds`: the timeouts of requests limit only each single read, and an answer may come byte by
    byte. Where there is no caller, as in a worker, only the time limit applies.
    """
    line = _Line()
    for adapter in session.adapters.values():
        if isinstance(adapter, HTTPAdapter):
            adapter.poolmanager.pool_classes_by_scheme = {
                "http": partial(_pool, HTTPConnectionPool, partial(_Connection, line=line)),
                "https": partial(_pool, HTTPSConnectionPool, partial(_SecureConnection, line=line)),
            }
    caller = callers.caller.get()
    with ExitStack() as stack:
        if seconds is not None:
            stack.enter_context(_after(seconds, line.cut))
        if caller is not None:
            stack.enter_context(caller.ends(line.cut))
        yield


@contextmanager
def _after(seconds: float, end: Callable[[], None]) -> Iterator[None]:
    """Call `end` if the block takes longer than `seconds`."""
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Line:
    """The sockets of one call. Another thread may cut them at any moment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_cut = False

    def add(self, opened: socket.socket) -> None:
        with self._lock:
            self._sockets.append(opened)
            if self._is_cut:
                _shut(opened)

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            for opened in self._sockets:
                _shut(opened)


def _shut(opened: socket.socket) -> None:
    """Wake the thread that reads.

    `SSLSocket.shutdown` is not used: it would remove the TLS state while the thread reads.
    """
    with suppress(OSError):  # it is closed already
        socket.socket.shutdown(opened, socket.SHUT_RDWR)


class _Connection(HTTPConnection):
    def __init__(self, *args: Any, line: _Line, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._line = line

    def connect(self) -> None:
        super().connect()
        self._line.add(self.sock)


class _SecureConnection(_Connection, HTTPSConnection):
    """A `_Connection` over TLS."""


def _pool(kind: type[HTTPConnectionPool], connection: Any, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
    pool = kind(*args, **kwargs)
    pool.ConnectionCls = connection
    return pool

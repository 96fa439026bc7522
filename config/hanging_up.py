"""Ends a call to somebody else when the client that it is made for hangs up (config/callers.py)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from config import callers


@contextmanager
def ends_with_caller(session: requests.Session) -> Iterator[None]:
    """What is asked through this session fails as a lost connection as soon as the caller has left.

    Without a caller, as in a worker, this changes nothing.
    """
    caller = callers.caller.get()
    if caller is None:
        yield
        return
    line = _Line()
    for adapter in session.adapters.values():
        if isinstance(adapter, HTTPAdapter):
            adapter.poolmanager.pool_classes_by_scheme = {
                "http": partial(_pool, HTTPConnectionPool, partial(_Connection, line=line)),
                "https": partial(_pool, HTTPSConnectionPool, partial(_SecureConnection, line=line)),
            }
    with caller.ends(line.cut):
        yield


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
    """Wake the thread that reads. Not `SSLSocket.shutdown`: that takes the TLS state away from under the reader."""
    try:
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already


class _Connection(HTTPConnection):
    def __init__(self, *args: Any, line: _Line, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._line = line

    def connect(self) -> None:
        super().connect()
        self._line.add(self.sock)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


def _pool(kind: type[HTTPConnectionPool], connection: Any, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
    pool = kind(*args, **kwargs)
    pool.ConnectionCls = connection
    return pool

"""Ends connections whose client does not read its answer: each holds a whole answer in memory.

The server hands an answer to the kernel piece by piece and waits without limit. This module looks at the kernel's
numbers of each connection. If bytes wait and no byte was acknowledged for 30 s, it ends the connection, whatever the
client sends meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator

log = logging.getLogger(__name__)

# How long a client may read nothing.
UNREAD_SECONDS = 30.0
LOOK_SECONDS = 5.0

_SIOCOUTQ = 0x5411  # linux/sockios.h: number of bytes that the other side has not acknowledged
_BYTES_ACKED = struct.Struct("120xQ")  # linux/tcp.h: tcpi_bytes_acked of tcp_info
_ESTABLISHED = 1  # net/tcp_states.h: the first byte of tcp_info
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # linger for 0 s: waiting bytes are thrown away


class Unread:
    """The state of the server's connections at the last look."""

    def __init__(self) -> None:
        self._ports: set[int] = set()  # the ports on which the server listens
        self._seen: dict[int, tuple[int, float]] = {}  # by inode: acknowledged bytes, and the time of the last change

    def look(self) -> None:
        """End connections that have not moved for too long. Called repeatedly, by one thread."""
        self._ports = self._ports or _listening()
        before, self._seen = self._seen, {}
        for number in list(_waiting()):
            with duplicate(number) as connection:
                if connection is not None and connection.getsockname()[1] in self._ports:
                    self._judge(connection, before)

    def _judge(self, connection: socket.socket, before: dict[int, tuple[int, float]]) -> None:
        inode, come, now = os.fstat(connection.fileno()).st_ino, acked(connection), time.monotonic()
        come_before, since = before.get(inode, (None, now))
        if come != come_before:
            since = now
        self._seen[inode] = (come, since)
        if now - since >= UNREAD_SECONDS:
            _end(connection)


def watch() -> None:
    """Start a thread that checks the connections from now on."""
    threading.Thread(target=_look_on, name="unread", daemon=True).start()


def _look_on() -> None:
    unread = Unread()
    while True:
        time.sleep(LOOK_SECONDS)
        try:
            unread.look()
        except OSError:
            log.exception("connections could not be checked")


def _waiting() -> Iterator[int]:
    """The descriptors of this process on which bytes wait for the other side."""
    for number in descriptors():
        with contextlib.suppress(OSError):  # not a socket, or closed in the meantime
            if struct.unpack("i", fcntl.ioctl(number, _SIOCOUTQ, b"\0" * 4))[0]:
                yield number


def _listening() -> set[int]:
    """The ports on which this process listens."""
    ports = set()
    for number in descriptors():
        with duplicate(number) as found:
            if found is not None and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                ports.add(found.getsockname()[1])
    return ports


def descriptors() -> list[int]:
    """The file descriptors of this process."""
    return [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 # thousands, every few seconds


@contextlib.contextmanager
def duplicate(number: int) -> Iterator[socket.socket | None]:
    """A duplicate of this TCP socket; None if the number is not one. The number itself may be closed and used again."""
    found = _socket_of(number)
    if found is None:
        yield None
        return
    with found:
        is_tcp = found.family in {socket.AF_INET, socket.AF_INET6} and found.type == socket.SOCK_STREAM
        yield found if is_tcp else None


def _socket_of(number: int) -> socket.socket | None:
    """A duplicate of the socket; None if the number is no socket or was closed in the meantime."""
    try:
        copy = os.dup(number)
    except OSError:
        return None
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None


def acked(connection: socket.socket) -> int:
    """The number of bytes that the other side has acknowledged since the connection began."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
    return int(_BYTES_ACKED.unpack(told)[0])


def is_open(connection: socket.socket) -> bool:
    """Whether neither side has ended the connection."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED


def _end(connection: socket.socket) -> None:
    """Reset the connection. The server sees that and frees the answer."""
    with contextlib.suppress(OSError):  # ended in the meantime
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        connection.shutdown(socket.SHUT_RDWR)

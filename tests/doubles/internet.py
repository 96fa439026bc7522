"""The internet for a sender under test: every outgoing connection reaches a receiver on loopback.

The dialled address is recorded in `socket.connect`, after all checks of the program. So a test can tell a public
address that was dialled from an address that was refused, and no packet leaves the machine.
"""

from __future__ import annotations

import _socket
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::ffff:127.0.0.1"}


class Internet:
    def __init__(self) -> None:
        self.dialled: list[str] = []
        self.port = 0

    def leads_to(self, port: int) -> None:
        """Forget the dialled addresses; from now on this port on loopback answers every connection."""
        self.dialled = []
        self.port = port

    @contextmanager
    def around(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Internet]:
        """Within the block every TCP connection of this process goes to that port."""

        def connect(one: socket.socket, address: Any) -> None:
            if one.family in _LOOPBACK and one.type == socket.SOCK_STREAM:
                self.dialled.append(str(address[0]))
                address = (_LOOPBACK[one.family], self.port)
            _socket.socket.connect(one, address)

        with monkeypatch.context() as patched:
            patched.setattr(socket.socket, "connect", connect)
            yield self

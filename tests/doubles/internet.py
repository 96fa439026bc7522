"""The internet as a sender sees it: wherever a connection is to go, a receiver on loopback is at its other end.

What is dialled is written down where the program meets the system, after all of its checks. So a test can tell a public
address that was dialled from one that was refused, without a packet leaving the machine.
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
        """Forget what was dialled before; whatever is dialled from now on is answered by this port of loopback."""
        self.dialled = []
        self.port = port

    @contextmanager
    def around(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Internet]:
        """Within the block no TCP connection of this process reaches anything else."""

        def connect(one: socket.socket, address: Any) -> None:
            if one.family in _LOOPBACK and one.type == socket.SOCK_STREAM:
                self.dialled.append(str(address[0]))
                address = (_LOOPBACK[one.family], self.port)
            _socket.socket.connect(one, address)

        with monkeypatch.context() as patched:
            patched.setattr(socket.socket, "connect", connect)
            yield self

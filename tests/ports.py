"""Ports for programs that a test starts."""

from __future__ import annotations

import random
import socket

_chance = random.SystemRandom()  # the seed of the module's own generator is the same in every test and process
_given: set[int] = set()


def free_port() -> int:
    """A free port whose next port is also free, for the router. Both are below the ports that the kernel gives to
    clients.

        Each call returns another port, for tests that ask for several ports before they listen on the first.
    """
    while True:
        port = _chance.randrange(20_000, 32_000, 2)
        if port in _given:
            continue
        _given.add(port)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port

"""Ports for programs that a test starts."""

from __future__ import annotations

import random
import socket

_chance = random.SystemRandom()  # the module's own is seeded alike for every test, and in every process of a run
_given: set[int] = set()


def free_port() -> int:
    """A port that is free, as is the one after it, the router's. Below those that the kernel hands to clients.

    Another one each time, for who asks for several before listening on the first.
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

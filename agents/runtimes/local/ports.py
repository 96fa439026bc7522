"""The ports of local pods. All are on loopback, below the range that the kernel uses for outgoing connections."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Collection, Container

from agents.cause import Cause
from agents.runtimes.base import RuntimeFailure
from agents.runtimes.local.home import Home, make_private, write_private

HOST = "127.0.0.1"
FIRST, LAST = 20_000, 31_999
_TRIES = 500
_CLOSING_SECONDS = 1.0
_LOOK_SECONDS = 0.02


def is_free(port: int) -> bool:
    """Whether a listener could be opened now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def come_free(ports: Collection[int]) -> bool:
    """Whether the ports are free now or within a second. A killed program is gone a moment before its
    ports are free.
    """
    until = time.monotonic() + _CLOSING_SECONDS
    while not all(map(is_free, ports)):
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def public_port(home: Home, agent_id: str) -> int:
    """The agent's own port, the same for all its pods."""
    with home.lock("ports"):
        path = home.port_file(agent_id)
        if path.exists():
            return int(path.read_text())
        port = _new(promised(home))
        make_private(path.parent)
        write_private(path, str(port))
        return port


def inner_ports(home: Home) -> tuple[int, int, int, int, int]:
    """Five free ports that no pod and no agent has. The caller must hold the lock `ports`, and save the ports before it
    releases the lock.
    """
    taken = promised(home)
    chosen: list[int] = []
    while len(chosen) < 5:
        chosen.append(_new({*taken, *chosen}))
    return chosen[0], chosen[1], chosen[2], chosen[3], chosen[4]


def promised(home: Home) -> set[int]:
    """All ports that belong to an agent or a pod, whether a program listens on them now or not."""
    agents = {int(path.read_text()) for path in home.port_files()}
    records = [record for namespace in home.namespaces() if (record := home.record(namespace))]
    return agents.union(*(record.inner_ports for record in records)) if records else agents


def _new(taken: Container[int]) -> int:
    for _ in range(_TRIES):
        port = FIRST + secrets.randbelow(LAST - FIRST + 1)
        if port not in taken and is_free(port):
            return port
    raise RuntimeFailure(f"no free port between {FIRST} and {LAST}", cause=Cause.PORT)

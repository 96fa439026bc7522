"""A load generator: keep-alive connections, each of which sends its next request when the last one is answered.

It runs in the benchmark's own process, so its cost is not part of any server's CPU. It uses one thread and no library,
because it must be cheaper than the cheapest server that it measures.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

GIVE_UP_SECONDS = 120.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LoadAnswer:
    status: int
    body: bytes
    at: float  # wall-clock time of its last byte
    seconds: float  # since its request was sent


@dataclass(slots=True)
class Load:
    answers: list[LoadAnswer]
    seconds: float

    @property
    def statuses(self) -> Counter[int]:
        return Counter(answer.status for answer in self.answers)

    @property
    def rate(self) -> float:
        return len(self.answers) / self.seconds

    def expect(self, status: int) -> Load:
        """Check that all answers have this status: a benchmark of errors would be fast and wrong."""
        if set(self.statuses) != {status}:
            raise RuntimeError(f"expected {status} alone: {dict(self.statuses)}, {self.answers[0].body[:500]!r}")
        return self


def get(path: str, **headers: str) -> bytes:
    return request("GET", path, b"", **headers)


def post(path: str, body: bytes, **headers: str) -> bytes:
    return request("POST", path, body, Content_Type="application/json", **headers)


def request(verb: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    fields = {"Host": "127.0.0.1", **headers, **({"Content-Length": str(len(body))} if body else {})}
    lines = [f"{verb} {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def repeat(request: bytes, times: int) -> Iterable[bytes]:
    return islice(iter(lambda: request, b""), times)


def run(port: int, requests: Iterable[bytes], *, connections: int = 8) -> Load:
    """Send all requests and wait for all answers."""
    pending = iter(requests)
    opened = [_Connection(port) for _ in range(connections)]
    answers: list[LoadAnswer] = []
    begun = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for connection in opened:
            if connection.send_next(pending):
                selector.register(connection.socket, selectors.EVENT_READ, connection)
        while selector.get_map():
            for key, _ in selector.select(GIVE_UP_SECONDS) or _give_up():
                if answer := key.data.read():
                    answers.append(answer)
                    if not key.data.send_next(pending):
                        selector.unregister(key.fileobj)
    seconds = time.perf_counter() - begun
    for connection in opened:
        connection.socket.close()
    return Load(answers, seconds)


def _give_up() -> list[tuple[selectors.SelectorKey, int]]:
    raise RuntimeError(f"no answer within {GIVE_UP_SECONDS:.0f} s")


@dataclass(slots=True)
class _Connection:
    port: int
    socket: socket.socket = field(init=False)
    sent: float = 0.0
    head: bytes = b""
    parts: list[bytes] = field(default_factory=list)
    missing: int = 0

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=GIVE_UP_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send_next(self, requests: Iterator[bytes]) -> bool:
        request = next(requests, None)
        if request is None:
            return False
        self.head, self.parts, self.missing, self.sent = b"", [], 0, time.perf_counter()
        self.socket.sendall(request)
        return True

    def read(self) -> LoadAnswer | None:
        """Read what has arrived. Return the answer when it is complete, else None."""
        piece = self.socket.recv(_READ_BYTES)
        if not piece:
            raise RuntimeError("the server closed the connection")
        if self.parts:
            self.parts.append(piece)
            self.missing -= len(piece)
        elif not self._read_head(piece):
            return None
        if self.missing > 0:
            return None
        return LoadAnswer(int(self.head[9:12]), b"".join(self.parts), time.time(), time.perf_counter() - self.sent)

    def _read_head(self, piece: bytes) -> bool:
        self.head += piece
        head, end, rest = self.head.partition(b"\r\n\r\n")
        if not end:
            return False
        length = _LENGTH.search(head)
        self.missing = (int(length[1]) if length else 0) - len(rest)
        self.head, self.parts = head, [rest]
        return True

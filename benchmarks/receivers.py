"""`python -m benchmarks.receivers PORT LOG HOSTS DEAD [PEM]`: HOSTS webhook receivers on loopback, in one process.

Each has its own address (127.1.x.y). The first DEAD receivers accept the connection and never answer. The others answer
204 at once, or after DELAY_MS of the environment, and write the id and the time of each delivery to the log.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
import time
from io import TextIOWrapper
from pathlib import Path

ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
_ID = re.compile(rb"X-Service-Delivery: (\S+)", re.IGNORECASE)
_LENGTH = re.compile(rb"Content-Length: (\d+)", re.IGNORECASE)


def host(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


class ReceiverConnection(asyncio.Protocol):
    def __init__(self, log: TextIOWrapper, dead: set[str], delay: float) -> None:
        self._log, self._dead, self._delay = log, dead, delay
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._is_dead = transport.get_extra_info("sockname")[0] in self._dead

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if self._is_dead or not separator or length is None or len(body) < int(length[1]):
            return
        event = _ID.search(head)
        self._log.write(f"{event[1].decode() if event else '-'} {time.time():.6f}\n")
        asyncio.get_running_loop().call_later(self._delay, self._answer)

    def _answer(self) -> None:
        self._transport.write(ANSWER)
        self._transport.close()


async def main(port: int, log: Path, hosts: int, dead: int, pem: str | None) -> None:
    delay = int(os.environ.get("DELAY_MS", "0")) / 1000
    deaf = {host(number) for number in range(dead)}
    tls = None
    if pem:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pem)
    loop = asyncio.get_running_loop()
    with log.open("w", buffering=1, encoding="ascii") as lines:
        addresses = [host(number) for number in range(hosts)]
        server = await loop.create_server(
            lambda: ReceiverConnection(lines, deaf, delay), addresses, port, ssl=tls, backlog=1024
        )
        await server.serve_forever()


if __name__ == "__main__":
    asked = sys.argv[1:]
    asyncio.run(main(int(asked[0]), Path(asked[1]), int(asked[2]), int(asked[3]), asked[4] if len(asked) > 4 else None))

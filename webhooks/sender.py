"""One signed POST to a receiver that nobody vouches for: bounded, judged at dial time, its body never read."""

from __future__ import annotations

import asyncio
import functools
import logging
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, ip_address
from socket import AF_INET, AF_INET6, AI_NUMERICHOST, AddressFamily, socket
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from webhooks import networks, resolving
from webhooks.deliveries import Answer
from webhooks.models import Problem

if TYPE_CHECKING:
    from typing_extensions import Buffer

log = logging.getLogger(__name__)

TOTAL_SECONDS = 10.0
# All that a receiver may send us: certificates, the head of its answer, and what comes before it. RFC 9110 15.2 allows
# any number of informational answers: without a bound, a flood of them keeps a core busy until the time-out.
MAX_ANSWER_BYTES = 65_536

# aiohttp adds these to every request if they are not skipped.
_NOT_OURS = ("Accept", "Accept-Encoding")

AddressInfo = tuple[int | AddressFamily, int, int, str, tuple[Any, ...]]


class AddressRefusedError(Exception):
    """The name or literal leads to an address that may not be dialled. Not an OSError: nothing tries the next one."""


class Sender:
    """The open sender of one drain. Each POST has a connection of its own, so that no check outlives its address."""

    def __init__(self, *, lookups: int, seconds: float = TOTAL_SECONDS) -> None:
        # Without the threshold aiohttp rounds long time-outs up to the next full second.
        self._timeout = aiohttp.ClientTimeout(total=seconds, ceil_threshold=2 * seconds)
        self._threads = ThreadPoolExecutor(lookups, thread_name_prefix="resolve-delivery")

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(
            limit=0,
            force_close=True,
            use_dns_cache=False,
            resolver=_JudgingResolver(self._threads),
            socket_factory=_judged_socket,
            ssl=_tls(),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            trust_env=False,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NOT_OURS,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def post(self, url: str, *, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and report. Never raises for what a receiver, a name server or the network does."""
        started = time.monotonic()
        status, problem = None, None
        try:
            status = await self._status(url, headers, body)
        except Exception as error:  # noqa: BLE001 # whatever a hostile receiver provokes is an outcome
            problem = _problem(error)
        return Answer(status, problem, time.monotonic() - started)

    async def _status(self, url: str, headers: dict[str, str], body: bytes) -> int:
        response = await self._session.post(URL(url), headers=headers, data=body, allow_redirects=False)
        response.close()  # the body is not read, not even by a polite end of the connection
        return response.status


class _JudgingResolver(AbstractResolver):
    """One resolution per attempt; a name with a private answer is refused before anything is dialled."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        addresses = networks.dialable(await loop.run_in_executor(self._threads, resolving.resolve, host))
        if not addresses:
            raise AddressRefusedError
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=AF_INET if isinstance(address, IPv4Address) else AF_INET6,
                proto=0,
                flags=AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """The threads are the sender's."""


def _judged_socket(info: AddressInfo) -> socket:
    """Called for every dial, by name or literal, with the final address: nothing is looked up after this."""
    family, kind, protocol, _, address = info
    if not networks.may_dial(ip_address(str(address[0]).partition("%")[0])):
        raise AddressRefusedError
    return _ShortSocket(family, kind, protocol)


class _ShortSocket(socket):
    """A socket whose other side hangs up, as far as its reader can tell, after MAX_ANSWER_BYTES."""

    _left = MAX_ANSWER_BYTES

    def recv(self, size: int, flags: int = 0) -> bytes:
        """What asyncio reads plain connections with."""
        found = super().recv(min(size, self._left), flags) if self._left else b""
        self._left -= len(found)
        return found

    def recv_into(self, buffer: Buffer, size: int = 0, flags: int = 0) -> int:
        """What asyncio reads TLS connections with."""
        wanted = size or memoryview(buffer).nbytes
        count = super().recv_into(buffer, min(wanted, self._left), flags) if self._left else 0
        self._left -= count
        return count


@functools.cache
def _tls() -> ssl.SSLContext:
    """One context per process: loading the system's certificates takes 25 ms of CPU."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _problem(error: Exception) -> Problem:
    """The word for a failure. The exception's own text may hold addresses and stays here."""
    match error:
        case TimeoutError():
            return Problem.TIMEOUT
        case AddressRefusedError():
            return Problem.ADDRESS_REFUSED
        case aiohttp.ClientConnectorDNSError():
            return Problem.DNS
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return Problem.TLS
        case aiohttp.ClientConnectorError():
            return Problem.CONNECT
        case aiohttp.ClientError() | OSError() | ValueError():
            return Problem.PROTOCOL
    log.error("a delivery failed in our own code", exc_info=error)
    return Problem.INTERNAL

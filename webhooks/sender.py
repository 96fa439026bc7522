"""Sends one signed POST to a receiver that nobody has checked: time and size are limited, the address is checked when
it is dialled, the body is never read.
"""

from __future__ import annotations

import functools
import logging
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from config.outbound import AddressRefusedError, JudgingResolver
from webhooks import networks, resolving
from webhooks.deliveries import AttemptResult
from webhooks.models import Problem

log = logging.getLogger(__name__)

TOTAL_SECONDS = 10.0
# All bytes that a receiver may send us, including certificates.
MAX_ANSWER_BYTES = 65_536

# aiohttp adds these to every request unless they are skipped.
_NOT_OURS = ("Accept", "Accept-Encoding")


class Sender:
    """The HTTP client of one drain. Each POST has its own connection, so that each POST checks the address it uses."""

    def __init__(self, *, lookups: int, seconds: float = TOTAL_SECONDS) -> None:
        # Without the threshold, aiohttp rounds long time-outs up to the next full second.
        self._timeout = aiohttp.ClientTimeout(total=seconds, ceil_threshold=2 * seconds)
        self._threads = ThreadPoolExecutor(lookups, thread_name_prefix="resolve-delivery")

    async def __aenter__(self) -> Self:
        reach = networks.reach()
        connector = aiohttp.TCPConnector(
            limit=0,
            force_close=True,
            use_dns_cache=False,
            resolver=JudgingResolver(self._threads, resolving.resolve, reach),
            socket_factory=reach.sockets(max_bytes=MAX_ANSWER_BYTES),
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

    async def post(self, url: str, *, headers: dict[str, str], body: bytes) -> AttemptResult:
        """Send once and report. Never raises for errors of a receiver, a name server or the network."""
        started = time.monotonic()
        status, problem = None, None
        try:
            status = await self._status(url, headers, body)
        except Exception as error:  # noqa: BLE001 # whatever a hostile receiver causes is an outcome
            problem = _problem(error)
        return AttemptResult(status, problem, time.monotonic() - started)

    async def _status(self, url: str, headers: dict[str, str], body: bytes) -> int:
        response = await self._session.post(URL(url), headers=headers, data=body, allow_redirects=False)
        response.close()  # the body is not read, not even to end the connection politely
        return response.status


@functools.cache
def _tls() -> ssl.SSLContext:
    """One context per process: loading the system's certificates takes 25 ms of CPU."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _problem(error: Exception) -> Problem:
    """The word for a failure. The text of the exception may contain addresses and is not passed on."""
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

"""One HTTP exchange with a peer that is not trusted: its address is checked when connecting, its size and time are
limited, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

import aiohttp
from yarl import URL

from config.outbound import AddressRefusedError, JudgingResolver, Reach, ask_system
from config.public_networks import Address

ANSWER_BYTES = 512 * 1024
# Room for the head of the answer and for TLS.
SURROUNDING_BYTES = 128 * 1024
LOOKUPS = 4
_LOOPBACK: list[Address] = [IPv4Address("127.0.0.1"), IPv6Address("::1")]


Asked = AbstractAsyncContextManager[aiohttp.ClientResponse]


class PeerFailure(Exception):
    """The call to the peer failed. The text is for the model, and contains no address and no token."""


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Own threads for the name lookups of peers: a silent name server must not delay the lookups of model calls."""
    return ThreadPoolExecutor(LOOKUPS, thread_name_prefix="resolve-peer")


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


async def exchange(
    url: str,
    *,
    networks: list[str],
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None = None,
    seconds: float,
) -> dict[str, Any]:
    """POST `body`, or GET without a body, and return the JSON object of the answer. Raises PeerFailure for any other
    result.
    `networks` may be reached in addition to the public internet.
    """
    method = "GET" if body is None else "POST"
    async with asked(method, url, networks=networks, headers=headers, body=body, seconds=seconds) as answer:
        refuse(answer, "our token")
        return json_object(await read(answer))


@asynccontextmanager
async def asked(
    method: str,
    url: str,
    *,
    networks: list[str],
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None,
    seconds: float,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer, of which only the head is read so far. Raises PeerFailure, also for errors while the rest is read."""
    try:
        async with (
            asyncio.timeout(seconds),
            _session(networks) as session,
            session.request(method, URL(url), headers=dict(headers), json=body, allow_redirects=False) as answer,
        ):
            yield answer
    except TimeoutError as error:
        raise PeerFailure(f"it did not answer within {seconds:.0f} s") from error
    except AddressRefusedError as error:
        raise PeerFailure("its address is not on the public internet") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise PeerFailure(_problem(error)) from error


def _session(networks: list[str]) -> aiohttp.ClientSession:
    """A new session, and so a new connection, for each exchange: a checked address is never used again without a new
    check.
    """
    reach = Reach(allowed=tuple(ip_network(network) for network in networks))
    connector = aiohttp.TCPConnector(
        force_close=True,
        use_dns_cache=False,
        resolver=JudgingResolver(_threads(), lookup, reach),
        socket_factory=reach.sockets(max_bytes=ANSWER_BYTES + SURROUNDING_BYTES),
        ssl=_tls(),
    )
    return aiohttp.ClientSession(
        connector=connector,
        headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "agentpods"},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
    )


def lookup(host: str) -> list[Address]:
    """RFC 6761 section 6.3: names below `localhost` mean this machine, whatever a name server says."""
    return _LOOPBACK if host.rstrip(".").endswith(".localhost") else ask_system(host)


def refuse(answer: aiohttp.ClientResponse, shown: str) -> None:
    """Raise PeerFailure for a redirect or an error status. `shown` names the credential that was sent,
    for the message.
    """
    if 300 <= answer.status < 400:
        raise PeerFailure("it redirects, which is not followed")
    if answer.status in {401, 403}:
        raise PeerFailure(f"it refused {shown} ({answer.status})")
    if answer.status >= 400:
        raise PeerFailure(f"it answered {answer.status}")


async def read(answer: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for piece in answer.content.iter_any():
        raw += piece
        if len(raw) > ANSWER_BYTES:
            raise PeerFailure(f"it answered more than {ANSWER_BYTES} bytes")
    return bytes(raw)


def json_object(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise PeerFailure("its answer is not JSON") from error
    if not isinstance(found, dict):
        raise PeerFailure("its answer is not a JSON object")
    return found


def _problem(error: Exception) -> str:
    """A message for this error. The exception's own text is not used, because it may contain addresses."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return "its certificate is not trusted"
        case aiohttp.ClientConnectorError():
            return "it cannot be reached"
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | ValueError():
            return "its address or token cannot be used"
    return "it broke off"

"""Connections to hosts that the engine has named. A name is resolved once, its addresses are judged, and one of them is
dialled: what a name server says afterwards changes nothing.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from socket import AF_INET, AddressFamily, socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from agents.pod.gateway.egress.hosts import Target
from agents.pod.gateway.peers.dialling import lookup
from config.outbound import AddressInfo, AddressRefusedError, JudgingResolver, Reach
from config.public_networks import Address

CONNECT_SECONDS = 10.0
LOOKUP_SECONDS = 15.0
LOOKUPS = 4
BUFFER_BYTES = 32 * 1024
_UNLIMITED = 1 << 62

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Own threads: a name server that is silent for the engine's hosts must not delay the lookups of model calls."""
    return ThreadPoolExecutor(LOOKUPS, thread_name_prefix="resolve-egress")


async def dial(reach: Reach, target: Target) -> Streams:
    """Raises AddressRefusedError, OSError or TimeoutError."""
    problem: Exception = OSError("no address")
    for address in (await _addresses(reach, target))[:4]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(str(address), target.port, limit=BUFFER_BYTES)
        except (OSError, TimeoutError) as error:
            problem = error
    raise problem


async def _addresses(reach: Reach, target: Target) -> list[Address]:
    if target.address is not None:
        if not reach.may_dial(target.address):
            raise AddressRefusedError
        return [target.address]
    async with asyncio.timeout(LOOKUP_SECONDS):
        found = await JudgingResolver(_threads(), lookup, reach).resolve(target.host, target.port)
    return [ip_address(one["host"]) for one in found]


def connector(reach: Callable[[], Reach], most: int) -> aiohttp.TCPConnector:
    """For requests that the broker makes itself. TLS is verified against the public authorities. `reach` is asked for
    each connection, as the pod's configuration may change.
    """
    return aiohttp.TCPConnector(
        limit=most,
        use_dns_cache=False,
        keepalive_timeout=15,
        resolver=_PresentResolver(reach),
        socket_factory=_judged_by(reach),
        ssl=ssl.create_default_context(),
    )


def _judged_by(reach: Callable[[], Reach]) -> Callable[[AddressInfo], socket]:
    def made(info: AddressInfo) -> socket:
        return reach().sockets(max_bytes=_UNLIMITED)(info)

    return made


class _PresentResolver(AbstractResolver):
    """Judges by the networks of the pod's present configuration."""

    def __init__(self, reach: Callable[[], Reach]) -> None:
        self._reach = reach

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        async with asyncio.timeout(LOOKUP_SECONDS):
            return await JudgingResolver(_threads(), lookup, self._reach()).resolve(host, port, family)

    async def close(self) -> None:
        """Nothing to close: the threads live as long as the gateway."""

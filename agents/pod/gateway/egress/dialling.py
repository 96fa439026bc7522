"""Connections to hosts that the engine has named. A name is resolved once, its addresses are judged, and one of them is
dialled: what a name server says afterwards changes nothing.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from socket import AF_INET, AddressFamily, socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from agents.pod.gateway.egress.hosts import Target
from agents.pod.gateway.peers.dialling import lookup
from agents.pod.gateway.pod import Pod
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


def reach_of(pod: Pod) -> Reach:
    """The public internet, and the networks that the operator allows pods."""
    return Reach(allowed=tuple(ip_network(network) for network in pod.secrets.peer_networks))


async def dial(pod: Pod, target: Target) -> Streams:
    """Raises AddressRefusedError, OSError or TimeoutError."""
    problem: Exception = OSError("no address")
    for address in (await _addresses(pod, target))[:4]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(str(address), target.port, limit=BUFFER_BYTES)
        except (OSError, TimeoutError) as error:
            problem = error
    raise problem


async def _addresses(pod: Pod, target: Target) -> list[Address]:
    reach = reach_of(pod)
    if target.address is not None:
        if not reach.may_dial(target.address):
            raise AddressRefusedError
        return [target.address]
    async with asyncio.timeout(LOOKUP_SECONDS):
        found = await JudgingResolver(_threads(), lookup, reach).resolve(target.host, target.port)
    return [ip_address(one["host"]) for one in found]


def connector(pod: Pod, most: int) -> aiohttp.TCPConnector:
    """For requests that the broker makes itself. TLS is verified against the public authorities."""
    return aiohttp.TCPConnector(
        limit=most,
        use_dns_cache=False,
        keepalive_timeout=15,
        resolver=_PodResolver(pod),
        socket_factory=_judged_by(pod),
        ssl=ssl.create_default_context(),
    )


def _judged_by(pod: Pod) -> Callable[[AddressInfo], socket]:
    def made(info: AddressInfo) -> socket:
        return reach_of(pod).sockets(max_bytes=_UNLIMITED)(info)

    return made


class _PodResolver(AbstractResolver):
    """Judges by the networks of the pod's present configuration."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        async with asyncio.timeout(LOOKUP_SECONDS):
            return await JudgingResolver(_threads(), lookup, reach_of(self._pod)).resolve(host, port, family)

    async def close(self) -> None:
        """Nothing to close: the threads live as long as the gateway."""

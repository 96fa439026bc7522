"""Connections to addresses that a customer has named: which addresses are allowed, and a limit on the size of the
answer.

The final IP address is checked, and no look-up follows the check. Used for webhooks and for peers of agents.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from socket import AF_INET, AF_INET6, AI_NUMERICHOST, SOCK_STREAM, AddressFamily
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from config.public_networks import Address, Network, is_public

if TYPE_CHECKING:
    from typing_extensions import Buffer

AddressInfo = tuple[int | AddressFamily, int, int, str, tuple[Any, ...]]


class AddressRefusedError(Exception):
    """The name or literal leads to an address that is not allowed.

    Not an OSError, so that aiohttp does not try the next address.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The allowed addresses: the public internet without `own`, and the networks in `allowed`, which the operator
    trusts.
    """

    allowed: tuple[Network, ...] = ()
    own: tuple[Network, ...] = ()

    def is_allowed(self, address: Address) -> bool:
        return _is_in(address, self.allowed)

    def may_dial(self, address: Address) -> bool:
        return (is_public(address) and not _is_in(address, self.own)) or self.is_allowed(address)

    def dialable(self, answers: list[Address]) -> list[Address]:
        """The addresses of one name that may be dialled; an empty list if the name is not allowed.

        If one address of a name is refused, the whole name is refused, because the network chooses which address is
        dialled. Exception: if one address is in `allowed`, the refused addresses are just left out. `localhost` is
        `::1` and `127.0.0.1`.
        """
        good = [address for address in answers if self.may_dial(address)]
        return good if len(good) == len(answers) or any(map(self.is_allowed, good)) else []

    def sockets(self, *, max_bytes: int) -> Callable[[AddressInfo], socket.socket]:
        """A factory of sockets for aiohttp. Each socket checks its address, given by name or literal, before it is
        dialled.

        A socket reads at most `max_bytes`. That includes certificates, the head of the answer and everything before it:
        RFC 9110 15.2 allows any number of informational answers, and a flood of them would keep a core busy until the
        time-out.
        """

        def judged(info: AddressInfo) -> socket.socket:
            family, kind, protocol, _, address = info
            if not self.may_dial(ip_address(str(address[0]).partition("%")[0])):
                raise AddressRefusedError
            made = _ShortSocket(family, kind, protocol)
            made.left = max_bytes
            return made

        return judged


class OneCall(aiohttp.TCPConnector):
    """Ends its connection at once. Otherwise a peer that does not end TLS too would keep it for half a minute."""

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        protocol.abort()
        super()._release(key, protocol, should_close=should_close)


class JudgingResolver(AbstractResolver):
    """Resolves each name once per connection, on its own threads: a name server that never answers blocks a thread for
    half a minute. A name with a refused address is refused before anything is dialled.
    """

    def __init__(self, threads: Executor, lookup: Callable[[str], list[Address]], reach: Reach) -> None:
        self._threads = threads
        self._lookup = lookup
        self._reach = reach

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        answers = await asyncio.get_running_loop().run_in_executor(self._threads, self._lookup, host)
        addresses = self._reach.dialable(answers)
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
        """Nothing to close: the threads belong to the caller."""


def ask_system(host: str) -> list[Address]:
    """The addresses from the system's resolver. Raises OSError if the name has none."""
    try:
        found = socket.getaddrinfo(host, None, type=SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("not a name that DNS can hold") from error
    return [ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found]


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


class _ShortSocket(socket.socket):
    """A socket that reads `left` bytes at most. After that its reader sees the end of the connection."""

    left = 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        """asyncio reads plain connections with this."""
        found = super().recv(min(size, self.left), flags) if self.left else b""
        self.left -= len(found)
        return found

    def recv_into(self, buffer: Buffer, size: int = 0, flags: int = 0) -> int:
        """asyncio reads TLS connections with this."""
        wanted = size or memoryview(buffer).nbytes
        count = super().recv_into(buffer, min(wanted, self.left), flags) if self.left else 0
        self.left -= count
        return count

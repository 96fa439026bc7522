"""How to dial an address that a customer has named: which addresses may be, and a bound on what comes back.

Judged where it counts, with the final address: nothing is looked up after that. For webhooks and for peers of agents.
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

from aiohttp.abc import AbstractResolver, ResolveResult

from config.public_networks import Address, Network, is_public

if TYPE_CHECKING:
    from typing_extensions import Buffer

AddressInfo = tuple[int | AddressFamily, int, int, str, tuple[Any, ...]]


class AddressRefusedError(Exception):
    """The name or literal leads to an address that may not be dialled. Not an OSError: nothing tries the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The public internet without `own`, and what the operator vouches for."""

    allowed: tuple[Network, ...] = ()
    own: tuple[Network, ...] = ()

    def is_allowed(self, address: Address) -> bool:
        return _is_in(address, self.allowed)

    def may_dial(self, address: Address) -> bool:
        return (is_public(address) and not _is_in(address, self.own)) or self.is_allowed(address)

    def dialable(self, answers: list[Address]) -> list[Address]:
        """The addresses of one name that may be dialled; none if the name may not be.

        A name with one refused answer is refused whole, because which answer is dialled is the network's choice. Only
        where one answer is the operator's own are the others just left out: `localhost` is `::1` and `127.0.0.1`.
        """
        good = [address for address in answers if self.may_dial(address)]
        return good if len(good) == len(answers) or any(map(self.is_allowed, good)) else []

    def sockets(self, *, max_bytes: int) -> Callable[[AddressInfo], socket.socket]:
        """What aiohttp makes its sockets with, for every dial, by name or literal.

        All that the other side may send is bounded: certificates, the head of its answer, and what comes before it. RFC
        9110 15.2 allows any number of informational answers: a flood of them would keep a core busy until the time-out.
        """

        def judged(info: AddressInfo) -> socket.socket:
            family, kind, protocol, _, address = info
            if not self.may_dial(ip_address(str(address[0]).partition("%")[0])):
                raise AddressRefusedError
            made = _ShortSocket(family, kind, protocol)
            made.left = max_bytes
            return made

        return judged


class JudgingResolver(AbstractResolver):
    """One resolution per connection, on threads of its own: a name server that never answers holds its thread for half
    a minute. A name with a refused answer is refused before anything is dialled."""

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
        """The threads are the caller's."""


def ask_system(host: str) -> list[Address]:
    """The addresses that the system's resolver knows. Raises OSError when the name has none."""
    try:
        found = socket.getaddrinfo(host, None, type=SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("not a name that DNS can hold") from error
    return [ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found]


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


class _ShortSocket(socket.socket):
    """A socket whose other side hangs up, as far as its reader can tell, after so many bytes."""

    left = 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        """What asyncio reads plain connections with."""
        found = super().recv(min(size, self.left), flags) if self.left else b""
        self.left -= len(found)
        return found

    def recv_into(self, buffer: Buffer, size: int = 0, flags: int = 0) -> int:
        """What asyncio reads TLS connections with."""
        wanted = size or memoryview(buffer).nbytes
        count = super().recv_into(buffer, min(wanted, self.left), flags) if self.left else 0
        self.left -= count
        return count

"""Names of hosts: how the owner's list writes them, how clients ask for them, and which of the two belong together.

Every name has one spelling here: lower case, without a dot at its end. Whatever is no plain DNS name or plain IP
address is refused, so that nothing that dials reads a name differently from the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from config.public_networks import Address

MOST_CHARACTERS = 253
# Ports of an entry without a port.
USUAL_PORTS = frozenset({80, 443})
TLS_PORT = 443
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# The last label of everything that a resolver may take for an IPv4 address, such as 0x7f000001 or 127.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


class BadHostError(Exception):
    """The text is no host that the broker knows how to compare. The message says what is wrong, after `host: `."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a client asked for: a name or an address, and a port."""

    host: str
    port: int
    address: Address | None = None  # of a literal

    @classmethod
    def read(cls, text: str, *, default_port: int | None = None) -> Target:
        """Raises BadHostError."""
        host, port = _split(text)
        number = _port(port) if port else default_port
        if number is None:
            raise BadHostError("a port is needed, as in example.com:443")
        if host.startswith("["):
            return cls(host, number, _v6(host))
        name = host.lower().removesuffix(".")
        if _NUMBER.fullmatch(name.rpartition(".")[2]):
            return cls(name, number, _v4(name))
        _check_name(name)
        return cls(name, number)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HostRule:
    """An entry of the owner's list: `example.com`, `*.example.com` or either with a port."""

    name: str
    is_wild: bool  # all names below `name`, without `name` itself
    port: int | None

    @classmethod
    def read(cls, text: str) -> HostRule:
        """Raises BadHostError."""
        host, port = _split(text)
        name = host.lower().removesuffix(".")
        is_wild = name.startswith("*.")
        name = name.removeprefix("*.")
        if host.startswith("[") or _NUMBER.fullmatch(name.rpartition(".")[2]):
            raise BadHostError("must be a name, not an address")
        _check_name(name)
        if "." not in name:
            raise BadHostError("must be a full name with a dot, such as example.com or *.example.com")
        return cls(name, is_wild, _port(port) if port else None)

    def matches(self, target: Target, *, ports: frozenset[int] = USUAL_PORTS) -> bool:
        """`ports` are those of an entry without a port."""
        if target.address is not None or target.port not in ({self.port} if self.port else ports):
            return False
        return target.host.endswith(f".{self.name}") if self.is_wild else target.host == self.name

    def overlaps(self, other: HostRule) -> bool:
        """Whether one name may match both. Entries for other ports count too: a client would not tell them apart."""
        if self.is_wild and other.is_wild:
            return self._is_below(other) or other._is_below(self)
        if self.is_wild or other.is_wild:
            wild, plain = (self, other) if self.is_wild else (other, self)
            return plain.name.endswith(f".{wild.name}")
        return self.name == other.name

    def _is_below(self, other: HostRule) -> bool:
        return self.name == other.name or self.name.endswith(f".{other.name}")

    def __str__(self) -> str:
        return f"{'*.' if self.is_wild else ''}{self.name}{f':{self.port}' if self.port else ''}"


def _split(text: str) -> tuple[str, str]:
    """Host and port, "" without one."""
    if not text.isascii():
        raise BadHostError("must be ASCII: write an international name as xn--…")
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise BadHostError("is no IPv6 address in brackets")
        return f"{host}]", _given_port(rest)
    host, colon, port = text.partition(":")
    return host, _given_port(colon + port)


def _given_port(text: str) -> str:
    if text == ":":
        raise BadHostError("has a colon without a port")
    return text.removeprefix(":")


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise BadHostError("the port must be 1 to 65535")
    return int(text)


def _check_name(name: str) -> None:
    if not name or len(name) > MOST_CHARACTERS or not all(map(_LABEL.fullmatch, name.split("."))):
        raise BadHostError("must be a name of letters, digits, '-' and dots")


def _v4(text: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except ValueError as error:
        raise BadHostError("is an unusual spelling of an IPv4 address") from error


def _v6(text: str) -> IPv6Address:
    try:
        return IPv6Address("" if "%" in text else text[1:-1])  # a zone is never public
    except ValueError as error:
        raise BadHostError("is no IPv6 address in brackets") from error

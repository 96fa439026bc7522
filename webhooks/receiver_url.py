"""Checks the text of a receiver's URL, before anybody looks up where it leads. Pure functions.

URL parsers disagree about odd texts (backslashes, `@` in fragments, `127.1`, full-width digits). If the parser that
checks and the parser that dials disagree, an attacker can use that. So every text with two possible readings is refused
here.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from string import printable
from urllib.parse import quote

import idna

from config.public_networks import Address, address_of

MAX_LENGTH = 2048
MAX_HOST_LENGTH = 253

_SHAPE = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?]+)(?P<rest>.*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]+)(:(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ASCII = printable.rstrip()  # left unchanged by quote(): only other characters are encoded


class BadReceiverUrl(ValueError):
    """The text is not a receiver's URL; the message says why in fixed words."""


@dataclass(frozen=True, slots=True)
class ReceiverUrl:
    """A URL that every parser reads in the same way."""

    scheme: str
    host: str
    written_port: str | None
    rest: str

    @property
    def port(self) -> int:
        return int(self.written_port) if self.written_port else _DEFAULT_PORTS[self.scheme]

    @property
    def authority(self) -> str:
        """Host and port, always with the port. The limit of simultaneous deliveries counts by it."""
        return f"{self._bracketed}:{self.port}"

    @property
    def address(self) -> Address | None:
        """The host as an IP address; None if it is a name."""
        return address_of(self.host)

    def __str__(self) -> str:
        """The URL as the caller wrote it, except for the form of the host and for characters that a
        URI cannot contain.
        """
        port = f":{self.written_port}" if self.written_port else ""
        return f"{self.scheme}://{self._bracketed}{port}{quote(self.rest, safe=_ASCII)}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse(text: str) -> ReceiverUrl:
    """Read a receiver's URL. Raises Refused."""
    _check_characters(text)
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise BadReceiverUrl("must be an absolute https:// or http:// address")
    if "@" in shape["authority"]:
        raise BadReceiverUrl("must not contain credentials")
    parts = _AUTHORITY.fullmatch(shape["authority"])
    if parts is None:
        raise BadReceiverUrl("the host or the port is malformed")
    if parts["port"] and not 1 <= int(parts["port"]) <= 65535:
        raise BadReceiverUrl("the port must be between 1 and 65535")
    return ReceiverUrl(shape["scheme"].lower(), _host(parts["host"]), parts["port"], shape["rest"])


def _check_characters(text: str) -> None:
    if not text:
        raise BadReceiverUrl("must not be empty")
    if len(text) > MAX_LENGTH:
        raise BadReceiverUrl(f"must not be longer than {MAX_LENGTH} characters")
    if any(character.isspace() or not character.isprintable() for character in text):
        raise BadReceiverUrl("must not contain white space or control characters")
    if "\\" in text:
        raise BadReceiverUrl("must not contain a backslash")
    if "#" in text:
        raise BadReceiverUrl("must not have a fragment")


def _host(host: str) -> str:
    if host.startswith("["):
        return _ipv6(host[1:-1])
    name = _ascii(host)
    if _NUMBER.fullmatch(name.removesuffix(".").rpartition(".")[2]):
        return _ipv4(name, as_written=host)
    if name.endswith("."):
        raise BadReceiverUrl("the host must not end with a dot")
    if len(name) > MAX_HOST_LENGTH or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise BadReceiverUrl("the host is not a valid name")
    return name


def _ipv6(literal: str) -> str:
    if "%" in literal:
        raise BadReceiverUrl("must not contain a zone id")
    try:
        return ipaddress.IPv6Address(literal).compressed
    except ValueError as error:
        raise BadReceiverUrl("the IPv6 address is malformed") from error


def _ipv4(name: str, *, as_written: str) -> str:
    """Only `1.2.3.4` is accepted: parsers disagree on decimal, hex, octal, short, full-width and end-dotted forms."""
    try:
        ipaddress.IPv4Address(as_written)
    except ValueError as error:
        raise BadReceiverUrl("an IPv4 address must be written as four decimal numbers") from error
    return name


def _ascii(host: str) -> str:
    """The host in lower case, an international name in punycode. Look-alikes of ASCII (`ⓛocalhost`) are refused."""
    if host.isascii():
        return host.lower()
    try:
        name = idna.encode(host, uts46=True, std3_rules=True).decode("ascii")
    except idna.IDNAError as error:
        raise BadReceiverUrl("the host is not a valid name") from error
    if "xn--" not in name:
        raise BadReceiverUrl("the host must be written in plain letters")
    return name

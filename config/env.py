"""Typed readers of environment variables. Every setting is read with one of them. A wrong value stops the start.

`read_…` get the text instead. They also read what operators choose at run time (config/operator_settings/).
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TIERS, PERIODS = ("tiny", "small", "medium", "large"), ("monthly", "annual")

_CHAIN = re.compile("[1-9][0-9]{0,17}")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def text(name: str, default: str = "") -> str:
    """The text of the variable. An empty variable counts as not set."""
    return os.environ.get(name, "").strip() or default


def one_of(name: str, default: str, *, allowed: Sequence[str]) -> str:
    return read_one_of(name, text(name, default), allowed=allowed)


def read_one_of(name: str, value: str, *, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} must be one of {', '.join(allowed)}")
    return value


def flag(name: str, *, default: bool = False) -> bool:
    return read_flag(name, text(name, "1" if default else "0"))


def read_flag(name: str, raw: str) -> bool:
    raw = raw.lower()
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name}={raw!r} must be 1 or 0")


def number(name: str, default: int, *, at_least: int = 0, at_most: int | None = None) -> int:
    return read_number(name, text(name, str(default)), at_least=at_least, at_most=at_most)


def read_number(name: str, raw: str, *, at_least: int = 0, at_most: int | None = None) -> int:
    try:
        value = int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={raw!r} must be a whole number") from error
    if value < at_least:
        raise ImproperlyConfigured(f"{name}={value} must be at least {at_least}")
    if at_most is not None and value > at_most:
        raise ImproperlyConfigured(f"{name}={value} must be at most {at_most}")
    return value


def read_positive(name: str, raw: str) -> Decimal:
    """A decimal number above 0."""
    try:
        value = Decimal(raw)
    except InvalidOperation as error:
        raise ImproperlyConfigured(f"{name}={raw!r} must be a number") from error
    if not value.is_finite() or value <= 0:
        raise ImproperlyConfigured(f"{name}={value} must be more than 0")
    return value


def secret(name: str, default: str = "") -> str:
    """A secret: the value of NAME, or the content of the file whose path is in NAME_FILE."""
    path = text(f"{name}_FILE")
    if not path:
        return text(name, default)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE: {error}") from error


def load(path: Path) -> None:
    """Add the `NAME=value` lines of the file to the environment.

    Variables that exist already keep their value. The file may be missing.
    """
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.startswith("#"):
            os.environ.setdefault(name.strip(), value.strip())


def words(name: str, default: str = "") -> list[str]:
    """A comma-separated list without empty parts."""
    return read_words(name, text(name, default))


def read_words(_: str, raw: str) -> list[str]:
    return [part.strip() for part in raw.split(",") if part.strip()]


def pairs(name: str) -> dict[str, str]:
    """`a=x,b=y` as a dict."""
    return read_pairs(name, text(name))


def read_pairs(name: str, raw: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in read_words(name, raw):
        key, separator, value = part.partition("=")
        if not separator or not key.strip() or not value.strip():
            raise ImproperlyConfigured(f"{name}: {part!r} must look like name=value")
        found[key.strip()] = value.strip()
    return found


def chains(name: str, secret: str) -> dict[int, str]:
    """`1=https://…,137=https://…`: addresses of nodes by the number of their chain.

    The error does not repeat the value: it may hold a secret.
    """
    parts = [part.partition("=") for part in secret.split(",") if part.strip()]
    if not all(_CHAIN.fullmatch(chain.strip()) and url.strip() for chain, _, url in parts):
        raise ImproperlyConfigured(f"{name}: must name chains by their numbers, as 1=https://…")
    found = {int(chain): url.strip() for chain, _, url in parts}
    if len(found) != len(parts):
        raise ImproperlyConfigured(f"{name}: names a chain twice")
    return found


def read_plans(name: str, raw: str) -> dict[str, str]:
    """`tiny=x,small:annual=y`: the product for a tier, or for one period of a tier."""
    found = read_pairs(name, raw)
    for plan in found:
        tier, separator, period = plan.partition(":")
        if tier not in TIERS or (separator and period not in PERIODS):
            raise ImproperlyConfigured(f"{name}: {plan!r} must be a tier ({', '.join(TIERS)}), or like tiny:monthly")
    return found


def networks(name: str, default: str = "") -> list[Network]:
    """A comma-separated list of CIDRs."""
    try:
        return networks_of(*words(name, default))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


def networks_of(*cidrs: str) -> list[Network]:
    return [ipaddress.ip_network(cidr) for cidr in cidrs]


def sockets(name: str, *, port: int) -> list[tuple[str, int]]:
    """A comma-separated list of IP addresses, with a port (`10.0.0.2:5353`, `[2001:db8::1]:5353`) or without."""
    return [_socket(name, part, port) for part in words(name)]


def _socket(name: str, part: str, port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//[{part}]" if part.count(":") > 1 and "[" not in part else f"//{part}")
        return str(ipaddress.ip_address(parts.hostname or "")), parts.port or port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {part!r} is no IP address, with or without a port") from error

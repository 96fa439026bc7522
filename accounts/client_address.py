"""The client address of a request, taken from proxy headers as far as they can be trusted."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from django.conf import settings

_IPV6_HOUSEHOLD_BITS = 64  # a customer of a provider usually gets a /64, and may use any address in it
_IPV6_NETWORK_BITS = 48  # the largest network that a single customer commonly gets

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]*)\]|(?P<v4>[0-9.]+))(?::[0-9]+)?")


def of(meta: Mapping[str, object]) -> str:
    """The rightmost address that is not in TRUSTED_PROXIES. `meta` is the request's META.

    Each proxy appends the address that it saw, so only the entries of trusted proxies are believed, from right to left.
    An entry that is no address ends the search at the proxy that wrote it.
    """
    hops = [str(meta.get("REMOTE_ADDR", "")), *reversed(str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(","))]
    found = ""
    for hop in hops:
        address = _parse(hop)
        if address is None:
            return found or hop
        found = str(address)
        if not any(address in network for network in settings.TRUSTED_PROXIES):
            return found
    return found


def household_of(meta: Mapping[str, object]) -> str:
    """The key for limits by address, for the request with this META."""
    return household(of(meta))


def household(address: str) -> str:
    """The key for limits by address: an IPv4 address, or the /64 network of an IPv6 address."""
    parsed = _parse(address)
    if not isinstance(parsed, ipaddress.IPv6Address):
        return address
    return str(ipaddress.ip_network((int(parsed), _IPV6_HOUSEHOLD_BITS), strict=False))


def network(household: str) -> str:
    """The key for limits that a customer with many households must not get around: the /48 of an IPv6 household."""
    try:
        return str(ipaddress.IPv6Network(household).supernet(new_prefix=_IPV6_NETWORK_BITS))
    except ValueError:  # an IPv4 address, or no address
        return household


def _parse(hop: str) -> Address | None:
    """The address of a hop such as `1.2.3.4`, `1.2.3.4:80` or `[::1]:80`. An IPv4-mapped IPv6 address becomes IPv4."""
    text = hop.strip()
    if match := _WITH_PORT.fullmatch(text):
        text = match["v6"] or match["v4"] or ""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address

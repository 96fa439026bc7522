"""Addresses that a program names, in the one form that we, browsers and libraries understand in the same way."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_CHARACTERS = re.compile(r"[A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]+")  # RFC 3986, without the fragment
_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")  # no userinfo, nothing for a policy to end


def parts_of(address: str) -> SplitResult | None:
    """The parts of an http or https address, or None if it is none or could be read in another way."""
    if not _CHARACTERS.fullmatch(address):
        return None
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 # raises for a port that is none
    except ValueError:
        return None
    is_plain = parts.scheme in {"http", "https"} and _HOST.fullmatch(parts.netloc)
    return parts if is_plain else None


def is_loopback(parts: SplitResult) -> bool:
    """Whether the address leads to the person's own machine, where no TLS is needed."""
    host = parts.hostname or ""
    if parts.scheme != "http":
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def policy_source(address: str) -> str:
    """The address as a source in a Content-Security-Policy, which knows no literals of IPv6."""
    parts = urlsplit(address)
    return f"{parts.scheme}:" if "[" in parts.netloc else f"{parts.scheme}://{parts.netloc}"

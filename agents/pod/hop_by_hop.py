"""Which headers a proxy keeps to itself, because they are about one connection only (RFC 9110, section 7.6.1)."""

from __future__ import annotations

from multidict import MultiMapping

# Connection itself, the section's list but for Proxy-Connection, and Trailer, which announces what chunks end with.
CONNECTION = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})
# Headers between a client and its next proxy. The section lists the first one. The others are for the login at that
# proxy: servers behind the proxy must not see the login or ask for it.
_TO_A_PROXY = frozenset({"proxy-connection", "proxy-authenticate", "proxy-authorization"})
HOP_BY_HOP = CONNECTION | _TO_A_PROXY


def names_in(headers: MultiMapping[str]) -> frozenset[str]:
    """The names, in lower case, that are not passed on from these headers: HOP_BY_HOP, and those that the sender itself
    lists in Connection.
    """
    values = headers.getall("Connection", [])
    return HOP_BY_HOP | {name.strip().lower() for value in values for name in value.split(",")}

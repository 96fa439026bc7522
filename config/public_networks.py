"""The one list of addresses that are not on the public internet, for all outgoing connections: webhooks, pods and the
chart's network policies.

It follows IANA's registries of special-purpose addresses (IPv4 and IPv6) and adds the public addresses that clouds use
for themselves. It does not depend on the version of Python: `ipaddress.is_global` changes between releases and allows
private addresses inside of NAT64 and 6to4 addresses.

The chart cannot import Python, so it has a copy: deploy/helm/agentpods/files/not-public.json. `python -m
config.public_networks` writes the copy and a test compares it.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from pathlib import Path

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_COPY = Path(__file__).parent.parent / "deploy" / "helm" / "agentpods" / "files" / "not-public.json"

ALL_V4 = ipaddress.IPv4Network("0.0.0.0/0")
NOT_PUBLIC_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's wire server, a public address
        "169.254.0.0/16",  # link-local; metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112: the nearest server answers
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # class E and broadcast
    )
)
# In IPv6 only global unicast addresses are public. NAT64, mapped, unique local, link-local and multicast addresses are
# outside of it.
GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
NOT_PUBLIC_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, which carries IPv4 addresses, ORCHID and other protocol assignments
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 addresses contain any IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


def address_of(text: str) -> Address | None:
    """The address that this text is; None for any other text."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_V4)
    return address in GLOBAL_V6 and not any(address in network for network in NOT_PUBLIC_V6)


def internet(*, without: Iterable[Network] = ()) -> dict[str, list[str]]:
    """The public internet as networks, each with the networks inside it that are not public.

    `without` is left out too.
    """
    found = {str(whole): _holes(whole, usual, without) for whole, usual in _WHOLE}
    return {whole: holes for whole, holes in found.items() if whole not in holes}


_WHOLE: tuple[tuple[Network, tuple[Network, ...]], ...] = ((ALL_V4, NOT_PUBLIC_V4), (GLOBAL_V6, NOT_PUBLIC_V6))


def _holes(whole: Network, usual: Iterable[Network], without: Iterable[Network]) -> list[str]:
    """`usual`, and the networks of `without` that lie inside `whole` and are not covered yet.

    `[whole]` if nothing would be left.
    """
    holes = list(usual)
    for network in without:
        if network.version == whole.version and _covers(network, whole):
            return [str(whole)]
        if _covers(whole, network) and not any(_covers(hole, network) for hole in holes):
            holes.append(network)
    return [str(hole) for hole in holes]


def _covers(network: Network, other: Network) -> bool:
    return network.version == other.version and other.subnet_of(network)  # type: ignore[arg-type]  # same version


def is_open(network: Network, *, without: Iterable[Network] = ()) -> bool:
    """Whether part of `network` is in `internet(without=without)`."""
    for whole, usual in _WHOLE:
        inside = network.version == whole.version and network.overlaps(whole)
        if inside and not any(_covers(hole, network) for hole in (*usual, *without)):
            return True
    return False


if __name__ == "__main__":
    _COPY.parent.mkdir(exist_ok=True)
    _COPY.write_text(json.dumps(internet(), indent=2) + "\n", encoding="utf-8")

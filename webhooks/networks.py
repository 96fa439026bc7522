"""Which IP addresses a delivery may be sent to: public ones, and those that the operator allows.

The table allows first and does not depend on the Python version: `ipaddress.is_global` changes between releases and
lets NAT64 and 6to4 wrappers of private addresses through.
"""

from __future__ import annotations

import ipaddress

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# All of IPv4 but these.
_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's wire server, in public space
        "169.254.0.0/16",  # link-local; metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata service
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # class E and broadcast
    )
)
# Of IPv6 only global unicast, and of that not these.
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, ORCHID and other protocol assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries any IPv4 address
        "3fff::/20",
    )
)


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    return address in _GLOBAL_V6 and not any(address in network for network in _REFUSED_V6)


def is_allowed(address: Address) -> bool:
    """Whether the operator vouches for this address (`WEBHOOK_ALLOWED_CIDRS`)."""
    return any(address in network for network in settings.WEBHOOK_ALLOWED_CIDRS)


def may_dial(address: Address) -> bool:
    return is_public(address) or is_allowed(address)


def dialable(answers: list[Address]) -> list[Address]:
    """The addresses of one name that may be dialled; none if the name may not be.

    A name with one refused answer is refused whole, because which answer is dialled is the network's choice. Only where
    one answer is the operator's own are the others just left out: `localhost` is `::1` as well as `127.0.0.1`.
    """
    good = [address for address in answers if may_dial(address)]
    return good if len(good) == len(answers) or any(map(is_allowed, good)) else []

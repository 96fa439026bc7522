"""Networks outside the public internet: the same list for webhooks, for the policies of pods and for the chart."""

from __future__ import annotations

import json
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import pytest

from config import public_networks
from config.public_networks import Network
from tests.config.conftest import ROOT

# IANA's registries of special-purpose addresses, as text, without networks inside other entries.
SPECIAL = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/128", "::1/128",
    "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
    "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
    "fec0::/10", "ff00::/8",
]  # fmt: skip
# Metadata and control addresses of clouds, and private addresses in each of their IPv6 forms.
CONTROL = [
    "169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "169.254.0.23",
    "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe", "::ffff:169.254.169.254", "::10.0.0.1", "64:ff9b::a00:1",
    "64:ff9b:1::a00:1", "2002:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "::ffff:0:10.0.0.1",
    "255.255.255.255", "192.0.0.9", "192.0.0.170",
]  # fmt: skip
OPEN = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "168.63.129.15",
    "168.63.129.17", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2003::1",
    "2606:4700:4700::1111", "2620:fe::fe", "2a00:1450::1", "3ffe::1",
]  # fmt: skip


def inside(address: str) -> bool:
    """Whether a policy with these blocks lets a packet out to this address."""
    target = ip_address(address)
    return any(
        target in ip_network(whole) and not any(target in ip_network(hole) for hole in holes)
        for whole, holes in public_networks.internet().items()
    )


@pytest.mark.parametrize("network", SPECIAL)
def test_no_special_purpose_address_is_public(network: str) -> None:
    found = ip_network(network)
    for address in (found[0], found[found.num_addresses // 2], found[-1]):
        assert not public_networks.is_public(address)
        assert not inside(str(address))
    assert not public_networks.is_open(found)


@pytest.mark.parametrize("address", CONTROL)
def test_what_clouds_keep_for_themselves_is_not_public(address: str) -> None:
    assert not public_networks.is_public(ip_address(address))
    assert not inside(address)


@pytest.mark.parametrize("address", OPEN)
def test_all_else_is_public_up_to_the_edges(address: str) -> None:
    assert public_networks.is_public(ip_address(address))
    assert inside(address)


def test_a_hole_lies_inside_its_network() -> None:
    """Kubernetes refuses a policy with a hole outside its network."""
    own: list[Network] = [
        IPv4Network("9.9.9.0/24"),
        IPv6Network("fd00::/8"),
        IPv6Network("2a00::/16"),
        IPv6Network("::/8"),
    ]
    for whole, holes in public_networks.internet(without=own).items():
        for hole in holes:
            outer, inner = ip_network(whole), ip_network(hole)
            assert outer != inner
            assert inner.subnet_of(outer)  # type: ignore[arg-type]  # of one version


def test_where_all_is_ones_own_nothing_is_left() -> None:
    assert list(public_networks.internet(without=[IPv4Network("0.0.0.0/0")])) == ["2000::/3"]
    assert list(public_networks.internet(without=[IPv6Network("::/0")])) == ["0.0.0.0/0"]


@pytest.mark.parametrize(
    ("network", "is_open"),
    [
        ("10.0.0.0/24", False),
        ("9.9.9.0/24", False),
        ("9.9.8.0/23", True),
        ("8.0.0.0/6", True),
        ("2a00::1/128", True),
        ("fd00::/64", False),
    ],
)
def test_a_network_is_open_if_a_part_of_it_is(network: str, is_open: bool) -> None:
    assert public_networks.is_open(ip_network(network), without=[IPv4Network("9.9.9.0/24")]) is is_open


def test_the_charts_copy_is_todays() -> None:
    """`python -m config.public_networks` writes the chart's copy."""
    copy = ROOT / "deploy" / "helm" / "agentpods" / "files" / "not-public.json"
    assert json.loads(copy.read_text(encoding="utf-8")) == public_networks.internet()

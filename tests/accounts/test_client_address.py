from __future__ import annotations

import ipaddress

import pytest
from pytest_django import Settings

from accounts import client_address


@pytest.fixture(autouse=True)
def _proxies(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = [ipaddress.ip_network(cidr) for cidr in ("10.0.0.0/8", "127.0.0.0/8", "fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7, 10.0.0.2,10.0.0.3", "198.51.100.7"),
        ("10.0.0.1", "10.0.0.9, 10.0.0.2", "10.0.0.9"),
        ("10.0.0.1", "198.51.100.7, unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, unknown, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("fd00::1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", ",,,", "10.0.0.1"),
        ("10.0.0.1", "[], []:80", "10.0.0.1"),
        ("", "198.51.100.7", ""),
    ],
)
def test_the_rightmost_hop_that_no_trusted_proxy_is(peer: str, forwarded: str | None, found: str) -> None:
    meta = {"REMOTE_ADDR": peer} | ({} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded})
    assert client_address.of(meta) == found


def test_without_trusted_proxies_the_header_is_not_read(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = []
    meta = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "198.51.100.7"}
    assert client_address.of(meta) == "127.0.0.1"


def test_an_ipv6_customer_is_counted_as_a_whole_network() -> None:
    assert client_address.household("2001:db8:1:2:3:4:5:6") == client_address.household("2001:db8:1:2::9")
    assert client_address.household("2001:db8:1:2::9") != client_address.household("2001:db8:1:3::9")
    assert client_address.household("198.51.100.7") == "198.51.100.7"
    assert client_address.household("") == ""


def test_a_network_is_what_one_customer_may_get_of_ipv6() -> None:
    one, other = (client_address.household(f"2001:db8:1:{number}::9") for number in (2, 3))
    assert client_address.network(one) == client_address.network(other)
    assert client_address.network(one) != client_address.network(client_address.household("2001:db8:2:2::9"))
    assert client_address.network("198.51.100.7") == "198.51.100.7"
    assert client_address.network("") == ""

"""The address table of the facts: what may be dialled and what may not."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from webhooks import networks

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "169.253.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
]
REFUSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.254",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "::169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::808:808",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "febf:ffff::1",
    "fec0::1",
    "ff02::1",
    "168.63.129.16",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_dialled(address: str) -> None:
    assert networks.may_dial(ip_address(address))


@pytest.mark.parametrize("address", REFUSED)
def test_any_other_address_may_not_be_dialled(address: str) -> None:
    assert not networks.may_dial(ip_address(address))


def test_an_operator_may_allow_a_private_network(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("172.18.0.0/16")]
    assert networks.may_dial(ip_address("172.18.0.5"))
    assert not networks.may_dial(ip_address("172.19.0.5"))


def test_a_name_with_one_private_answer_is_refused_whole() -> None:
    assert networks.dialable([ip_address("8.8.8.8"), ip_address("10.0.0.1")]) == []


def test_of_a_name_with_an_allowed_answer_only_the_refused_ones_are_left_out(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    assert networks.dialable([ip_address("::1"), ip_address("127.0.0.1")]) == [ip_address("127.0.0.1")]

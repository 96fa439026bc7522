"""Networks that an operator may allow. The table of addresses is in cases.py."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

from webhooks import networks


def test_an_operator_may_allow_a_private_network(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("172.18.0.0/16")]
    assert networks.reach().may_dial(ip_address("172.18.0.5"))
    assert not networks.reach().may_dial(ip_address("172.19.0.5"))


def test_the_clusters_own_public_addresses_are_refused_unless_they_are_allowed(settings: Any) -> None:
    settings.OWN_NETWORKS = [ip_network("9.9.9.0/24"), ip_network("2a01:4f8::/32")]
    assert [networks.reach().may_dial(ip_address(one)) for one in ("9.9.9.5", "9.9.10.5", "2a01:4f8::5")] == [
        False,
        True,
        False,
    ]
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("9.9.9.5/32")]
    assert networks.reach().may_dial(ip_address("9.9.9.5"))


def test_a_name_with_one_private_answer_is_refused_whole() -> None:
    assert networks.reach().dialable([ip_address("8.8.8.8"), ip_address("10.0.0.1")]) == []


def test_of_a_name_with_an_allowed_answer_only_the_refused_ones_are_left_out(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    assert networks.reach().dialable([ip_address("::1"), ip_address("127.0.0.1")]) == [ip_address("127.0.0.1")]

from __future__ import annotations

import socket
import time
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import connection

from config.errors import BadRequest
from tests.webhooks.test_networks import PUBLIC, REFUSED
from tests.webhooks.test_receiver_url import REFUSED as UNREADABLE
from webhooks import addresses

Names = dict[str, list[str]]

LOCAL_NAMES = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "metadata.google.internal",
    "kubernetes.default.svc",
    "db.svc.cluster.local",
    "printer.local",
    "intranet",
]


def literal(address: str) -> str:
    return f"http://[{address}]/hook" if ":" in address else f"http://{address}/hook"


def refusal(url: str, **kwargs: str) -> str:
    with pytest.raises(BadRequest) as refused:
        addresses.check(url, **kwargs)
    return refused.value.message


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_taken(address: str) -> None:
    assert addresses.check(literal(address)) == literal(address)


@pytest.mark.parametrize("address", REFUSED)
def test_a_private_or_reserved_address_is_refused(address: str) -> None:
    assert refusal(literal(address)).startswith("url: must be on a public host")


@pytest.mark.parametrize("address", REFUSED)
def test_a_name_that_leads_to_a_private_or_reserved_address_is_refused(address: str, names: Names) -> None:
    names["example.com"] = [address]
    assert refusal("https://example.com/").startswith("url: must be on a public host")


def test_one_private_answer_among_public_ones_is_enough_to_refuse(names: Names) -> None:
    names["example.com"] = ["8.8.8.8", "10.0.0.1"]
    refusal("https://example.com/")


@pytest.mark.parametrize("host", LOCAL_NAMES)
@pytest.mark.parametrize("answers", [[], ["127.0.0.1"], ["8.8.8.8"]])
def test_a_local_name_is_refused_wherever_it_leads(host: str, answers: list[str], names: Names) -> None:
    names[host.lower().removesuffix(".")] = answers
    refusal(f"http://{host}/")


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_text_that_could_be_read_in_two_ways_is_refused_whatever_is_allowed(text: str, settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("0.0.0.0/0"), ip_network("::/0")]
    assert refusal(text).startswith("url: ")


def test_a_name_that_does_not_resolve_is_taken_and_judged_at_delivery(names: Names) -> None:
    assert addresses.check("https://later.example/hook") == "https://later.example/hook"


def test_a_name_server_that_keeps_silent_holds_nobody_for_more_than_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(4))
    started = time.monotonic()
    assert addresses.check("https://silent.example/")
    assert 1.9 < time.monotonic() - started < 3.5


def test_an_allowed_private_address_is_taken_by_number_and_by_name(settings: Any, names: Names) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("172.18.0.0/16")]
    names.update({"receiver": ["172.18.0.5"], "receiver.internal": ["172.18.0.6"], "other": ["172.19.0.5"]})
    for host in ("172.18.0.5", "receiver", "receiver.internal"):
        addresses.check(f"http://{host}:9000/hook")
    for host in ("172.19.0.5", "other"):
        refusal(f"http://{host}:9000/hook")


def test_localhost_is_taken_where_its_ipv4_half_is_allowed(settings: Any, names: Names) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    names["localhost"] = ["::1", "127.0.0.1"]
    assert addresses.check("http://localhost:9000/") == "http://localhost:9000/"


def test_the_services_own_host_is_refused(settings: Any, names: Names) -> None:
    settings.BASE_URL = "https://api.example.com"
    names["api.example.com"] = ["8.8.8.8"]
    for url in ("https://api.example.com/x", "http://API.example.com./", "https://api.example.com:8443/"):
        assert refusal(url) == "url: must not be an address of this service"


def test_a_pods_host_beside_the_service_is_taken(settings: Any, names: Names) -> None:
    settings.BASE_URL, settings.PLATFORM_DOMAIN = "https://api.example.com", "pods.example.com"
    assert addresses.check("https://ada-1a2b3c.pods.example.com/events")


def test_in_development_another_port_of_the_services_own_host_is_taken(settings: Any) -> None:
    settings.BASE_URL = "http://127.0.0.1:8000"
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    assert addresses.check("http://127.0.0.1:9000/hook")
    refusal("http://127.0.0.1:8000/hook")


def test_the_refusal_names_the_field_it_came_in() -> None:
    assert refusal("http://10.0.0.1/", field="webhookUrl").startswith("webhookUrl: ")


def test_the_refusal_says_nothing_of_what_the_name_resolved_to(names: Names) -> None:
    names["example.com"] = ["10.1.2.3"]
    assert "10.1" not in refusal("http://example.com/")


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_dns_holds_no_database_connection() -> None:
    connection.ensure_connection()
    refusal("http://localhost/hook")
    assert connection.connection is None

from __future__ import annotations

import socket
import threading
import time
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import connection

from config.errors import BadRequest
from tests.webhooks.cases import REFUSED_URLS
from tests.webhooks.test_receiver_url import REFUSED
from webhooks import addresses

Names = dict[str, list[str]]


def refusal(url: str, **kwargs: str) -> str:
    with pytest.raises(BadRequest) as refused:
        addresses.check(url, **kwargs)
    return refused.value.message


# Cases 79 and 80 are plain addresses, and case 77 is plain names: an operator can allow these.
UNREADABLE = [text for number, texts in REFUSED_URLS.items() if number not in (77, 79, 80) for text in texts]


@pytest.mark.parametrize("text", [*UNREADABLE, *REFUSED])
def test_a_text_that_could_be_read_in_two_ways_is_refused_whatever_is_allowed(text: str, settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("0.0.0.0/0"), ip_network("::/0")]
    assert refusal(text).startswith("url: ")


def test_a_name_server_that_keeps_silent_holds_nobody_for_more_than_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: spoken.wait(30) and [])
    started = time.monotonic()
    assert addresses.check("https://silent.example/")
    assert time.monotonic() - started >= addresses.RESOLVE_SECONDS == 2
    assert not spoken.is_set()
    spoken.set()


def test_localhost_is_taken_where_its_ipv4_half_is_allowed(settings: Any, names: Names) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    names["localhost"] = ["::1", "127.0.0.1"]
    assert addresses.check("http://localhost:9000/") == "http://localhost:9000/"


def test_the_services_own_host_is_refused(settings: Any, names: Names) -> None:
    settings.BASE_URL = "https://api.example.com"
    names["api.example.com"] = ["8.8.8.8"]
    for url in ("https://api.example.com/x", "http://API.example.com/", "https://api.example.com:8443/"):
        assert refusal(url) == f"url: must not be an address of this service; got '{url}'"


def test_in_development_another_port_of_the_services_own_host_is_taken(settings: Any) -> None:
    settings.BASE_URL = "http://127.0.0.1:8000"
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    assert addresses.check("http://127.0.0.1:9000/hook")
    refusal("http://127.0.0.1:8000/hook")


def test_the_refusal_names_the_field_it_came_in() -> None:
    assert refusal("http://10.0.0.1/", field="webhookUrl").startswith("webhookUrl: ")


def test_what_came_is_shown_without_what_may_be_secret() -> None:
    assert refusal("http://10.0.0.1/hook?token=abc").endswith("; got 'http://10.0.0.1/hook'")
    assert refusal("https://ann:secret@example.com/") == "url: must not contain credentials"
    assert refusal("") == "url: must not be empty"
    assert len(refusal("http://" + "a" * 5000)) < 300


def test_the_refusal_says_nothing_of_what_the_name_resolved_to(names: Names) -> None:
    names["example.com"] = ["10.1.2.3"]
    assert "10.1" not in refusal("http://example.com/")


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_dns_holds_no_database_connection() -> None:
    connection.ensure_connection()
    refusal("http://localhost/hook")
    assert connection.connection is None

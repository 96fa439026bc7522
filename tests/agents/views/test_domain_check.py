"""`GET /domain-check`: where a name leads. It can be asked before or after an agent has the name."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import DomainClaim
from config import waiting
from tests.agents.conftest import signed_in
from tests.doubles.certificates import Certificates
from tests.doubles.name_server import SILENCE, NameServer
from tests.fixtures import OUR_ADDRESS

NAME = "bot.example.org"


def ask(client: APIClient, **query: str) -> Any:
    return client.get("/domain-check", query)


def test_it_tells_where_a_name_leads_and_claims_nothing(client: APIClient, dns: NameServer) -> None:
    dns.answers(NAME, ["198.51.100.1", "2001:db8::1"])
    answer = ask(client, domain="Bot.example.org.")
    assert answer.status_code == 200, answer.json()
    assert answer.json() == {
        "check": {
            "domain": NAME,
            "expectedIp": OUR_ADDRESS,
            "dns": {"status": "elsewhere", "addresses": ["198.51.100.1", "2001:db8::1"]},
            "https": {"status": "skipped"},
        }
    }
    assert not DomainClaim.objects.exists()


def test_a_name_server_that_says_nothing_is_unresolved(
    client: APIClient, dns: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.domains.records.LOOK_SECONDS", 0.2)
    dns.answers(NAME, SILENCE)
    assert ask(client, domain=NAME).json()["check"]["dns"] == {"status": "unresolved", "addresses": []}


@pytest.mark.parametrize("query", [{}, {"domain": ""}, {"domain": "x"}, {"domain": NAME, "https": "perhaps"}])
def test_a_wrong_query_is_400_and_names_the_field(client: APIClient, query: dict[str, str]) -> None:
    answer = ask(client, **query)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(("domain: ", "https: "))


def test_it_needs_a_bearer(api: APIClient) -> None:
    assert ask(api, domain=NAME).status_code == 401


# HTTPS.


@pytest.fixture
def served(tmp_path: Path, settings: Any) -> Iterator[list[str | None]]:
    """A server on EXPECTED_IP with a certificate for NAME. Gives the names that clients asked it for."""
    certificates = Certificates(tmp_path)
    context = certificates.server(NAME)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    listener = socket.create_server(("127.0.0.1", 0))
    settings.HTTPS_PORT, settings.ACME_ROOTS = listener.getsockname()[1], str(certificates.authority)
    settings.EXPECTED_IP = "127.0.0.1"

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as visitor:
                    visitor.recv(4096)
                    visitor.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                plain.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield asked
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_the_probe_dials_our_own_address_under_the_name(
    client: APIClient, dns: NameServer, served: list[str | None], settings: Any
) -> None:
    settings.EXPECTED_IP = "127.0.0.1"
    dns.answers(NAME, ["127.0.0.1"])
    assert ask(client, domain=NAME, https="true").json()["check"]["https"] == {"status": "ok"}
    assert served == [NAME]


def test_a_certificate_of_another_name_is_an_error(
    client: APIClient, dns: NameServer, served: list[str | None], settings: Any
) -> None:
    settings.EXPECTED_IP = "127.0.0.1"
    dns.answers("other.example.org", ["127.0.0.1"])
    assert ask(client, domain="other.example.org", https="true").json()["check"]["https"] == {"status": "error"}


def test_nothing_is_dialled_while_dns_leads_elsewhere(
    client: APIClient, dns: NameServer, served: list[str | None], settings: Any
) -> None:
    settings.EXPECTED_IP = "127.0.0.1"
    dns.answers(NAME, ["127.0.0.2"])
    assert ask(client, domain=NAME, https="true").json()["check"]["https"] == {"status": "skipped"}
    assert ask(client, domain=NAME).json()["check"]["https"] == {"status": "skipped"}
    assert served == []


def test_an_account_whose_name_servers_are_silent_keeps_nobody_else_waiting(
    other: APIClient, dns: NameServer, owner: User
) -> None:
    """Each look that waits needs a place, and an account has four places."""
    with ExitStack() as waits:
        for _ in range(4):
            waits.enter_context(waiting.names.take(owner.pk))
        answer = ask(signed_in(owner), domain=NAME)
        assert (answer.status_code, answer["Retry-After"]) == (503, "10")
        assert ask(other, domain=NAME).status_code == 200

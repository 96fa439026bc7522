"""The document of a program is fetched from an address that anybody may name."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.utils import timezone

from accounts.oauth import clients, documents
from accounts.oauth.documents import BadDocument
from accounts.oauth.models import OAuthClient
from config.errors import Unavailable
from tests.doubles.certificates import Certificates
from tests.doubles.receiver import Receiver, held, raw, status


@pytest.fixture
def host(trusted: Certificates, settings: Any) -> Iterator[Receiver]:
    """A host with a certificate, at an address that the operator allows."""
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
    with Receiver(tls=trusted.server("localhost"), host="localhost").listening() as receiver:
        yield receiver


def document(host: Receiver, **changed: object) -> dict[str, object]:
    """A good document, and the host answers with it."""
    found = {"client_id": host.url, "client_name": "A program", "redirect_uris": ["http://localhost/back"], **changed}
    host.answers(status(200, "Content-Type: application/json", body=json.dumps(found).encode()))
    return found


def test_a_document_is_read(host: Receiver) -> None:
    found = document(host)
    assert documents.fetched(host.url, by="somebody") == found
    assert host.received[0].header("accept") == "application/json"


@pytest.mark.parametrize(
    "address",
    [
        "http://program.example/client.json",
        "https://program.example",
        "https://program.example/",
        "https://user:word@program.example/client.json",
        "https://program.example/client.json#part",
        "https://program.example/a/../client.json",
        "https://program.example:99999/client.json",
        "https:///client.json",
        "https://program.example/" + "a" * 500,
        "https://prögram.example/client.json",
        "https://program.example/client.json\0",
        "https://program.example/cli\nent.json",
        "https://program.example/client.json ",
        " https://program.example/client.json",
        "file:///etc/passwd",
        "",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_asked(address: str) -> None:
    with pytest.raises(BadDocument, match="must be the https address"):
        documents.fetched(address, by="somebody")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"])
def test_addresses_of_our_own_network_are_not_dialled(trusted: Certificates, name: str) -> None:
    with Receiver(tls=trusted.server("localhost"), host="localhost").listening() as receiver:
        with pytest.raises(BadDocument, match="AddressRefused"):
            documents.fetched(f"https://{name}:{receiver.port}/client.json", by="somebody")
        assert receiver.connections == 0


BAD = {
    "another status": status(404),
    "a redirect": status(302, "Location: https://localhost/other"),
    "no JSON": status(200, body=b"<html>"),
    "no object": status(200, body=b"[1]"),
    "too deep": status(200, body=b'{"a":' * 5_000),
    "too large": status(200, body=b" " * 20_000),
    "endless": raw(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 1_000, repeat=True),
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "no client id": status(200, body=b"{}"),
    "another client id": status(200, body=b'{"client_id": "https://another.example/client.json"}'),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_answer_is_a_refusal(host: Receiver, bad: str) -> None:
    host.answers(BAD[bad])
    with pytest.raises(BadDocument):
        documents.fetched(host.url, by="somebody")


def test_a_host_without_a_good_certificate_is_not_believed(host: Receiver) -> None:
    document(host)
    with pytest.raises(BadDocument, match="Certificate"):
        documents.fetched(host.url.replace("localhost", "127.0.0.1"), by="somebody")


def test_one_who_names_hosts_that_do_not_answer_does_not_keep_the_others_waiting(host: Receiver) -> None:
    release = threading.Event()
    host.answers(held(release, then=status(404)))
    people = [f"person {number}" for number in range(documents.AT_ONCE // documents.AT_ONCE_EACH)]
    threads = [threading.Thread(target=_try, args=(host.url, one)) for one in people * documents.AT_ONCE_EACH]
    first, others = threads[:: len(people)], [one for one in threads if one not in threads[:: len(people)]]
    try:
        _start(first, host, reading=documents.AT_ONCE_EACH)
        with pytest.raises(Unavailable, match="of this account"):
            documents.fetched(host.url, by=people[0])
        _start(others, host, reading=documents.AT_ONCE)
        with pytest.raises(Unavailable, match=f"{documents.AT_ONCE} calls"):
            documents.fetched(host.url, by="another")
    finally:
        release.set()
        for thread in threads:
            thread.join()


def _start(threads: list[threading.Thread], host: Receiver, *, reading: int) -> None:
    for thread in threads:
        thread.start()
    while host.in_hand < reading:
        threading.Event().wait(0.01)


def _try(address: str, by: str) -> None:
    with pytest.raises(BadDocument):
        documents.fetched(address, by=by)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changed",
    [
        {"client_secret": "secret"},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"redirect_uris": []},
        {"redirect_uris": "http://localhost/back"},
        {"redirect_uris": ["http://program.example/back"]},
        {"redirect_uris": ["https://a:b@program.example/back"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["https://program.example/back#part"]},
        {"redirect_uris": ["https://program.example; frame-ancestors */back"]},
        {"redirect_uris": ["https://program.example,evil.example/back"]},
        {"redirect_uris": ["https://program.example'/back"]},
        {"redirect_uris": ["https://@program.example/back"]},
        {"redirect_uris": ["https://program.example\\@evil.example/back"]},
        {"redirect_uris": ["https://program.example[::1]/back"]},
        {"redirect_uris": ["https://program.example/ba ck"]},
        {"redirect_uris": ['https://program.example/"back"']},
        {"redirect_uris": [7]},
        {"redirect_uris": ["https://program.example/back"] * 21},
        {"grant_types": ["password"]},
        {"grant_types": "authorization_code"},
    ],
)
def test_a_program_that_we_do_not_take_is_not_stored(host: Receiver, changed: dict[str, object]) -> None:
    document(host, **changed)
    with pytest.raises(BadDocument):
        clients.read_document(host.url, by="somebody", now=timezone.now())
    assert not OAuthClient.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "shown"),
    [("  A\n\u202eprogram ", "A program"), ("", "localhost"), (7, "localhost"), ("n" * 100, "n" * 60)],
)
def test_a_name_is_one_line_and_never_empty(host: Receiver, given: object, shown: str) -> None:
    document(host, client_name=given)
    assert clients.read_document(host.url, by="somebody", now=timezone.now()).name == shown


@pytest.mark.django_db
def test_a_document_that_changes_is_read_again_after_an_hour(host: Receiver) -> None:
    document(host)
    now = timezone.now()
    clients.read_document(host.url, by="somebody", now=now)
    assert clients.is_fresh(host.url, now=now + clients.FRESH / 2)
    assert not clients.is_fresh(host.url, now=now + clients.FRESH)
    document(host, client_name="Another name")
    clients.read_document(host.url, by="somebody", now=now + clients.FRESH)
    assert OAuthClient.objects.get().name == "Another name"


@pytest.mark.django_db
@pytest.mark.parametrize("answer", [status(503), status(429), raw(b"")], ids=["fails", "busy", "hangs up"])
def test_a_known_program_is_taken_for_a_day_while_its_host_is_away(host: Receiver, answer: Any) -> None:
    document(host)
    now = timezone.now()
    clients.read_document(host.url, by="somebody", now=now)
    host.answers(answer)
    later = now + clients.LAST_GOOD - clients.FRESH
    assert clients.read_document(host.url, by="somebody", now=later).name == "A program"
    assert OAuthClient.objects.get().fetched_at == now  # it does not become newer by that
    with pytest.raises(BadDocument):
        clients.read_document(host.url, by="somebody", now=now + clients.LAST_GOOD)


@pytest.mark.django_db
def test_a_program_that_nobody_knows_is_not_taken_while_its_host_is_away(host: Receiver) -> None:
    host.answers(status(503))
    with pytest.raises(BadDocument):
        clients.read_document(host.url, by="somebody", now=timezone.now())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "answer",
    [status(404), status(200, body=b"{}"), status(302, "Location: https://a.example/")],
    ids=["gone", "empty", "moved"],
)
def test_a_program_whose_host_takes_its_document_back_is_refused_at_once(host: Receiver, answer: Any) -> None:
    document(host)
    clients.read_document(host.url, by="somebody", now=timezone.now())
    host.answers(answer)
    with pytest.raises(BadDocument):
        clients.read_document(host.url, by="somebody", now=timezone.now())


@pytest.mark.parametrize(
    ("name", "client_id", "shown"),
    [
        ("A program", "https://program.example/client.json", "A program (program.example)"),
        ("Claude (claude.ai)", "https://evil.example/client.json", "Claude (claude.ai) (evil.example)"),
        ("program.example", "https://program.example/client.json", "program.example"),
        ("agentpods", "agentpods-cli", "agentpods"),
        ("n" * 60, "https://program.example/client.json", f"{'n' * 42} (program.example)"),
        ("n" * 60, f"https://{'a.' * 60}program.example/c", f"{'n' * 17} (…{('a.' * 60 + 'program.example')[-39:]})"),
    ],
)
def test_the_name_of_a_key_ends_with_the_host_of_its_program(name: str, client_id: str, shown: str) -> None:
    assert clients.key_name(name, client_id) == shown
    assert len(shown) <= 60

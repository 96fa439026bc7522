"""Only the real gateway gets any data, whatever runs in its place and whatever certificate that shows."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from cryptography import x509

from agents.pod.gateway.tls import server_context
from agents.pod.turns.failures import HopFailure
from agents.runtimes import certificates, management
from agents.runtimes.base import Access, Endpoint, Identity, RuntimeFailure
from tests.agents.runtimes import turn_calls
from tests.agents.runtimes.conftest import ACCESS, IDENTITY, MANAGEMENT_TOKEN, REAL_KEY, pod_spec
from tests.doubles.certificates import Certificates
from tests.doubles.impostor import Impostor

MESSAGE = "what I tell my agent alone"
SECRETS = [MANAGEMENT_TOKEN, REAL_KEY, MESSAGE, "ticket-key-of-this-test"]


def ask_health(endpoint: Endpoint) -> None:
    management.health(endpoint, ACCESS)


def ask_chat(endpoint: Endpoint) -> None:
    turn_calls.chat(endpoint, ACCESS, message=MESSAGE, session_id="s")


def ask_chat_events(endpoint: Endpoint) -> None:
    list(turn_calls.chat_events(endpoint, ACCESS, message=MESSAGE, session_id="s"))


def ask_talk_test(endpoint: Endpoint) -> None:
    management.talk_test(endpoint, ACCESS)


def give_configuration(endpoint: Endpoint) -> None:
    spec = pod_spec(revision=7)
    management.configure(endpoint, spec.access, config=spec.config, secrets=spec.secrets)


CALLS = [ask_health, ask_chat, ask_chat_events, ask_talk_test, give_configuration]
every_call = pytest.mark.parametrize("call", CALLS)
Call = Callable[[Endpoint], None]


def lookalike(directory: Path) -> ssl.SSLContext:
    """A certificate of another authority with the gateway's name, followed by the gateway's own certificate."""
    made = Certificates(directory)
    made.server(certificates.NAME, "127.0.0.1")
    (directory / "chain.pem").write_text(made.served.read_text() + IDENTITY.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "chain.pem")
    return context


def another(_: Path) -> ssl.SSLContext:
    """The certificate of another agent's gateway: only its key is different."""
    return server_context(certificates.make())


def plain(_: Path) -> None:
    """HTTP without TLS."""


@every_call
@pytest.mark.parametrize("shows", [another, lookalike, plain])
def test_who_is_not_the_gateway_is_told_not_a_byte(
    call: Call, shows: Callable[[Path], ssl.SSLContext | None], tmp_path: Path
) -> None:
    with Impostor(context=shows(tmp_path)) as impostor:
        with pytest.raises((HopFailure, RuntimeFailure)) as failure:
            call(Endpoint(public_url=impostor.url, management_url=impostor.url))
        assert impostor.calls == 1
    assert [secret for secret in SECRETS if secret.encode() in impostor.told] == []
    assert shows is plain or impostor.told == b""
    assert [secret for secret in SECRETS if secret in str(failure.value)] == []


def test_an_authority_that_this_machine_trusts_cannot_vouch_for_a_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Certificates(tmp_path)
    context = made.server(certificates.NAME, "127.0.0.1")
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(made.authority))
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", str(made.authority))
    with Impostor(context=context) as impostor:
        with pytest.raises(HopFailure, match="does not prove"):
            ask_chat(Endpoint(public_url=impostor.url, management_url=impostor.url))
        assert requests.get(impostor.url, timeout=5).status_code == 200  # other clients of this machine trust it
    assert MANAGEMENT_TOKEN.encode() not in impostor.told


def test_the_gateway_itself_is_told() -> None:
    with Impostor(context=server_context(IDENTITY)) as gateway:
        ask_health(Endpoint(public_url=gateway.url, management_url=gateway.url))
    assert f"Authorization: Bearer {MANAGEMENT_TOKEN}".encode() in gateway.told


@every_call
def test_an_address_without_tls_is_not_called(call: Call) -> None:
    with Impostor() as impostor:
        url = impostor.url.replace("https", "http")
        with pytest.raises((HopFailure, RuntimeFailure)):
            call(Endpoint(public_url=url, management_url=url))
        assert impostor.calls == 0


def test_a_gateway_that_was_given_no_certificate_is_not_called() -> None:
    with Impostor() as impostor:
        nothing = replace(ACCESS, certificate="")
        with pytest.raises(HopFailure) as failure:
            management.health(Endpoint(public_url=impostor.url, management_url=impostor.url), nothing)
        assert (failure.value.hop, impostor.calls) == ("gateway", 0)


def test_who_takes_the_call_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr("tests.doubles.impostor.ANSWER", b"")
    with Impostor() as impostor, pytest.raises(HopFailure) as failure:
        ask_chat(Endpoint(public_url=impostor.url, management_url=impostor.url))
    assert failure.value.hop == "gateway"


def test_no_clock_decides_whether_a_gateway_is_known() -> None:
    made = x509.load_pem_x509_certificate(certificates.make().certificate.encode())
    assert made.not_valid_before_utc < datetime(2001, 1, 1, tzinfo=UTC)
    assert made.not_valid_after_utc > datetime(9999, 1, 1, tzinfo=UTC)


def test_every_gateway_has_a_key_and_a_certificate_of_its_own() -> None:
    one, two = certificates.make(), certificates.make()
    assert len({one.key, two.key}) == len({one.fingerprint, two.fingerprint}) == 2


def test_no_key_shows_in_a_representation() -> None:
    assert IDENTITY.key not in repr(pod_spec())
    assert "PRIVATE KEY" not in repr(pod_spec())
    assert MANAGEMENT_TOKEN not in repr(Access(token=MANAGEMENT_TOKEN, certificate=""))


def test_a_key_that_is_not_the_certificates_is_no_identity() -> None:
    with pytest.raises(ssl.SSLError):
        server_context(Identity(key=certificates.make().key, certificate=IDENTITY.certificate))

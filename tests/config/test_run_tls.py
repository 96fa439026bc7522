"""`make run` with TLS=auto: Caddy, certificates from a real ACME server, and DNS answers that the test sets."""

from __future__ import annotations

import http.client
import signal
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.config.conftest import ROOT, MakeRun, Run
from tests.doubles import pebble
from tests.doubles.name_server import NameServer, TxtRecord
from tests.doubles.pebble import Pebble
from tests.ports import free_port
from tests.visitor import TlsReply, TlsVisitor

pytestmark = pytest.mark.slow

CONSOLE, PLATFORM, NAME = "console.example.com", "pods.example.net", "bot.example.org"
HERE = ["127.0.0.1"]
QUICK_SECONDS = 3.0


class Served(Run):
    """A running service, and its visitors."""

    https: int
    http: int
    names: NameServer
    roots: Path
    token = ""

    def ask(self, path: str, *, method: str = "GET", body: Any = None, **headers: str) -> TlsReply:
        bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self.visitor().ask(CONSOLE, path, method=method, body=body, **bearer, **headers)

    def visitor(self, come_from: str = "127.0.0.1") -> TlsVisitor:
        return TlsVisitor(self.https, roots=self.roots, come_from=come_from)


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[tuple[Pebble, NameServer, int, int]]:
    plain, secured = free_port(), free_port()
    with (
        NameServer().listening() as names,
        pebble.running(tmp_path, names=names.address, http_port=plain, tls_port=secured) as acme,
    ):
        yield acme, names, plain, secured


@pytest.fixture
def served(make_run: MakeRun, authority: tuple[Pebble, NameServer, int, int]) -> Served:
    acme, names, plain, secured = authority
    run = make_run(
        TLS="auto",
        TLS_ADDRESS="127.0.0.1",
        HTTP_PORT=str(plain),
        HTTPS_PORT=str(secured),
        ASK_PORT=str(free_port()),
        ENGINE_CACHE=str(ROOT / "var" / "engines"),
        BASE_URL=f"https://{CONSOLE}:{secured}",
        ALLOWED_HOSTS=CONSOLE,
        PLATFORM_DOMAIN=PLATFORM,
        EXPECTED_IP="127.0.0.1",
        DOMAIN_NAMESERVERS=f"{names.address[0]}:{names.address[1]}",
        ACME_DIRECTORY=acme.directory,
        ACME_ROOTS=str(acme.roots),
    )
    run.__class__ = Served
    assert isinstance(run, Served)
    run.https, run.http, run.names, run.roots = secured, plain, names, acme.roots
    names.answers(CONSOLE, HERE)
    run.start()
    run.wait(lambda: _caddy(run) is not None, seconds=20)
    return run


def _caddy(run: Run) -> psutil.Process | None:
    assert run.process
    children = psutil.Process(run.process.pid).children()
    return next((child for child in children if "caddy" in " ".join(child.cmdline()[:2])), None)


def test_one_server_with_certificates(served: Served, subtests: pytest.Subtests) -> None:
    """One run for all checks, because a start takes long; each check builds on the checks before."""
    for asked in (
        the_console_is_served_over_https,
        plain_http_goes_on_to_https,
        a_visitor_cannot_say_where_they_come_from,
        a_body_that_is_too_large_is_refused,
        an_agents_own_host_has_a_certificate,
        a_strangers_name_is_refused_at_once,
        a_customers_name_has_one_once_dns_leads_here,
        a_released_name_is_no_longer_served,
        a_page_of_one_name_cannot_ask_for_another,
        certificates_outlive_caddy,
    ):
        with subtests.test(asked.__name__):
            asked(served)
    served.signal(signal.SIGTERM)
    assert served.exit_status(within=15) == 0
    served.wait(lambda: served.everything() == [], seconds=60)


def the_console_is_served_over_https(run: Served) -> None:
    run.wait(lambda: _status(run.visitor(), CONSOLE, "/health") == 200, seconds=20)
    again = run.ask("/health")
    assert (again.status, again.handshake_seconds < 1) == (200, True)
    assert run.ask("/openapi.json").headers["strict-transport-security"]
    page = run.ask("/sign-in")
    assert (page.status, b"<html" in page.body) == (200, True)


def _status(visitor: TlsVisitor, name: str, path: str = "/") -> int | None:
    try:
        return visitor.ask(name, path).status
    except OSError:
        return None


def plain_http_goes_on_to_https(run: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", run.http, timeout=10)
    connection.request("GET", "/docs?x=1", headers={"Host": CONSOLE})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"]) == (308, f"https://{CONSOLE}:{run.https}/docs?x=1")
    connection.close()


def a_visitor_cannot_say_where_they_come_from(run: Served) -> None:
    """The limit of ten sign-in codes counts the visitor's real address."""
    body = {"email": "somebody@example.com"}
    told = [
        run.ask("/auth/request", method="POST", body=body, X_Forwarded_For=f"198.51.100.{number}").status
        for number in range(11)
    ]
    assert told == [202] * 10 + [429]
    elsewhere = run.visitor("127.0.0.2").ask(CONSOLE, "/auth/request", method="POST", body=body)
    assert elsewhere.status == 202
    code = run.visitor("127.0.0.3").ask(CONSOLE, "/auth/request", method="POST", body={"email": "owner@example.com"})
    owner = {"email": "owner@example.com", "code": code.json()["devCode"]}
    run.token = run.visitor("127.0.0.3").ask(CONSOLE, "/auth/verify", method="POST", body=owner).json()["token"]


def a_body_that_is_too_large_is_refused(run: Served) -> None:
    answer = run.ask("/auth/request", method="POST", body={"email": "x" * 3_000_000})
    assert (answer.status, answer.json()["error"]) == (413, "BAD_REQUEST")


def agent_of(run: Served) -> dict[str, Any]:
    agents = run.ask("/agents").json()["agents"]
    if not agents:
        persona = run.ask("/personas").json()["personas"][0]["id"]
        made = run.ask("/agents", method="POST", body={"personaId": persona, "tier": "tiny"})
        assert made.status == 200, made.body
        return made.json()["agent"]  # type: ignore[no-any-return]  # it is JSON
    return agents[0]  # type: ignore[no-any-return]


def an_agents_own_host_has_a_certificate(run: Served) -> None:
    host = f"{agent_of(run)['a2aSlug']}.{PLATFORM}"
    assert refused_within(run, host) < QUICK_SECONDS, "DNS does not lead here yet"
    run.names.answers(host, HERE)
    answer = run.visitor().ask(host)
    assert answer.status in {200, 302, 303, 401, 503}
    assert answer.handshake_seconds < 15


def refused_within(run: Served, name: str) -> float:
    """The seconds until the server refuses this name, for which it has no certificate."""
    began = time.monotonic()
    with pytest.raises(ssl.SSLError):
        run.visitor().ask(name)
    return time.monotonic() - began


def a_strangers_name_is_refused_at_once(run: Served) -> None:
    run.names.answers("stranger.example.org", HERE)
    for name in ("stranger.example.org", f"nobody.{PLATFORM}", PLATFORM, "localhost", f"x.{CONSOLE}"):
        assert refused_within(run, name) < QUICK_SECONDS


def a_customers_name_has_one_once_dns_leads_here(run: Served) -> None:
    path = f"/agents/{agent_of(run)['id']}/domain"
    answer = run.ask(path, method="PUT", body={"domain": NAME})
    assert answer.status == 200, answer.body
    text, address = answer.json()["records"]
    assert refused_within(run, NAME) < QUICK_SECONDS
    run.names.answers(text["name"], [TxtRecord(text["value"])])
    assert run.ask(path, method="PUT", body={"domain": NAME}).json()["check"]["dns"]["status"] == "unresolved"
    assert refused_within(run, NAME) < QUICK_SECONDS, "proved, but an authority would go elsewhere"
    run.names.answers(address["name"], [address["value"]])
    run.ask(path, method="PUT", body={"domain": NAME})
    check = run.ask(f"/domain-check?domain={NAME}&https=true").json()["check"]
    assert (check["dns"]["status"], check["https"]["status"]) == ("ok", "ok")
    assert run.visitor().ask(NAME).status in {200, 302, 303, 401, 503}


def a_released_name_is_no_longer_served(run: Served) -> None:
    path = f"/agents/{agent_of(run)['id']}/domain"
    assert run.ask(path, method="DELETE").status == 204
    run.wait(lambda: run.visitor().ask(NAME).status == 404, seconds=5)
    run.ask(path, method="PUT", body={"domain": NAME})


def a_page_of_one_name_cannot_ask_for_another(run: Served) -> None:
    assert run.visitor().ask(NAME, Host=CONSOLE).status == 421


def certificates_outlive_caddy(run: Served) -> None:
    before, killed = run.visitor().ask(NAME).serial, _caddy(run)
    assert killed
    killed.kill()
    run.wait(lambda: _status(run.visitor(), NAME) is not None, seconds=20)
    assert run.visitor().ask(NAME).serial == before

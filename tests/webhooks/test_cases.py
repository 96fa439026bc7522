"""The 106 cases of receivers' addresses and behaviour, each through `PUT /agents/{id}/webhook` and a delivery.

`takes` and `refuses` are answers of the API (200, and 400 that names `url`). The result of a delivery is visible in the
delivery log, on the agent, and in the dialled addresses.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from typing import Any

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

from tests.doubles.certificates import Certificates
from tests.doubles.internet import Internet
from tests.doubles.name_server import SILENCE, Cname, NameServer
from tests.doubles.receiver import Receiver, raw, status
from tests.webhooks import cases
from tests.webhooks.conftest import agent_of, emit
from tests.webhooks.world import NAME, PUBLIC, REFUSED, HookWorld, Outcome, arrived
from webhooks import delivery_loop

EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))
LIMIT_SECONDS = 1.0
MEGABYTE = b"x" * 2**20

Play = Callable[[HookWorld], None]


@dataclass(frozen=True, slots=True)
class Case:
    number: int
    what: str
    play: Play


@pytest.fixture
def new_world(
    transactional_db: None, trusted: Certificates, settings: Any
) -> Callable[[], AbstractContextManager[HookWorld]]:
    """The default settings of an installation, except for the name server. The time limits are shortened."""

    @contextmanager
    def begin() -> Iterator[HookWorld]:
        client = APIClient(raise_request_exception=False)
        with (
            pytest.MonkeyPatch.context() as patched,
            NameServer().listening() as names,
            Receiver().listening() as receiver,
            Internet().around(patched) as internet,
        ):
            patched.setattr(delivery_loop, "TOTAL_SECONDS", LIMIT_SECONDS)
            settings.WEBHOOK_ALLOWED_CIDRS, settings.WEBHOOK_NAMESERVERS = [], [names.address]
            yield HookWorld(client, names, internet, receiver, settings, trusted, patched)

    return begin


# 1 to 63: an address, as a literal and as the answer for a name.


def literal(address: str) -> str:
    return f"http://[{address}]/hook" if ":" in address else f"http://{address}/hook"


def public_address(world: HookWorld, *, address: str) -> None:
    world.names.answers(NAME, [address])
    world.takes(f"http://{NAME}/hook")
    both = arrived(address, address)
    assert world.send_all(world.takes(literal(address)), world.moved(address)) == [both, both]


def refused_addresses(world: HookWorld, *, addresses: list[str]) -> None:
    for address in addresses:
        world.refuses(literal(address))
        world.names.answers(NAME, [address])
        world.refuses(f"http://{NAME}/hook")
        world.allow(*EVERYTHING)
        once_allowed = world.takes(literal(address))
        world.allow()
        assert world.send_all(once_allowed, world.moved(address)) == [REFUSED, REFUSED]


# 64 to 94: a text.


def taken_urls(world: HookWorld, *, urls: dict[str, str]) -> None:
    for host in ("example.com", "xn--bcher-kva.example"):
        world.names.answers(host, [PUBLIC])
    for url, stored in urls.items():
        agent = agent_of(world.owner)
        answered, body = world.put(url, agent)
        assert (answered, body.get("webhook", {}).get("url")) == (200, stored)
        if stored.startswith("http:"):  # case 102 dials https
            assert world.send(agent) == arrived(PUBLIC)


def refused_urls(world: HookWorld, *, urls: list[str]) -> None:
    world.names.answers("example.com", [PUBLIC])
    for url in urls:
        world.refuses(url)


def a_name_that_means_something_inside_alone(world: HookWorld) -> None:
    hosts = ["metadata.google.internal", "kubernetes.default.svc", "printer.local", "db.internal", "x.svc",
             "x.svc.cluster.local", "intranet"]  # fmt: skip
    for host in hosts:
        for answer in ([], [PUBLIC], ["10.1.2.3"]):
            world.allow()
            world.names.answers(host, answer)
            world.refuses(f"http://{host}/")
        world.allow(ip_network("10.0.0.0/8"))
        assert world.send(world.takes(f"http://{host}/")) == arrived("10.1.2.3")


def the_services_own_host(world: HookWorld) -> None:
    for host in ("api.example.com", "ada-1a2b3c.pods.example.com"):
        world.names.answers(host, [PUBLIC])
    with override_settings(BASE_URL="https://api.example.com", PLATFORM_DOMAIN="pods.example.com"):
        world.refuses("https://api.example.com/hook")
        assert world.send(world.takes("http://ada-1a2b3c.pods.example.com/hook")) == arrived(PUBLIC)


# 95 to 98: DNS.


def one_private_answer_among_public_ones(world: HookWorld) -> None:
    world.names.answers(NAME, [PUBLIC, "10.0.0.1"])
    world.refuses(f"http://{NAME}/hook")
    assert world.send(world.moved(PUBLIC, "10.0.0.1")) == REFUSED
    assert world.send(world.moved("2606:4700:4700::1111", "10.0.0.1")) == REFUSED


def a_name_that_turns_to_loopback_between_put_and_delivery(world: HookWorld) -> None:
    assert world.send(world.moved("127.0.0.1")) == REFUSED
    assert world.receiver.connections == 0


def a_name_that_turns_with_the_second_question(world: HookWorld) -> None:
    agent = world.moved(PUBLIC)
    world.names.answers(NAME, [PUBLIC], ["169.254.169.254"])
    assert world.send(agent) == arrived(PUBLIC)  # one look-up, and the answer was dialled
    assert world.names.asked[NAME, "A"] == world.names.asked[NAME, "AAAA"] == 1
    assert world.send(agent) == REFUSED  # nothing was cached: each attempt looks the name up again
    assert world.names.asked[NAME, "A"] == 1 + 3


def an_alias_of_a_name_inside(world: HookWorld) -> None:
    aliases: dict[str, list[str]] = {
        "with its address": [Cname("localhost"), "127.0.0.1"],
        "over a public name": [Cname("cdn.example"), Cname("db.internal"), "10.1.2.3"],
    }
    for answer in aliases.values():
        world.names.answers(NAME, answer)
        world.refuses(f"http://{NAME}/hook")
        assert world.send(world.moved(*answer)) == REFUSED
    without_address = world.send(world.moved(Cname("localhost")))
    assert without_address == Outcome("failed", None, "dns", "error: dns", [])


# 99 to 104: receivers.


def redirects(world: HookWorld) -> None:
    agent = world.moved(PUBLIC)
    for code in (301, 302, 303, 307, 308):
        world.receiver.answers(status(code, "Location: http://169.254.169.254/"))
        assert world.send(agent) == Outcome("failed", code, None, str(code), [PUBLIC] * 3)


def a_drip(world: HookWorld) -> None:
    """The limit of ten seconds is shortened here; test_real_time waits for the real one."""
    agent = world.moved(PUBLIC)
    drips = raw(*(bytes([letter]) for letter in b"HTTP/1.1 200 OK\r\nX-Slow: yes\r\n\r\n"), pause=0.1)
    world.receiver.answers(drips)
    assert world.send(agent) == Outcome("failed", None, "timeout", "error: timeout", [PUBLIC] * 3)


def huge_and_endless_answers(world: HookWorld) -> None:
    agent = world.moved(PUBLIC)
    ok = b"HTTP/1.1 200 OK\r\n"
    for body in (
        raw(ok + b"Content-Length: 104857600\r\n\r\n", *[MEGABYTE] * 100),
        status(200, "Content-Encoding: gzip", body=gzip.compress(MEGABYTE * 50)),
    ):
        world.receiver.answers(body)
        assert world.send(agent).shown == "200"
    for headers in (b"X-Long: " + MEGABYTE, b"\r\n".join(b"X-%d: %s" % (n, b"y" * 1000) for n in range(1000))):
        world.receiver.answers(raw(ok + headers + b"\r\n\r\n"))
        assert world.send(agent).shown == "error: protocol"
    world.receiver.answers(raw(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.001, repeat=True))
    assert world.send(agent).shown == "error: timeout"


def certificates(world: HookWorld) -> None:
    made = world.certificates
    host = "receiver.example"
    world.names.answers(host, [PUBLIC])
    agent = world.takes(f"https://{host}/hook")
    told = {}
    for name, served in {
        "good": made.server(host),
        "self-signed": made.server(host, self_signed=True),
        "expired": made.server(host, expired=True),
        "wrong name": made.server("other.example"),
    }.items():
        with Receiver(tls=served).listening() as world.receiver:
            told[name] = world.send(agent).shown
    assert told == {"good": "204", "self-signed": "error: tls", "expired": "error: tls", "wrong name": "error: tls"}


def a_proxy_in_the_environment(world: HookWorld) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        world.monkeypatch.setenv(name, "http://8.8.4.4:3128")
    world.monkeypatch.setenv("NO_PROXY", "nothing.example")
    assert world.send(world.moved(PUBLIC)) == arrived(PUBLIC)


def a_connection_from_before_the_name_moved(world: HookWorld) -> None:
    world.receiver.answers(status(204, "Connection: keep-alive", "Keep-Alive: timeout=600"))
    agent = world.moved(PUBLIC)
    world.names.answers(NAME, [PUBLIC], ["10.0.0.1"])
    world.internet.leads_to(world.receiver.port)
    for _ in range(2):
        emit(agent, now=world.clock.now)
    delivery_loop.drain(clock=world.clock, ahead=timedelta(0))  # both in one drain, one after the other
    assert (world.receiver.connections, world.internet.dialled) == (1, [PUBLIC])


# 105 and 106: names that do not resolve yet, and networks that the operator allows.


def a_name_that_does_not_resolve_yet(world: HookWorld) -> None:
    agent = world.takes(f"http://{NAME}/hook")
    assert world.send(agent).shown == "error: dns"
    world.names.answers(NAME, [PUBLIC])
    assert world.send(agent) == arrived(PUBLIC)
    world.names.answers("silent.example", SILENCE)
    slow = world.takes("http://silent.example/hook")
    world.names.answers("silent.example", ["10.0.0.1"])
    assert world.send(slow) == REFUSED


def a_network_that_the_operator_allows(world: HookWorld) -> None:
    world.refuses("http://172.18.0.5/hook")
    world.allow(ip_network("172.18.0.0/16"))
    assert world.send(world.takes("http://172.18.0.5/hook")) == arrived("172.18.0.5")
    world.refuses("http://172.19.0.5/hook")
    assert world.send(world.moved("172.18.0.5")) == arrived("172.18.0.5")
    assert world.send(world.moved("172.19.0.5")) == REFUSED


SITUATIONS: dict[int, Play] = {
    93: a_name_that_means_something_inside_alone,
    94: the_services_own_host,
    95: one_private_answer_among_public_ones,
    96: a_name_that_turns_to_loopback_between_put_and_delivery,
    97: a_name_that_turns_with_the_second_question,
    98: an_alias_of_a_name_inside,
    99: redirects,
    100: a_drip,
    101: huge_and_endless_answers,
    102: certificates,
    103: a_proxy_in_the_environment,
    104: a_connection_from_before_the_name_moved,
    105: a_name_that_does_not_resolve_yet,
    106: a_network_that_the_operator_allows,
}
CASES = [
    *(Case(n, one, partial(public_address, address=one)) for n, one in cases.PUBLIC_ADDRESSES.items()),
    *(Case(n, some[0], partial(refused_addresses, addresses=some)) for n, some in cases.REFUSED_ADDRESSES.items()),
    *(Case(n, next(iter(some)), partial(taken_urls, urls=some)) for n, some in cases.TAKEN_URLS.items()),
    *(Case(n, some[0], partial(refused_urls, urls=some)) for n, some in cases.REFUSED_URLS.items()),
    *(Case(n, cases.SITUATIONS[n], play) for n, play in SITUATIONS.items()),
]


# Three tests, so that two processes can share them. Each case reports its number and has its own world.
GROUPS = {"addresses": range(1, 64), "texts": range(64, 93), "situations": range(93, 107)}


@pytest.mark.sampled
@pytest.mark.unmeasured
@pytest.mark.parametrize("group", [pytest.param("addresses", marks=pytest.mark.slow), "texts", "situations"])
def test_receivers(
    group: str, new_world: Callable[[], AbstractContextManager[HookWorld]], subtests: pytest.Subtests
) -> None:
    for case in CASES:
        if case.number in GROUPS[group]:
            with subtests.test(f"{case.number}: {case.what}"), new_world() as world:
                case.play(world)


def test_no_case_is_missing() -> None:
    assert [case.number for case in CASES] == list(range(1, 107))
    assert [number for numbers in GROUPS.values() for number in numbers] == list(range(1, 107))

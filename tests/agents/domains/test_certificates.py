"""For which names a certificate may be ordered. Caddy asks this before each first handshake."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from agents.domains import certificates, claims, records
from agents.models import Agent
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent
from tests.doubles.name_server import NameServer, TxtRecord
from tests.fixtures import OUR_ADDRESS

NAME = "bot.example.org"


@pytest.fixture(autouse=True)
def own_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "_tries", certificates.Tries())


@pytest.fixture
def slug(make_agent: MakeAgent, settings: Any) -> str:
    settings.PLATFORM_DOMAIN = "pods.example.net"
    return f"{make_agent().slug}.pods.example.net"


def claimed(agent: Agent, domain: str = NAME) -> None:
    claims.claim(agent, domain, seen=records.look(domain), actor="user:x")


def test_a_proved_name_has_one_once_dns_leads_here(make_agent: MakeAgent, dns: NameServer) -> None:
    agent = make_agent()
    dns.answers(f"_agentpods.{NAME}", [TxtRecord(claims.value_of(agent.user_id))])
    claimed(agent)
    assert not certificates.may_have(NAME), "a handshake would wait for an authority that goes elsewhere"
    dns.answers(NAME, [OUR_ADDRESS])
    claimed(agent)
    assert certificates.may_have(NAME)


def test_a_name_that_is_not_proved_and_does_not_serve_has_none(make_agent: MakeAgent, dns: NameServer) -> None:
    dns.answers(NAME, [OUR_ADDRESS])
    agent = make_agent()
    assert not certificates.may_have(NAME)
    claimed(agent)
    assert certificates.may_have(NAME)
    with time_machine.travel(timezone.now() + timedelta(days=8), tick=False):
        assert not certificates.may_have(NAME)


def test_what_dns_said_is_asked_again_before_it_is_believed_for_long(make_agent: MakeAgent, dns: NameServer) -> None:
    dns.answers(NAME, [OUR_ADDRESS], ["198.51.100.1"])
    claimed(make_agent())
    assert certificates.may_have(NAME)
    assert not certificates.may_have(NAME, now=timezone.now() + timedelta(minutes=6))


def test_an_agents_own_host_has_one_while_it_lives_and_dns_leads_here(slug: str, dns: NameServer) -> None:
    assert not certificates.may_have(slug)
    dns.answers(slug, [OUR_ADDRESS])
    assert certificates.may_have(slug)
    assert not certificates.may_have(f"x.{slug}")
    assert not certificates.may_have("nobody.pods.example.net")
    assert not certificates.may_have("pods.example.net")
    lifecycle.delete(Agent.objects.get(), actor="user:x")
    assert not certificates.may_have(slug)


@pytest.mark.django_db
def test_the_console_has_one_once_dns_leads_here(dns: NameServer, settings: Any) -> None:
    settings.CONSOLE_HOSTS = ["console.example.com", ".example.com"]
    assert not certificates.may_have("console.example.com")
    dns.answers("console.example.com", [OUR_ADDRESS])
    dns.answers("x.example.com", [OUR_ADDRESS])
    assert certificates.may_have("console.example.com")
    assert not certificates.may_have("x.example.com")


def test_an_account_has_only_so_many_new_ones_in_a_week(make_agent: MakeAgent, dns: NameServer, settings: Any) -> None:
    settings.MAX_CERTIFICATES = 2
    agent = make_agent()
    for number in range(3):
        domain = f"n{number}.example.org"
        dns.answers(domain, [OUR_ADDRESS])
        dns.answers(f"_agentpods.{domain}", [TxtRecord(claims.value_of(agent.user_id))])
        claimed(agent, domain)
        assert certificates.may_have(domain) == (number < 2)
    claimed(agent, "n1.example.org")
    assert certificates.may_have("n1.example.org"), "one that it has had is no new one"
    with time_machine.travel(timezone.now() + timedelta(days=3), tick=False):
        claimed(agent, "n2.example.org")
        assert not certificates.may_have("n2.example.org")
        assert certificates.may_have("n2.example.org", now=timezone.now() + timedelta(days=5))


def test_a_name_for_which_none_is_ever_made_is_tried_five_times_an_hour(make_agent: MakeAgent, dns: NameServer) -> None:
    """If the name's DNS gives the authority another address, handshakes would wait for a certificate in vain."""
    dns.answers(NAME, [OUR_ADDRESS])
    claimed(make_agent())
    assert [certificates.may_have(NAME) for _ in range(7)] == [True] * 5 + [False] * 2
    assert certificates.may_have(NAME, has_one=True)


def test_what_caddy_has_is_found_by_its_name(tmp_path: Path) -> None:
    kept = tmp_path / "certificates" / "acme-v02.api.example-directory" / NAME
    kept.mkdir(parents=True)
    (kept / f"{NAME}.crt").touch()
    assert certificates.is_kept(NAME, storage=tmp_path)
    assert not certificates.is_kept("other.example.org", storage=tmp_path)


def test_tries_are_remembered_of_so_many_names_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "REMEMBERED", 3)
    tries = certificates.Tries()
    for number in range(10):
        assert tries.one_more(f"n{number}.example.org")
    assert len(tries._at) == 3


def test_name_servers_that_never_answer_hold_one_place_of_their_account(
    make_agent: MakeAgent, dns: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a visitor who calls such names again and again could keep all other accounts from a certificate."""
    agent = make_agent()
    dns.answers(NAME, [OUR_ADDRESS])
    claimed(agent)
    later = timezone.now() + timedelta(minutes=6)
    with certificates._looks.take(agent.user_id):
        assert not certificates.may_have(NAME, now=later)
        assert certificates.may_have(NAME, now=later, has_one=True)
    assert certificates.may_have(NAME, now=later)

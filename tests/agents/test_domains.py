"""Which hostnames a customer may bring, and when they lead here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents import domains, lifecycle
from agents.models import Agent
from config.errors import BadRequest
from tests.agents.conftest import MakeAgent
from tests.doubles.name_server import SILENCE, NameServer


@pytest.mark.parametrize("own", ["console.example.com", ".example.com", "Example.com"])
def test_the_consoles_own_names_are_refused_however_the_operator_wrote_them(settings: Any, own: str) -> None:
    settings.CONSOLE_HOSTS = [own]
    for name in ("console.example.com", "x.console.example.com"):
        with pytest.raises(BadRequest, match=r"^domain: names under"):
            domains.normalised(name)
    assert domains.normalised("agent.example.org") == "agent.example.org"


# DNS.


@pytest.fixture
def dns(settings: Any) -> Iterator[NameServer]:
    settings.EXPECTED_IP = "203.0.113.10"
    with NameServer().listening() as server:
        settings.WEBHOOK_NAMESERVERS = [server.address]
        yield server


@pytest.mark.parametrize(
    ("answer", "leads"),
    [
        (["203.0.113.10"], True),
        (["198.51.100.1", "203.0.113.10"], True),
        (["198.51.100.1"], False),
        (["2001:db8::1"], False),
        ([], False),
    ],
)
def test_a_domain_leads_here_when_one_of_its_addresses_is_ours(dns: NameServer, answer: list[str], leads: bool) -> None:
    dns.answers("agent.example.org", answer)
    assert domains.leads_here("agent.example.org") is leads


def test_a_domain_may_lead_here_by_ipv6(dns: NameServer, settings: Any) -> None:
    settings.EXPECTED_IP = "2001:DB8:0:0::1"
    dns.answers("agent.example.org", ["2001:db8::1"])
    assert domains.leads_here("agent.example.org")


def test_a_name_server_that_says_nothing_is_not_waited_for(
    dns: NameServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "RESOLVE_SECONDS", 0.05)
    dns.answers("agent.example.org", SILENCE)
    assert not domains.leads_here("agent.example.org")
    settings.EXPECTED_IP = "not an address"
    assert not domains.leads_here("agent.example.org")


def test_the_pod_of_a_domain_that_leads_here_now_is_told_once(make_agent: MakeAgent) -> None:
    now = timezone.now()
    here, elsewhere, none = make_agent(domain="here.example.org"), make_agent(domain="else.example.org"), make_agent()
    Agent.objects.update(reconcile_at=None)
    leads = {"here.example.org": True, "else.example.org": False}
    assert domains.look_at_new(now, leads=leads.__getitem__) == 1
    assert domains.look_at_new(now, leads={"else.example.org": False}.__getitem__) == 0
    assert _told(here) == (now, here.spec_revision + 1, now)
    assert _told(elsewhere) == (None, elsewhere.spec_revision, None)
    assert _told(none) == (None, none.spec_revision, None)


def _told(agent: Agent) -> object:
    return Agent.objects.values_list("domain_ready_at", "spec_revision", "reconcile_at").get(pk=agent.pk)


def test_domains_of_deleted_agents_are_not_asked_for(make_agent: MakeAgent) -> None:
    lifecycle.delete(make_agent(domain="gone.example.org"), actor="user:x")
    assert domains.look_at_new(timezone.now(), leads=lambda domain: True) == 0


@pytest.mark.parametrize(
    ("age", "looks"), [(timedelta(minutes=5), 120), (timedelta(hours=5), 12), (timedelta(days=5), 2)]
)
def test_the_longer_a_domain_leads_elsewhere_the_less_often_it_is_asked_for(
    make_agent: MakeAgent, age: timedelta, looks: int
) -> None:
    make_agent(domain="else.example.org")
    now = timezone.now()
    asked = 0
    for minute in range(120):
        moment = now + timedelta(minutes=minute)
        Agent.objects.update(created_at=moment - age)
        asked += len(domains._new(moment))
    assert asked == looks


def test_one_look_asks_for_so_many_domains_with_one_query_each_way(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    for number in range(3):
        make_agent(domain=f"d{number}.example.org")
    monkeypatch.setattr(domains, "LOOKED_AT", 2)
    with django_assert_num_queries(2):
        assert domains.look_at_new(timezone.now(), leads=lambda domain: True) == 2
    assert domains.look_at_new(timezone.now(), leads=lambda domain: True) == 1

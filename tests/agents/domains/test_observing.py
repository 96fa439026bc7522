"""Names are looked up again in time: first often, later rarely, and no account comes before the others."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from accounts.models import User
from agents.domains import claims, observing, records
from agents.domains.records import DnsAnswers
from agents.models import Agent, DomainClaim
from agents.runtimes.base import RuntimeFailure
from tests.agents.conftest import MakeAgent
from tests.doubles.name_server import SILENCE, NameServer
from tests.doubles.runtime import ScriptedRuntime

NAME = "bot.example.org"
NOTHING = DnsAnswers(addresses=(), texts=frozenset())
UNKNOWN = DnsAnswers(addresses=None, texts=None)


def claimed(agent: Agent, domain: str = NAME, *, seen: DnsAnswers = NOTHING) -> DomainClaim:
    return claims.claim(agent, domain, seen=seen, actor="user:x")


def proof_of(agent: Agent) -> DnsAnswers:
    return DnsAnswers(addresses=(), texts=frozenset({claims.value_of(agent.user_id)}))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("age", "looks"), [(timedelta(minutes=5), 55), (timedelta(hours=5), 6), (timedelta(days=5), 1)]
)
def test_the_longer_a_name_is_not_proved_the_less_often_it_is_asked_for(
    make_agent: MakeAgent, age: timedelta, looks: int
) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        claim = claimed(make_agent())
        clock.move_to(start + age)
        DomainClaim.objects.update(look_at=timezone.now())
        asked = 0
        for _ in range(55):
            asked += observing.look_at_due(timezone.now(), look=lambda domain: NOTHING)
            clock.shift(timedelta(minutes=1))
        assert asked == looks
        claims.observe(claim.pk, proof_of(claim.agent), now=timezone.now())


def test_no_account_keeps_the_names_of_others_waiting(
    make_agent: MakeAgent, stranger: User, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MAX_FREE_AGENTS = 10
    monkeypatch.setattr(observing, "OF_ONE_ACCOUNT", 2)
    monkeypatch.setattr(observing, "LOOKED_AT", 3)
    for number in range(5):
        claimed(make_agent(user=stranger), f"n{number}.example.org")
    claimed(make_agent())
    later = timezone.now() + timedelta(minutes=2)
    asked: list[str] = []

    def look(domain: str) -> DnsAnswers:
        asked.append(domain)
        return NOTHING

    assert observing.look_at_due(later, look=look) == 3
    assert NAME in asked
    assert observing.look_at_due(later, look=look) == 2
    assert observing.look_at_due(later, look=look) == 1
    assert len(set(asked)) == 6


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_look_at_each_name_once(make_agent: MakeAgent) -> None:
    for number in range(3):
        claimed(make_agent(), f"n{number}.example.org")
    asked: list[str] = []

    def look(domain: str) -> DnsAnswers:
        asked.append(domain)
        return NOTHING

    def run() -> None:
        observing.look_at_due(timezone.now() + timedelta(minutes=2), look=look)
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked) == ["n0.example.org", "n1.example.org", "n2.example.org"]


def test_a_claim_does_not_lapse_for_a_silent_name_server_but_not_for_ever(make_agent: MakeAgent) -> None:
    start = timezone.now()
    claim = claimed(make_agent())
    claims.observe(claim.pk, UNKNOWN, now=start + timedelta(days=7, minutes=1))
    assert DomainClaim.objects.get().status == "unproved"
    claims.observe(claim.pk, UNKNOWN, now=start + timedelta(days=8, minutes=1))
    assert DomainClaim.objects.get().status == "lapsed"
    claims.observe(claim.pk, proof_of(claim.agent), now=start + timedelta(days=9))
    assert DomainClaim.objects.get().status == "lapsed", "what has ended stays so"


def test_a_proof_on_the_last_day_comes_before_the_lapse(make_agent: MakeAgent) -> None:
    claim = claimed(make_agent())
    claims.observe(claim.pk, proof_of(claim.agent), now=claim.claimed_at + timedelta(days=8))
    assert DomainClaim.objects.get().status == "proved"


def test_what_dns_does_not_answer_changes_nothing(make_agent: MakeAgent, dns: NameServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(records, "LOOK_SECONDS", 0.1)
    agent = make_agent()
    here = DnsAnswers(addresses=(records.expected_ip(),), texts=frozenset())  # type: ignore[arg-type]  # it is an address
    claimed(agent, seen=here)
    dns.answers(NAME, SILENCE)
    observing.look_at_due(timezone.now() + timedelta(minutes=2))
    assert DomainClaim.objects.get().points_since is not None
    agent.refresh_from_db()
    assert agent.domain_ready_at is not None


def test_routes_of_a_name_that_ended_are_taken_away_and_tried_again(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    agent = make_agent()
    claimed(agent)
    claims.release(agent, actor="user:x")
    now = timezone.now()
    runtime.trouble = RuntimeFailure("away", cause="UNREACHABLE")
    assert observing.unroute_due(now) == 0
    runtime.trouble = None
    assert observing.unroute_due(now) == 0, "not at once"
    assert observing.unroute_due(now + timedelta(minutes=2)) == 1
    assert (f"unroute {NAME}", agent.namespace) in runtime.calls
    assert observing.unroute_due(now + timedelta(minutes=9)) == 0


def test_looks_cost_one_query_for_all_that_are_due(make_agent: MakeAgent, django_assert_num_queries: Any) -> None:
    for number in range(3):
        claimed(make_agent(), f"n{number}.example.org")
    with django_assert_num_queries(2):
        assert observing.look_at_due(timezone.now(), look=lambda domain: NOTHING) == 0

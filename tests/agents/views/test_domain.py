"""`PUT` and `DELETE /agents/{id}/domain`, and `POST /agents` with `domain`: who may have a name, and who serves it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import Letter, User
from agents.domains import claims, observing
from agents.models import Agent, DomainClaim
from agents.router.addresses import find
from catalog import snapshot
from catalog.models import Engine
from tests.agents.conftest import PERSONA, MakeAgent, event_types, settle
from tests.doubles.name_server import NameServer, TxtRecord
from tests.fixtures import OUR_ADDRESS
from webhooks.models import Event

pytestmark = pytest.mark.usefixtures("runtime")

NAME, PROOF = "bot.example.org", "_agentpods.bot.example.org"


def put(client: APIClient, agent: Agent, domain: str = NAME) -> Any:
    return client.put(f"/agents/{agent.pk}/domain", {"domain": domain}, format="json")


def domain_of(client: APIClient, agent: Agent) -> str | None:
    domain: str | None = client.get(f"/agents/{agent.pk}").json()["agent"]["domain"]
    return domain


def serves(domain: str = NAME) -> str | None:
    found = find(domain)
    return found.agent_id if found else None


def proves(dns: NameServer, user: User, domain: str = NAME) -> None:
    dns.answers(f"_agentpods.{domain}", [TxtRecord(claims.value_of(user.pk))])


@pytest.fixture
def theirs(make_agent: MakeAgent, stranger: User) -> Agent:
    return make_agent(user=stranger)


# The answers.


def test_put_answers_with_the_agent_the_check_and_the_records_to_set(
    client: APIClient, running: Agent, dns: NameServer, owner: User
) -> None:
    answer = put(client, running, "Bot.Example.ORG.")
    assert answer.status_code == 200, answer.json()
    body = answer.json()
    assert set(body) == {"agent", "check", "records"}
    assert body["agent"] == client.get(f"/agents/{running.pk}").json()["agent"]
    assert body["agent"]["domain"] == NAME
    assert body["check"] == {
        "domain": NAME,
        "expectedIp": OUR_ADDRESS,
        "dns": {"status": "unresolved", "addresses": []},
        "https": {"status": "skipped"},
    }
    assert body["records"] == [
        {"type": "TXT", "name": PROOF, "value": claims.value_of(owner.pk)},
        {"type": "A", "name": NAME, "value": OUR_ADDRESS},
    ]


@pytest.mark.parametrize("body", [{}, {"domain": None}, {"domain": 5}, {"domain": ""}, {"domain": "localhost"}, []])
def test_what_is_no_hostname_is_400_and_names_the_field(client: APIClient, running: Agent, body: Any) -> None:
    answer = client.put(f"/agents/{running.pk}/domain", body, format="json")
    assert answer.status_code == 400
    if body != []:
        assert answer.json()["message"].startswith("domain: ")
    assert domain_of(client, running) is None


def test_anothers_agent_is_not_found(client: APIClient, theirs: Agent, dns: NameServer) -> None:
    assert put(client, theirs).status_code == 404
    assert client.delete(f"/agents/{theirs.pk}/domain").status_code == 404


# Which agent serves a name.


def test_a_name_that_nothing_shows_to_be_its_claimants_does_not_serve(
    client: APIClient, running: Agent, dns: NameServer
) -> None:
    put(client, running)
    assert serves() is None


def test_a_name_serves_once_its_txt_record_carries_the_accounts_value(
    client: APIClient, running: Agent, dns: NameServer, owner: User
) -> None:
    put(client, running)
    proves(dns, owner)
    assert observing.look_at_due(timezone.now() + timedelta(minutes=2)) == 1
    assert serves() == running.pk
    before = Agent.objects.get(pk=running.pk)
    assert before.domain_ready_at is None, "its routes follow when DNS leads here"
    dns.answers(NAME, [OUR_ADDRESS])
    observing.look_at_due(timezone.now() + timedelta(minutes=20))
    after = Agent.objects.get(pk=running.pk)
    assert after.domain_ready_at is not None
    assert after.spec_revision == before.spec_revision + 1


def test_a_name_that_is_proved_already_serves_from_the_call_on(
    client: APIClient, running: Agent, dns: NameServer, owner: User
) -> None:
    proves(dns, owner)
    assert put(client, running).status_code == 200
    assert serves() == running.pk


def test_explain_tells_of_a_name_that_is_not_proved_or_leads_elsewhere(
    client: APIClient, running: Agent, dns: NameServer, owner: User
) -> None:
    def explained() -> str:
        told = client.get(f"/agents/{running.pk}/explain").json()["explanation"]
        return " ".join([told["cause"], told["message"], *told["evidence"]])

    put(client, running)
    assert "DOMAIN_UNPROVED: bot.example.org is not proved to be yours: it does not work yet" in explained()
    assert f"PUT /agents/{running.pk}/domain" in explained()
    proves(dns, owner)
    dns.answers(NAME, ["203.0.113.7"])
    put(client, running)
    assert "DOMAIN_ELSEWHERE: bot.example.org is yours, but its DNS address does not point here" in explained()
    dns.answers(NAME, [OUR_ADDRESS])
    put(client, running)
    assert "DOMAIN" not in explained()


def test_the_value_of_another_account_proves_nothing(
    client: APIClient, running: Agent, dns: NameServer, stranger: User
) -> None:
    proves(dns, stranger)
    put(client, running)
    assert serves() is None


def test_a_name_nobody_else_claimed_serves_for_seven_days_while_its_address_leads_here(
    client: APIClient, running: Agent, dns: NameServer
) -> None:
    dns.answers(NAME, [OUR_ADDRESS])
    assert put(client, running).json()["check"]["dns"] == {"status": "ok", "addresses": [OUR_ADDRESS]}
    assert serves() == running.pk
    with time_machine.travel(timezone.now() + timedelta(days=7, minutes=1), tick=False):
        assert serves() is None
        observing.look_at_due(timezone.now())
        assert Agent.objects.get(pk=running.pk).domain is None
        assert Letter.objects.get().subject.endswith(NAME)


def test_the_seven_days_are_given_once(client: APIClient, running: Agent, dns: NameServer, owner: User) -> None:
    """Otherwise an account could serve a name for ever without a proof."""
    dns.answers(NAME, [OUR_ADDRESS])
    put(client, running)
    with time_machine.travel(timezone.now() + timedelta(days=5), tick=False):
        running.refresh_from_db()
        claims.release(running, actor="user:x")
        claims.claim(running, NAME, seen=_seen(), actor="user:x")
        assert serves() == running.pk
    with time_machine.travel(timezone.now() + timedelta(days=7, minutes=1), tick=False):
        observing.look_at_due(timezone.now())
        claims.claim(running, NAME, seen=_seen(), actor="user:x")
        assert serves() is None
        proves(dns, owner)
        claims.claim(running, NAME, seen=_seen(), actor="user:x")
        assert serves() == running.pk


def _seen() -> Any:
    from agents.domains import records

    return records.look(NAME)


def test_an_address_that_flips_away_takes_an_unproved_name_with_it(
    client: APIClient, running: Agent, dns: NameServer
) -> None:
    dns.answers(NAME, [OUR_ADDRESS], ["198.51.100.1"])
    put(client, running)
    assert serves() == running.pk
    observing.look_at_due(timezone.now() + timedelta(minutes=2))
    assert serves() is None
    assert Agent.objects.get(pk=running.pk).domain_ready_at is None


def test_a_name_that_another_account_once_had_serves_by_txt_alone(
    client: APIClient, other: APIClient, running: Agent, theirs: Agent, dns: NameServer, owner: User
) -> None:
    """An earlier customer's DNS record that still points here is no proof for the next customer."""
    put(other, theirs)
    other.delete(f"/agents/{theirs.pk}/domain")
    dns.answers(NAME, [OUR_ADDRESS])
    with time_machine.travel(timezone.now() + timedelta(days=31), tick=False):
        claims.claim(running, NAME, seen=_seen(), actor="user:x")
        assert serves() is None


# Two agents that want the same name.


def test_a_second_claim_is_a_conflict_that_tells_how_to_prove_it(
    client: APIClient, other: APIClient, running: Agent, theirs: Agent, dns: NameServer, owner: User
) -> None:
    put(other, theirs)
    answer = put(client, running)
    assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")
    assert PROOF in answer.json()["message"]
    assert claims.value_of(owner.pk) in answer.json()["message"]
    assert theirs.pk not in answer.json()["message"]
    assert domain_of(other, theirs) == NAME


def test_another_agent_of_ones_own_is_a_conflict_too(
    client: APIClient, make_agent: MakeAgent, running: Agent, dns: NameServer, owner: User
) -> None:
    proves(dns, owner)
    put(client, running)
    answer = put(client, make_agent())
    assert answer.status_code == 409
    assert running.pk in answer.json()["message"]
    assert serves() == running.pk


def test_ones_own_txt_record_takes_the_name_over(
    client: APIClient, other: APIClient, running: Agent, theirs: Agent, dns: NameServer, owner: User, stranger: User
) -> None:
    theirs = settle(theirs)
    dns.answers(NAME, [OUR_ADDRESS])
    proves(dns, stranger)
    put(other, theirs)
    assert serves() == theirs.pk
    proves(dns, owner)
    assert put(client, running).status_code == 200
    assert serves() == running.pk
    assert domain_of(other, theirs) is None
    told = theirs.transitions.order_by("-pk")[0]
    assert "taken over" in told.note
    event = Event.objects.filter(agent=theirs).latest("created_at")
    assert event.type == "agent.running"
    assert '"domain-lost"' in event.body
    assert NAME in event.body
    letter = Letter.objects.get(user=stranger)
    assert NAME in letter.text
    assert NAME in letter.subject


def test_who_lost_a_name_does_not_get_it_back_without_proof(
    client: APIClient, other: APIClient, running: Agent, theirs: Agent, dns: NameServer, owner: User
) -> None:
    put(other, theirs)
    proves(dns, owner)
    put(client, running)
    assert put(other, theirs).status_code == 409
    assert serves() == running.pk


def test_a_released_name_is_its_accounts_for_thirty_days(
    client: APIClient, other: APIClient, running: Agent, theirs: Agent, dns: NameServer, owner: User, stranger: User
) -> None:
    proves(dns, owner)
    put(client, running)
    assert client.delete(f"/agents/{running.pk}/domain").status_code == 204
    assert (domain_of(client, running), serves()) == (None, None)
    assert put(other, theirs).status_code == 409
    dns.answers(PROOF, [])
    assert put(client, running).status_code == 200
    assert serves() == running.pk, "it was proved already"
    client.delete(f"/agents/{running.pk}/domain")
    proves(dns, stranger)
    assert put(other, theirs).status_code == 200
    assert serves() == theirs.pk


def test_after_thirty_days_anybody_may_claim_it(
    client: APIClient, other: APIClient, running: Agent, theirs: Agent, dns: NameServer
) -> None:
    put(client, running)
    client.delete(f"/agents/{running.pk}/domain")
    with time_machine.travel(timezone.now() + timedelta(days=30, minutes=1), tick=False):
        assert claims.claim(theirs, NAME, seen=_seen(), actor="user:x").agent_id == theirs.pk


def test_deleting_an_agent_releases_its_name(client: APIClient, running: Agent, dns: NameServer, owner: User) -> None:
    proves(dns, owner)
    put(client, running)
    assert client.delete(f"/agents/{running.pk}").status_code == 204
    assert serves() is None
    assert DomainClaim.objects.get().status == "released"
    assert put(client, running).status_code == 404


def test_another_name_takes_the_place_of_the_first(
    client: APIClient, running: Agent, dns: NameServer, owner: User
) -> None:
    for name in (NAME, "second.example.org"):
        proves(dns, owner, name)
        assert put(client, running, name).json()["agent"]["domain"] == name
    assert serves() is None
    assert serves("second.example.org") == running.pk
    assert client.delete(f"/agents/{running.pk}/domain").status_code == 204
    assert client.delete(f"/agents/{running.pk}/domain").status_code == 204, "nothing left is as good"


def test_an_engine_that_needs_a_domain_keeps_one(client: APIClient, running: Agent, dns: NameServer) -> None:
    put(client, running)
    Engine.objects.filter(id="pi").update(requires_domain=True)
    snapshot.forget()
    answer = client.delete(f"/agents/{running.pk}/domain")
    assert (answer.status_code, answer.json()["message"].startswith("domain: ")) == (409, True)
    assert put(client, running, "second.example.org").status_code == 200


def test_an_account_holds_back_only_so_many_names(
    client: APIClient, running: Agent, dns: NameServer, settings: Any
) -> None:
    """A hostile account that claims and releases many names can block only a few of them, for 30 days."""
    settings.MAX_RELEASED_DOMAINS = 2
    for number in range(3):
        assert put(client, running, f"n{number}.example.org").status_code == 200
    answer = put(client, running, "n3.example.org")
    assert (answer.status_code, "released 2 names" in answer.json()["message"]) == (400, True)
    assert put(client, running, "n0.example.org").status_code == 200, "its own are still there for it"
    assert client.delete(f"/agents/{running.pk}/domain").status_code == 204
    assert mail.outbox == []


# POST /agents.


def test_an_agent_is_created_with_a_name_as_with_a_put(client: APIClient, dns: NameServer, owner: User) -> None:
    proves(dns, owner)
    body = {"personaId": PERSONA, "tier": "tiny", "domain": "BOT.example.org."}
    answer = client.post("/agents", body, format="json")
    assert answer.status_code == 200, answer.json()
    agent = answer.json()["agent"]
    assert agent["domain"] == NAME
    assert serves() == agent["id"]
    assert client.post("/agents", body, format="json").status_code == 409


def test_a_create_takes_a_name_over_by_its_accounts_txt_record(
    client: APIClient, other: APIClient, theirs: Agent, dns: NameServer, owner: User
) -> None:
    put(other, theirs)
    body = {"personaId": PERSONA, "tier": "tiny", "domain": NAME}
    assert client.post("/agents", body, format="json").status_code == 409
    proves(dns, owner)
    answer = client.post("/agents", body, format="json")
    assert answer.status_code == 200
    assert serves() == answer.json()["agent"]["id"]
    assert domain_of(other, theirs) is None
    assert event_types(theirs) == [], "of an agent that does not run the events have nothing to say"

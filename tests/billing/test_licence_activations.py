"""A licence's activation at its provider: made once, and given back once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from agents.running import lifecycle
from billing import licence_activations
from billing.models import Payment, Subscription
from billing.verification import hint, verify_due
from billing.vocabulary import PaymentKind, Provider, SubscriptionStatus
from tests.agents.conftest import MakeAgent, signed_in
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.licences import LEMON, check, confirmed, licence_of, post
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = pytest.mark.django_db

ACTIVE, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.EXPIRED


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def mine(clock: Clock, owner: User, catalog: None) -> APIClient:
    return signed_in(owner)


def test_the_key_of_a_deleted_agent_pays_for_another(
    agent: Agent, mine: APIClient, make_agent: MakeAgent, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    lifecycle.delete(agent, actor="user:x")
    other = make_agent()
    assert post(mine, other, LEMON, provider="lemonsqueezy").status_code == 200
    assert list(licence.instances.values()) == [other.pk]
    assert (licence_of(agent).status, licence_of(other).status) == (EXPIRED, ACTIVE)
    assert (len(confirmed(agent)), len(confirmed(other))) == (1, 0)


def test_one_licence_makes_no_more_than_one_trial_a_paid_one(
    agent: Agent, mine: APIClient, lemon: LemonSqueezyServer, settings: Settings
) -> None:
    """Otherwise a licence of the smallest plan could pay for the largest plan, week after week."""
    settings.MAX_TRIALS = 3
    lemon.sell(LEMON)
    wanted = {"personaId": agent.persona_id, "tier": "tiny"}
    last = agent
    for _ in range(3):
        assert post(mine, last, LEMON, provider="lemonsqueezy").status_code == 200
        assert mine.delete(f"/agents/{last.pk}").status_code == 204
        created = mine.post("/agents", wanted, format="json")
        assert created.status_code == 200, created.content
        last = Agent.objects.get(pk=created.json()["agent"]["id"])
    assert post(mine, last, LEMON, provider="lemonsqueezy").status_code == 200
    refused = mine.post("/agents", wanted, format="json")
    assert (refused.status_code, "3 free trials" in refused.json()["message"]) == (400, True)


def test_the_licence_of_a_deleted_agent_is_given_back_within_a_day(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    lifecycle.delete(agent, actor="user:x")
    assert check(clock, DAY) == 1
    assert (licence.instances, licence_of(agent).status) == ({}, EXPIRED)
    assert licence_of(agent).check_at == clock.now + DAY  # the card may be charged again


def test_a_provider_that_refuses_the_activation_pays_for_nothing(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)

    def used_up(path: str) -> None:
        if path.endswith("activate"):
            licence.instances["elsewhere"] = "another"

    lemon.before = used_up
    answer = post(mine, agent, LEMON, provider="lemonsqueezy")
    assert (answer.status_code, "activation limit" in answer.json()["message"]) == (400, True)
    assert licence_of(agent).status == EXPIRED
    assert Payment.objects.filter(kind=PaymentKind.REVOKE).count() == 1


def test_a_key_that_is_used_up_elsewhere_is_refused_before_anything(
    agent: Agent, mine: APIClient, lemon: LemonSqueezyServer
) -> None:
    lemon.sell(LEMON, instances={"elsewhere": "another"}, status="active")
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 400
    assert not Subscription.objects.exists()


def test_an_activation_without_an_answer_is_made_later(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    lemon.before = lambda path: lemon.fail(503) if path.endswith("activate") else None
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 200
    assert licence.instances == {}
    lemon.before = lambda path: None
    lemon.work_again()
    check(clock, timedelta(minutes=6))
    assert licence.instances == {licence_of(agent).instance: agent.pk}


def test_an_activation_whose_answer_was_lost_is_not_taken_away(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    """The process died after the provider had activated the licence, so the provider refuses a second activation."""
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    Subscription.objects.update(instance="")
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 200
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.instance, lemon.made) == (ACTIVE, licence_activations.UNCONFIRMED, 1)
    assert list(licence.instances.values()) == [agent.pk]


@pytest.mark.django_db(transaction=True)
def test_a_callback_while_the_owner_activates_makes_no_second_activation(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    """A callback asks for a verification just while the licence is being activated."""
    licence, asked = lemon.sell(LEMON, limit=5), list[int]()

    def called_back(path: str) -> None:
        if not path.endswith("activate"):
            return
        lemon.before = lambda path: None
        hint(Provider.LEMONSQUEEZY, key=LEMON, external_ref="", now=clock.now)
        asked.append(verify_due())
        connection.close()

    lemon.before = called_back
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 200
    row = licence_of(agent)
    assert (asked, row.status, licence.instances) == ([1], ACTIVE, {row.instance: agent.pk})


def died_after_activating(agent: Agent) -> None:
    """The row that a process leaves when it is killed before it can store the provider's answer."""
    Subscription.objects.filter(agent=agent).update(instance=licence_activations.UNCONFIRMED, activation_asked_at=NOON)


def test_what_a_process_activated_that_died_is_used_by_the_next(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON, limit=5)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    died_after_activating(agent)
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 200
    for _ in range(3):
        check(clock, DAY)
    assert (list(licence.instances.values()), lemon.made) == ([agent.pk], 1)


def test_what_a_process_did_not_come_to_activate_is_activated_by_the_next(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    died_after_activating(agent)
    licence.instances.clear()
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 200
    assert lemon.made == 1, "another may just be about to"
    clock.go(timedelta(minutes=5))
    post(mine, agent, LEMON, provider="lemonsqueezy")
    assert licence.instances == {licence_of(agent).instance: agent.pk}


def test_an_activation_whose_name_nobody_knows_is_used_by_the_next_agent(
    agent: Agent, mine: APIClient, make_agent: MakeAgent, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    """Nobody can give this activation back, so otherwise the owner could not use the licence any more."""
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    died_after_activating(agent)
    lifecycle.delete(agent, actor="user:x")
    check(clock, DAY)
    assert licence_of(agent).status == EXPIRED
    other = make_agent()
    assert post(mine, other, LEMON, provider="lemonsqueezy").status_code == 200
    assert (licence_of(other).status, licence_of(other).instance) == (ACTIVE, licence_activations.UNCONFIRMED)
    assert (licence_of(agent).instance, lemon.made, len(licence.instances)) == ("", 1, 1)


def test_what_cannot_be_given_back_now_is_given_back_later(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    lifecycle.delete(agent, actor="user:x")
    lemon.fail(503)
    check(clock, DAY)
    assert licence_of(agent).status == ACTIVE
    lemon.work_again()
    check(clock, timedelta(hours=1))
    assert (licence_of(agent).status, licence.instances) == (EXPIRED, {})

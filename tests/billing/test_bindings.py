"""A licence's activation at its provider: made once, given back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from agents import lifecycle
from agents.models import Agent
from billing import bindings
from billing.models import Payment, Subscription
from billing.vocabulary import PaymentKind, SubscriptionStatus
from tests.agents.conftest import MakeAgent, signed_in
from tests.billing.conftest import DAY, Clock
from tests.billing.licences import LEMON, check, confirmed, lemon, licence_of, post
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

__all__ = ["lemon"]

pytestmark = pytest.mark.django_db

ACTIVE, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.EXPIRED


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def mine(clock: Clock, owner: User, catalog: None) -> APIClient:
    return signed_in(owner)


def test_18_the_key_of_a_deleted_agent_pays_for_another(
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


def test_18_the_licence_of_a_deleted_agent_is_given_back_within_a_day(
    agent: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    lifecycle.delete(agent, actor="user:x")
    assert check(clock, DAY) == 1
    assert (licence.instances, licence_of(agent).status, licence_of(agent).check_at) == ({}, EXPIRED, None)


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
    """The process died after the provider had activated: now it refuses another one."""
    licence = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    Subscription.objects.update(instance="")
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 200
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.instance, lemon.made) == (ACTIVE, bindings.UNCONFIRMED, 1)
    assert list(licence.instances.values()) == [agent.pk]


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

"""/account/agents/{id}/cancel: the page first explains what cancelling means, and who charges the card."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from agents.models import Agent
from billing import licence_cards
from billing.vocabulary import Provider, SubscriptionStatus
from tests.billing.conftest import Clock, Pay
from tests.billing.licences import LEMON, activate, licence_of
from tests.doubles.gumroad_server import GumroadSale
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyServer
from tests.pages.account.visitor import Visitor, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def visitor(agent: Agent, owner: User) -> Visitor:
    return Visitor(owner)


def here(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}"


def test_where_only_the_buyer_can_stop_the_card_it_says_where(
    visitor: Visitor, agent: Agent, sale: GumroadSale
) -> None:
    assert "charged again by Gumroad" in text(visitor.open(here(agent)))
    asked = visitor.open(f"{here(agent)}/cancel")
    assert "We cannot stop your card" in text(asked)
    assert asked.all("a", href="https://app.gumroad.com/library")
    after = visitor.follow(visitor.send(asked, f"{here(agent)}/cancel"))
    assert licence_of(agent).status == SubscriptionStatus.CANCELED
    licence_cards.stop_due()
    after = visitor.open(here(agent))
    assert "Cancelled here, but not at Gumroad" in text(after)
    assert after.all("a", href="https://app.gumroad.com/library")


def test_where_we_can_the_card_is_stopped(
    visitor: Visitor, agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any
) -> None:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    lemon.sell(LEMON).charge("2026-11-21T12:00:00.000000Z")
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    asked = visitor.open(f"{here(agent)}/cancel")
    assert "We tell Lemon Squeezy to stop charging your card" in text(asked)
    after = visitor.follow(visitor.send(asked, f"{here(agent)}/cancel"))
    assert "We are telling Lemon Squeezy" in text(after)
    licence_cards.stop_due()
    assert "Lemon Squeezy no longer charges your card" in text(visitor.open(here(agent)))


def test_what_does_not_renew_has_nothing_to_cancel(visitor: Visitor, agent: Agent, pay: Pay) -> None:
    pay(agent)
    assert "charged again" not in text(visitor.open(here(agent)))
    answer = visitor.client.get(f"{here(agent)}/cancel")
    assert (answer.status_code, answer.headers["Location"]) == (303, here(agent))


def test_anothers_agent_has_no_such_page(agent: Agent, sale: GumroadSale, stranger: User) -> None:
    answer = Visitor(stranger).client.get(f"{here(agent)}/cancel")
    assert answer.status_code == 404
    assert licence_of(agent).status == SubscriptionStatus.ACTIVE

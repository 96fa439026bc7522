"""A card that renews pays for its plan: no licence of another plan begins beside it."""

from __future__ import annotations

import pytest

from agents.models import Agent
from billing.models import CardSubscription, Payment
from billing.stripe import orders
from billing.vocabulary import Period
from tests.agents.conftest import signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock
from tests.billing.licences import KEY, gumroad
from tests.billing.stripe.conftest import work
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.stripe_server import StripeDouble

__all__ = ["gumroad"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def small(clock: Clock, agent: Agent, stripe: StripeDouble) -> CardSubscription:
    clock.at(FREE_UNTIL + DAY)
    stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    return CardSubscription.objects.get()


def test_a_key_of_another_plan_is_refused_while_a_card_renews(
    small: CardSubscription, agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    mine = signed_in(agent.user)
    gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    body = {"agentId": agent.pk, "provider": "gumroad", "period": "monthly", "licenseKey": KEY}
    answer = mine.post("/subscriptions", body, format="json")
    assert (answer.status_code, "a card is charged for 'small'" in answer.json()["message"]) == (409, True)
    quote = {"agentId": agent.pk, "provider": "gumroad", "period": "monthly", "tier": "tiny"}
    assert mine.get("/subscriptions/quote", quote).status_code == 409
    assert Payment.objects.count() == 1

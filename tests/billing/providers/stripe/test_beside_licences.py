"""While a card renews and pays for its plan, no licence of another plan can begin."""

from __future__ import annotations

import pytest

from agents.models import Agent
from billing import key_moves, verification
from billing.errors import OtherPlanByCard
from billing.models import CardSubscription, Payment, Subscription
from billing.providers.stripe import orders
from billing.vocabulary import Period
from tests.agents.conftest import MakeAgent, settle, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock
from tests.billing.licences import KEY, activate
from tests.billing.providers.stripe.shop import work
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.stripe_server import StripeDouble

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


def test_an_operator_moves_no_key_of_another_plan_beside_a_card(
    small: CardSubscription, agent: Agent, gumroad: GumroadServer, clock: Clock, make_agent: MakeAgent
) -> None:
    giver = settle(make_agent(agent.user))
    gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    activate(giver, clock)
    with pytest.raises(OtherPlanByCard):
        key_moves.move(giver, to=agent.pk, reason="asked", actor="operator", now=clock.now)
    agent.refresh_from_db()
    assert (agent.tier, Subscription.objects.live().filter(agent=giver).exists()) == ("small", True)


def test_a_key_that_is_paid_late_takes_no_plan_from_the_card_that_pays_meanwhile(
    agent: Agent, gumroad: GumroadServer, stripe: StripeDouble, clock: Clock
) -> None:
    clock.at(FREE_UNTIL + DAY)
    sold = gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    activate(agent, clock)
    clock.go(32 * DAY)
    sold.purchase = {"subscription_failed_at": f"{clock.now:%Y-%m-%dT%H:%M:%SZ}"}
    verification.verify_due()
    stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    sold.purchase = {}
    clock.go(DAY + DAY / 24)
    verification.verify_due()
    agent.refresh_from_db()
    assert (agent.tier, Subscription.objects.paid().get().provider) == ("small", "stripe")


def test_a_month_beside_a_key_that_moved_comes_back_to_the_agent_that_had_it(
    agent: Agent, gumroad: GumroadServer, stripe: StripeDouble, clock: Clock, make_agent: MakeAgent
) -> None:
    """A dispute took the time; before it is won, an operator moves the key to another agent."""
    clock.at(FREE_UNTIL + DAY)
    gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    activate(agent, clock)
    stripe.world.pay(orders.order(agent, tier="tiny", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    dispute = stripe.world.dispute(stripe.world.all("charge")[0]["id"])
    work()
    other = settle(make_agent(agent.user))
    key_moves.move(agent, to=other.pk, reason="asked", actor="operator", now=clock.now)
    stripe.world.decide(dispute["id"], "won")
    work()
    providers = {row.agent_id: row.provider for row in Subscription.objects.paid()}
    assert providers == {agent.pk: "stripe", other.pk: "gumroad"}

"""The charge that brings a smaller plan: with killed processes, and with fifty threads at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from agents.models import Agent
from billing import next_plans
from billing.models import CardSubscription, NextPlan, Payment, Subscription
from billing.providers.stripe import inbox, orders, repricing
from billing.vocabulary import Period
from config import clock as clocks
from tests.agents.conftest import signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, tick
from tests.billing.providers.stripe.shop import work
from tests.billing.replaying.conftest import Act
from tests.billing.replaying.scenes import ProviderWorld, sound
from tests.billing.replaying.stage import WorkOrder
from tests.billing.test_storms import storm
from tests.doubles.stripe_server import StripeDouble

pytestmark = pytest.mark.unmeasured

PROCESS = WorkOrder(rule="billing.providers.stripe.inbox.process_due")
REPRICE = WorkOrder(rule="billing.providers.stripe.repricing.reprice_due")


@pytest.fixture(autouse=True)
def right_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "now", timezone.now)


@pytest.fixture
def agent(world: ProviderWorld, stripe: StripeDouble) -> Agent:
    """An agent whose card pays $19 a month for medium since the end of the free days."""
    made = world.agent()
    world.clock.at(FREE_UNTIL + DAY)
    order = orders.order(made, tier="medium", period=Period.MONTHLY, now=world.clock.now)
    stripe.world.pay(order.session_id)
    work()
    return tick(made, world.clock)


def price(stripe: StripeDouble) -> int:
    return int(stripe.world.all("subscription")[-1]["items"]["data"][0]["price"]["unit_amount"])


@pytest.mark.slow
@pytest.mark.parametrize("point", range(1, 70, 3))
def test_whoever_is_killed_while_a_smaller_plan_begins_loses_and_doubles_nothing(
    agent: Agent, world: ProviderWorld, stripe: StripeDouble, act: Act, point: int
) -> None:
    row, clock = Subscription.objects.paid().get(), world.clock
    next_plans.choose(agent.user, row.pk, tier="tiny", actor="user:x", now=clock.now)
    stripe.waiting = True
    clock.go(timedelta(minutes=1))
    act([REPRICE], now=clock.now, die_at=point % 12 + 1)
    clock.go(timedelta(minutes=5))
    act([REPRICE], now=clock.now)
    assert price(stripe) == 500
    clock.at(row.current_period_end)
    card = CardSubscription.objects.get()
    invoice = stripe.world.renew(card.subscription_id)
    for event in stripe.world.events:
        stripe.tell(event)
    act([PROCESS], now=clock.now, die_at=point)
    clock.go(timedelta(minutes=5))
    act([PROCESS, PROCESS, REPRICE], now=clock.now)
    stripe.waiting = False
    (renewal,) = Payment.objects.filter(kind="renewal")
    assert (renewal.external_id, renewal.tier, renewal.unapplied) == (invoice["id"], "tiny", "")
    card.refresh_from_db()
    assert (card.tier, NextPlan.objects.exists(), price(stripe)) == ("tiny", False, 500)
    tick(agent, clock)
    sound(clock.now)


@pytest.fixture
def sixty_connections(world: ProviderWorld) -> Iterator[None]:
    pool = connection.pool  # type: ignore[attr-defined]  # of Django's backend for PostgreSQL
    before = pool.max_size
    pool.resize(1, 60)
    yield
    pool.resize(1, before)


@pytest.mark.sampled
@pytest.mark.usefixtures("sixty_connections")
def test_fifty_threads_choose_keep_and_are_looked_at(agent: Agent, world: ProviderWorld, stripe: StripeDouble) -> None:
    row, clock, codes = Subscription.objects.paid().get(), world.clock, list[int]()
    mine = [signed_in(agent.user) for _ in range(9)]
    at = f"/subscriptions/{row.pk}/next-plan"

    def put(number: int) -> None:
        codes.append(mine[number].put(at, {"tier": ["tiny", "small"][number % 2]}, format="json").status_code)

    def delete(number: int) -> None:
        codes.append(mine[number].delete(at).status_code)

    def tell() -> None:
        repricing.reprice_due(now=clock.now + timedelta(minutes=1))
        while inbox.process_due(now=clock.now):
            pass

    assert storm([*(partial(put, one) for one in range(6)), *(partial(delete, one) for one in range(6, 9)), tell]) == []
    assert set(codes) <= {200, 204, 429, 503}, codes
    clock.go(timedelta(minutes=2))
    work()
    chosen = NextPlan.objects.filter(dropped_at=None).first()
    assert price(stripe) == (int(chosen.price_usd * 100) if chosen else 1900)
    clock.at(row.current_period_end)
    stripe.world.renew(CardSubscription.objects.get().subscription_id)
    work()
    renewal = Payment.objects.get(kind="renewal")
    assert (renewal.unapplied, renewal.tier) == ("", chosen.tier if chosen else "medium")

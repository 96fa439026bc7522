"""A quote says what the purchase then makes, and only reads: no statement locks or writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import Suspension, User
from agents.models import Agent
from billing import corrections, dunning, periods, quotes, subscriptions
from billing.models import CardSubscription, Coupon, Subscription
from billing.vocabulary import LICENSED, Period, Provider
from config.errors import ServiceError
from tests.agents.conftest import signed_in
from tests.billing.conftest import DAY, NOON, Clock, Pay, licence
from tests.billing.providers.stripe.shop import paid_by_card, placing
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.stripe_server import StripeDouble
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.pages.account.renew.paying import Person

pytestmark = pytest.mark.django_db

QUOTE = "/subscriptions/quote"
TIERS = ("tiny", "small", "large")
SOLD = [provider for provider in Provider if provider != Provider.INTERNAL]
PAID_TILL = NOON + 60 * DAY


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@contextmanager
def only_reads() -> Iterator[None]:
    with CaptureQueriesContext(connection) as caught:
        yield
    said = [one["sql"] for one in caught.captured_queries]
    assert said
    assert [sql for sql in said if not sql.startswith("SELECT") or " FOR UPDATE" in sql or " FOR NO KEY" in sql] == []


@pytest.fixture
def card(client: APIClient, agent: Agent, stripe: StripeDouble) -> CardSubscription:
    return paid_by_card(placing(client, agent)(), stripe)


@pytest.fixture
def person(owner: User, catalog: None, clock: Clock) -> Person:
    return Person(owner)


def ask_for_everything(agent: Agent, **more: str) -> set[int]:
    """Ask for each plan, period and provider. Returns the statuses of the answers."""
    client, found = signed_in(agent.user), set()
    for tier in TIERS:
        for period in Period:
            for provider in SOLD:
                query = {"agentId": agent.pk, "tier": tier, "period": period, "provider": provider, **more}
                with only_reads():
                    found.add(client.get(QUOTE, query).status_code)
    return found


State = Callable[[Agent, Clock, Pay], object]


def _credited(agent: Agent, clock: Clock, pay: Pay) -> None:
    corrections.credit(agent, days=3, reason="ours", actor="operator:x", now=clock.now)


def _granted(agent: Agent, clock: Clock, pay: Pay) -> None:
    corrections.grant(agent, reason="ours", actor="operator:x", now=clock.now)


def _canceled(agent: Agent, clock: Clock, pay: Pay) -> None:
    row = pay(agent).subscription
    assert row
    subscriptions.cancel(agent, row, actor="owner", now=clock.now)


def _moved_on(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    clock.go(3 * DAY)
    pay(agent, "two", tier="small", price_usd=Decimal(10))


def _over(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    clock.go(40 * DAY)
    dunning.step_due(now=clock.now)


def _licensed(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(PAID_TILL))


def _beside_a_licence(agent: Agent, clock: Clock, pay: Pay) -> None:
    _licensed(agent, clock, pay)
    pay(agent, "two")


def _suspended_for_a_while(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    row = {"user": agent.user, "reason": "spam", "suspended_by": "x"}
    Suspension.objects.create(suspended_at=clock.now + DAY, restored_at=clock.now + 5 * DAY, **row)
    clock.go(9 * DAY)


STATES: dict[str, State] = {
    "free": lambda agent, clock, pay: None,
    "paid": lambda agent, clock, pay: pay(agent),
    "paid for a year": lambda agent, clock, pay: pay(agent, period=Period.ANNUAL, price_usd=Decimal(50)),
    "paid twice": lambda agent, clock, pay: (pay(agent), pay(agent, "two")),
    "on its second plan": _moved_on,
    "credited": _credited,
    "granted": _granted,
    "canceled": _canceled,
    "over": _over,
    "paid by a licence": _licensed,
    "paid beside a licence": _beside_a_licence,
    "suspended for a while": _suspended_for_a_while,
}


@pytest.mark.parametrize("state", STATES)
def test_a_quote_neither_locks_nor_writes(agent: Agent, clock: Clock, pay: Pay, state: str) -> None:
    STATES[state](agent, clock, pay)
    assert 200 in ask_for_everything(agent)


def test_a_quote_beside_an_order_or_a_card_neither_locks_nor_writes(
    client: APIClient, agent: Agent, coins: Chain, telegram: TelegramPayments, card: CardSubscription
) -> None:
    assert ask_for_everything(agent) == {200, 409}
    for where, wanted in (("/crypto/orders", {"asset": "usdc"}), ("/stars/orders", {})):
        answer = client.post(where, {"agentId": agent.pk, "period": "annual", **wanted}, format="json")
        assert answer.status_code == 200, answer.content
        assert 200 in ask_for_everything(agent)


def test_a_quote_with_a_coupon_neither_locks_nor_writes(agent: Agent) -> None:
    Coupon.objects.create(code="AUTUMN-25", percent=25)
    assert ask_for_everything(agent, coupon="autumn-25") == {200, 400}


@pytest.mark.parametrize("state", STATES)
def test_the_page_with_the_total_neither_locks_nor_writes(
    person: Person, agent: Agent, clock: Clock, pay: Pay, coins: Chain, gumroad: GumroadServer, state: str
) -> None:
    STATES[state](agent, clock, pay)
    person.sign_in()
    for tier in TIERS:
        for provider in (Provider.USDC, Provider.GUMROAD):
            with only_reads():
                answer = person.get(f"/renew/{agent.pk}?tier={tier}&period=monthly&provider={provider}")
            assert answer.status_code in {200, 400, 409}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("tier", ["tiny", "small"])
@pytest.mark.parametrize("provider", [Provider.USDC, Provider.GUMROAD])
def test_a_quote_says_what_the_purchase_then_makes(
    agent: Agent, clock: Clock, pay: Pay, state: str, tier: str, provider: Provider
) -> None:
    STATES[state](agent, clock, pay)
    agent.refresh_from_db()
    ask = partial(quotes.quote, agent, tier=tier, period=Period.MONTHLY, provider=provider, now=clock.now)
    if (LICENSED & {provider} and "licence" in state) or (tier, "licence" in state) == ("small", True):
        with pytest.raises(ServiceError):
            ask()
        return
    said = ask()
    till = periods.end_of(clock.now, Period.MONTHLY, anchor_day=clock.now.day)
    paid = pay(
        agent,
        "quoted",
        provider=provider,
        tier=tier,
        price_usd=said.price_usd,
        tier_snapshot=said.tier_snapshot,
        licence=licence(till, key="KEY-2", ref="sub-2") if provider in LICENSED else None,
    )
    row = Subscription.objects.paid().get(agent=agent)
    assert said.paid_till == subscriptions.end_of(row, now=clock.now)
    assert said.converted == (paid.converted or timedelta(0))

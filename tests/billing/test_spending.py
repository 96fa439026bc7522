"""What a key with a spend limit may order: never for more than its limit, all its orders together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from agents.models import Agent
from billing import spending
from billing.models import Order, StarsOrder
from billing.vocabulary import OrderStatus, Period, Provider
from tests.accounts.conftest import with_token
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import Clock

pytestmark = pytest.mark.django_db

PRICE = Decimal(5)


@pytest.fixture
def key(owner: User) -> ApiKey:
    limits = KeyLimits(scopes={Scope.PAY}, spend_limit_usd=Decimal("12.00"))
    return keys.create(owner, name="buyer", limits=limits, now=timezone.now())[0]


def waiting(agent: Agent, *, now: datetime | None = None, provider: str = Provider.STARS) -> Order:
    """An order of 5 dollars."""
    now = now or timezone.now()
    return StarsOrder.objects.create(
        id=f"stx_{Order.objects.count():024x}",
        user_id=agent.user_id,
        agent=agent,
        provider=provider,
        tier="tiny",
        period=Period.MONTHLY,
        price_usd=PRICE,
        tier_snapshot={},
        created_at=now,
        expires_at=now + timedelta(hours=1),
        amount_stars=1,
        star_usd=Decimal("0.02"),
        invoice_link="https://t.me/x",
    )


def ordered(agent: Agent, key: ApiKey, *, now: datetime | None = None, provider: str = Provider.STARS) -> Order:
    """The same, placed by the key."""
    order = waiting(agent, now=now, provider=provider)
    with transaction.atomic():
        spending.count(order, key=key, now=now or timezone.now())
    return order


def became(order: Order, status: OrderStatus) -> None:
    paid_at = timezone.now() if status == OrderStatus.PAID else None
    Order.objects.filter(pk=order.pk).update(status=status, paid_at=paid_at)


def test_open_and_paid_orders_count_and_one_more_than_the_limit_is_refused(key: ApiKey, make_agent: MakeAgent) -> None:
    one, two, three = make_agent(), make_agent(), make_agent()
    became(ordered(one, key), OrderStatus.PAID)
    ordered(two, key)
    with pytest.raises(spending.OverSpendLimit, match=r"costs 5\.00 USD, .* 12\.00 USD in all, of which 10\.00"):
        ordered(three, key)


def test_an_order_that_nobody_can_pay_any_more_does_not_count(key: ApiKey, make_agent: MakeAgent) -> None:
    for _ in range(2):
        became(ordered(make_agent(), key, now=timezone.now() - timedelta(hours=2)), OrderStatus.EXPIRED)
    assert spending.spent_by(key, now=timezone.now()) == 0


def test_an_expired_order_in_coins_counts_for_as_long_as_late_money_pays_it(key: ApiKey, make_agent: MakeAgent) -> None:
    agent, placed = make_agent(), timezone.now()
    became(ordered(agent, key, provider=Provider.USDC), OrderStatus.EXPIRED)
    assert spending.spent_by(key, now=placed + timedelta(days=14)) == PRICE
    assert spending.spent_by(key, now=placed + timedelta(days=14, hours=2)) == 0
    ordered(agent, key, now=placed + timedelta(days=1), provider=Provider.USDC)
    assert spending.spent_by(key, now=placed + timedelta(days=1)) == PRICE  # the newer order takes its place


def test_orders_of_other_keys_and_of_the_person_do_not_count(key: ApiKey, owner: User, make_agent: MakeAgent) -> None:
    other = keys.create(owner, name="b", limits=KeyLimits(scopes={Scope.PAY}), now=timezone.now())[0]
    ordered(make_agent(), other)
    assert spending.spent_by(key, now=timezone.now()) == 0


def client_of(owner: User, **limits: Any) -> APIClient:
    made = keys.create(owner, name="buyer", limits=KeyLimits(scopes={Scope.PAY}, **limits), now=timezone.now())
    return with_token(made[1])


def test_the_call_is_refused_with_the_price_and_nothing_is_stored(
    owner: User, coins: Any, running: Agent, clock: Clock
) -> None:
    body = {"agentId": running.pk, "asset": "usdc", "period": "monthly"}
    answer = client_of(owner, spend_limit_usd=Decimal("0.01")).post("/crypto/orders", body, format="json")
    assert answer.status_code == 403
    assert answer.json()["message"].startswith("scope: this order costs ")
    assert not Order.objects.exists()
    price = client_of(owner).post("/crypto/orders", body, format="json").json()["order"]["priceUsd"]
    again = client_of(owner, spend_limit_usd=Decimal(str(price))).post("/crypto/orders", body, format="json")
    assert again.status_code == 200  # the pending order of the same terms costs nothing more


def test_a_key_with_a_limit_does_not_order_by_card(owner: User, running: Agent, client: APIClient) -> None:
    body = {"agentId": running.pk, "period": "monthly"}
    answer = client_of(owner, spend_limit_usd=Decimal(500)).post("/stripe/orders", body, format="json")
    assert answer.status_code == 403
    assert "charged again each period" in answer.json()["message"]
    assert "spend limit" not in client_of(owner).post("/stripe/orders", body, format="json").json()["message"]


@pytest.mark.django_db(transaction=True)
def test_of_orders_at_the_same_moment_only_so_many_pass_as_the_limit_pays_for(
    key: ApiKey, make_agent: MakeAgent
) -> None:
    placed = [waiting(make_agent()) for _ in range(3)]

    def counts(order: Order) -> bool:
        try:
            with transaction.atomic():
                spending.count(order, key=key, now=timezone.now())
        except spending.OverSpendLimit:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(counts, placed)) == [False, True, True]

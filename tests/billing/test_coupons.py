"""Coupons: discounts on orders in coins and Stars, within their limits of use."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from billing import decisions, invariants, orders, spans
from billing.errors import CouponRefused
from billing.models import Coupon, CryptoOrder, Order, Payment, Span, StarsOrder, Stray, StrayCharge
from billing.providers.crypto import settling
from billing.vocabulary import Asset, OrderStatus, Period
from tests.agents.conftest import MakeAgent
from tests.agents.conftest import settle as come_to_rest
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import pays, settle, watch
from tests.doubles.chain import Chain
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.pages.account.visitor import Visitor, fields, text

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

ORDERS, STARS, QUOTE = "/crypto/orders", "/stars/orders", "/subscriptions/quote"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def coupon(clock: Clock) -> Coupon:
    """A quarter off, once for each account."""
    return Coupon.objects.create(code="AUTUMN-25", percent=25)


def ask(client: APIClient, agent: Agent, code: object = "AUTUMN-25", **changes: object) -> Any:
    body = {"agentId": agent.pk, "asset": "usdc", "period": "monthly", "coupon": code, **changes}
    return client.post(ORDERS, body, format="json")


def listed(agent: Agent) -> Decimal:
    return Decimal(str(Order.objects.filter(agent=agent).latest("created_at").tier_snapshot["monthlyUsd"]))


@pytest.mark.parametrize("typed", ["AUTUMN-25", "autumn-25", "  Autumn-25 "])
def test_an_order_costs_less_and_says_so(
    client: APIClient, agent: Agent, coins: Chain, coupon: Coupon, typed: str
) -> None:
    placed = ask(client, agent, typed).json()["order"]
    assert Decimal(str(placed["priceUsd"])) == listed(agent) * 3 / 4
    assert placed["tierSnapshot"]["monthlyUsd"] == listed(agent), "the plan's own price stays"
    assert int(placed["amount"]) == listed(agent) * 3 / 4 * 10**18


def test_what_was_paid_is_what_the_time_is_worth(
    client: APIClient, agent: Agent, coins: Chain, coupon: Coupon, clock: Clock
) -> None:
    ask(client, agent)
    row = CryptoOrder.objects.get()
    pays(coins.usdc, row)
    settle(coins, clock)
    row.refresh_from_db()
    assert row.status == OrderStatus.PAID
    assert Payment.objects.get().price_usd == listed(agent) * 3 / 4
    assert Span.objects.get().usd == listed(agent) * 3 / 4
    assert spans.total(spans.left(Payment.objects.get().subscription, now=clock.now)) == 30 * DAY  # type: ignore[arg-type]


def test_stars_are_fewer(client: APIClient, agent: Agent, telegram: TelegramPayments, coupon: Coupon) -> None:
    body = {"agentId": agent.pk, "period": "monthly"}
    full = client.post(STARS, body, format="json").json()["order"]["amountStars"]
    less = client.post(STARS, {**body, "coupon": coupon.code}, format="json").json()["order"]["amountStars"]
    assert 0.74 < less / full < 0.76
    assert StarsOrder.objects.get(status=OrderStatus.PENDING).coupon == coupon


def test_a_sum_is_taken_off_and_something_is_left_to_pay(client: APIClient, agent: Agent, coins: Chain) -> None:
    Coupon.objects.create(code="TWO", usd=Decimal("2.00"))
    Coupon.objects.create(code="ALL", usd=Decimal("999999.00"))
    assert Decimal(str(ask(client, agent, "TWO").json()["order"]["priceUsd"])) == listed(agent) - 2
    assert Decimal(str(ask(client, agent, "ALL").json()["order"]["priceUsd"])) == Decimal("0.01")


def test_a_quote_says_it_before(client: APIClient, agent: Agent, coupon: Coupon) -> None:
    asked = {"agentId": agent.pk, "period": "monthly", "provider": "usdc"}
    queries = (asked, asked | {"coupon": "autumn-25"})
    full, less = (client.get(QUOTE, query).json()["quote"]["priceUsd"] for query in queries)
    assert Decimal(str(less)) == Decimal(str(full)) * 3 / 4
    refused = client.get(QUOTE, asked | {"provider": "gumroad", "coupon": "autumn-25"})
    assert (refused.status_code, "coupon: " in refused.json()["message"]) == (400, True)
    assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"tier": "large"}, "another plan"),
        ({"period": Period.ANNUAL}, "another plan or period"),
        ({"valid_until": -1}, "can be used now"),
        ({"valid_from": 1}, "can be used now"),
        ({"uses": 0}, "as often as it may be"),
        ({"uses_of_account": 0}, "as often as it may be"),
    ],
)
def test_what_it_is_not_for_is_refused(
    client: APIClient, agent: Agent, coins: Chain, clock: Clock, made: dict[str, Any], why: str
) -> None:
    dated = {name: clock.now + value * DAY if name.startswith("valid") else value for name, value in made.items()}
    Coupon.objects.create(code="AUTUMN-25", percent=25, **dated)
    answer = ask(client, agent)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert answer.json()["message"].startswith("coupon: ")
    assert why in answer.json()["message"]
    assert not Order.objects.exists()


@pytest.mark.parametrize("code", ["NONE", "x", "é" * 10, "A" * 40, "'; DROP TABLE", "A\u200bB"])
def test_a_code_that_is_none_is_refused(
    client: APIClient, agent: Agent, coins: Chain, coupon: Coupon, code: str
) -> None:
    assert ask(client, agent, code).status_code == 400


@pytest.mark.parametrize("code", [1, [], {}, "A" * 41, None])
def test_what_is_no_code_names_the_field(client: APIClient, agent: Agent, coins: Chain, code: object) -> None:
    answer = ask(client, agent, code)
    assert answer.status_code == 400
    assert "coupon" in answer.json()["message"]


def test_who_guesses_is_stopped(client: APIClient, agent: Agent, coins: Chain, coupon: Coupon) -> None:
    answers = [ask(client, agent, f"GUESS-{number}").status_code for number in range(25)]
    assert answers == [400] * 20 + [429] * 5
    assert ask(client, agent).status_code == 200, "who knows one may use it"


def test_a_coupon_is_used_once_by_an_account_and_an_order_that_expires_gives_it_back(
    client: APIClient, agent: Agent, make_agent: MakeAgent, owner: User, coins: Chain, coupon: Coupon, clock: Clock
) -> None:
    second = make_agent(owner)
    assert ask(client, agent).status_code == 200
    assert ask(client, agent).status_code == 200, "the same order again"
    assert Order.objects.count() == 1
    assert ask(client, second).status_code == 400
    orders.expire(Order.objects.get())
    assert ask(client, second).status_code == 200


def test_another_order_takes_the_place_of_the_one_that_has_it(
    client: APIClient, agent: Agent, coins: Chain, coupon: Coupon
) -> None:
    assert ask(client, agent).status_code == 200
    assert ask(client, agent, asset="usdt").status_code == 200
    plain = client.post(ORDERS, {"agentId": agent.pk, "asset": "usdt", "period": "monthly"}, format="json").json()
    assert Decimal(str(plain["order"]["priceUsd"])) == listed(agent)
    assert Order.objects.filter(status=OrderStatus.PENDING).count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_at_once_never_use_it_more_often_than_it_may_be(
    make_agent: MakeAgent, clock: Clock, coins: Chain, order: Any
) -> None:
    Coupon.objects.create(code="THREE", percent=50, uses=3)
    agents = [make_agent(User.objects.create_user(f"person{number}@example.com")) for number in range(8)]
    refused: list[object] = []

    def place(one: Agent) -> None:
        try:
            order(one, asset=Asset.USDC, coupon="THREE")
        except CouponRefused as error:
            refused.append(error)
        connection.close()

    workers = [threading.Thread(target=place, args=[one]) for one in agents]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (Order.objects.filter(coupon="THREE").count(), len(refused)) == (3, 5)


def test_a_late_payment_of_an_expired_order_keeps_its_price(
    client: APIClient, agent: Agent, coins: Chain, coupon: Coupon, clock: Clock
) -> None:
    ask(client, agent)
    row = CryptoOrder.objects.get()
    orders.expire(Order.objects.get())
    pays(coins.usdc, row)
    clock.go(timedelta(minutes=1))
    settle(coins, clock)
    watch(clock)
    row.refresh_from_db()
    assert row.status == OrderStatus.PAID
    assert Payment.objects.get().price_usd == listed(agent) * 3 / 4


def test_late_payments_use_a_coupon_no_more_often_than_it_may_be(
    client: APIClient, agent: Agent, make_agent: MakeAgent, owner: User, coins: Chain, clock: Clock
) -> None:
    """Three orders use the coupon, each is replaced by an order without it, and all three are paid a little late."""
    Coupon.objects.create(code="HALF", percent=50, uses=1)
    placed = []
    for one in [agent, come_to_rest(make_agent(owner)), come_to_rest(make_agent(owner))]:
        assert ask(client, one, "HALF").status_code == 200
        placed.append(CryptoOrder.objects.get(agent=one))
        plain = {"agentId": one.pk, "asset": "usdt", "period": "monthly"}
        assert client.post(ORDERS, plain, format="json").status_code == 200
    for row in placed:
        pays(coins.usdc, row)
    clock.go(timedelta(minutes=20))
    settle(coins, clock)
    for _ in range(2):
        watch(clock)
    assert Payment.objects.filter(order__coupon="HALF", unapplied="").count() == 1
    assert {row.unapplied for row in decisions.undecided()} == {settling.COUPON_USED}
    assert decisions.undecided().count() == 2, "what the others sent waits for an operator"
    assert invariants.broken(now=clock.now) == []


def test_money_that_an_operator_has_decided_about_pays_no_order_when_the_coupon_is_free_again(
    client: APIClient, agent: Agent, make_agent: MakeAgent, owner: User, coins: Chain, coupon: Coupon, clock: Clock
) -> None:
    ask(client, agent)
    row = CryptoOrder.objects.get()
    orders.expire(Order.objects.get())
    another = come_to_rest(make_agent(owner))
    assert ask(client, another).status_code == 200
    pays(coins.usdc, row)
    clock.go(timedelta(minutes=1))
    settle(coins, clock)
    watch(clock)
    decisions.close(decisions.undecided().get(), reason="asked", actor="operator:x", now=clock.now)
    orders.expire(Order.objects.get(agent=another))
    watch(clock)
    assert Order.objects.get(pk=row.pk).status == OrderStatus.EXPIRED
    assert not Payment.objects.filter(order=row).exists()


def test_late_stars_go_back_when_others_have_used_the_coupon(
    client: APIClient, agent: Agent, make_agent: MakeAgent, owner: User, telegram: TelegramPayments, coupon: Coupon
) -> None:
    def place(one: Agent) -> StarsOrder:
        body = {"agentId": one.pk, "period": "monthly", "coupon": coupon.code}
        return StarsOrder.objects.get(pk=client.post(STARS, body, format="json").json()["order"]["id"])

    first = place(agent)
    orders.expire(Order.objects.get())
    second = place(come_to_rest(make_agent(owner)))
    for row in (second, first):
        telegram.charge(row.invoice_link)
    assert [Order.objects.get(pk=row.pk).status for row in (first, second)] == [OrderStatus.EXPIRED, OrderStatus.PAID]
    assert StrayCharge.objects.get().why == Stray.COUPON


def test_a_person_enters_it_where_they_pay(agent: Agent, owner: User, coins: Chain, coupon: Coupon) -> None:
    visitor = Visitor(owner)
    there = f"/renew/{agent.pk}"
    chosen = f"{there}?tier={agent.tier}&period=monthly&provider=usdc"
    page = visitor.open(f"{chosen}&coupon=autumn-25")
    form = page.one("form", action=f"{there}#bill", method="post")
    visitor.follow(visitor.post(there, **fields(page, form)))
    assert Order.objects.get().coupon == coupon
    wrong = visitor.open(f"{chosen}&coupon=nonsense", status=400)
    assert "This coupon cannot be used here" in text(wrong)
    assert wrong.one("input", name="coupon", maxlength="40").attributes["value"] == "NONSENSE"


def test_operators_make_and_end_them(admin_client: Client, clock: Clock) -> None:
    made = {"code": "NEW", "percent": "10", "uses_of_account": "1", "usd": "", "tier": "", "period": "", "note": "x"}
    answer = admin_client.post("/admin/billing/coupon/add/", made, follow=True)
    assert answer.status_code == 200
    assert Coupon.objects.get().percent == 10
    for wrong in ({"usd": "1"}, {"percent": ""}, {"percent": "100"}, {"code": "a b"}, {"percent": "0"}):
        admin_client.post("/admin/billing/coupon/add/", {**made, "code": "OTHER", **wrong})
        assert Coupon.objects.count() == 1, wrong
    assert "NEW" in admin_client.get("/admin/billing/coupon/").content.decode()

"""Orders for Stars through the API, and who may pay an order now."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from rest_framework.test import APIClient

from accounts.models import User
from agents import suspension
from agents.models import Agent
from agents.running import lifecycle
from billing.models import StarsOrder
from billing.providers import registry
from billing.providers.stars import orders
from billing.vocabulary import OrderStatus, Provider
from catalog import snapshot
from catalog.models import Tier
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import Clock
from tests.billing.providers.stars.conftest import PlaceOrder
from tests.doubles.telegram_payments_server import TelegramFault, TelegramPayments

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

MINUTE = timedelta(minutes=1)
ORDER_KEYS = {"id", "userId", "agentId", "amountStars", "status", "createdAt", "paidAt"} | {
    "tier",
    "priceUsd",
    "tierSnapshot",
}


def post(client: APIClient, agent: Agent, **body: Any) -> Any:
    return client.post("/stars/orders", {"agentId": agent.pk, "period": "monthly", **body}, format="json")


@pytest.mark.parametrize(
    ("usd", "stars"), [("9", 693), ("19", 1462), ("39", 3000), ("190", 14616), ("390", 30000), ("0.01", 1)]
)
def test_a_price_is_never_less_in_stars(usd: str, stars: int) -> None:
    assert orders.in_stars(Decimal(usd), Decimal("0.013")) == stars


def test_an_order_is_an_invoice_of_its_own(
    client: APIClient, agent: Agent, telegram: TelegramPayments, clock: Clock
) -> None:
    body = post(client, agent, tier="small", period="annual").json()
    order = StarsOrder.objects.get()
    assert set(body) == {"order", "payment"}
    assert set(body["order"]) == ORDER_KEYS
    assert body["order"]["id"].startswith("stx_")
    assert (body["order"]["tier"], body["order"]["status"], body["order"]["paidAt"]) == ("small", "pending", None)
    assert (body["order"]["tierSnapshot"]["id"], body["order"]["tierSnapshot"]["period"]) == ("small", "annual")
    assert body["payment"] == {"invoiceUrl": order.invoice_link, "expiresAt": "2026-11-21T13:00:00Z"}
    (asked,) = telegram.called("createInvoiceLink")
    assert asked["prices"] == [{"label": asked["title"], "amount": body["order"]["amountStars"]}]
    assert (asked["payload"], asked["currency"], asked["provider_token"]) == (order.pk, "XTR", "")


def test_the_tier_is_the_agents_own_unless_another_is_named(place: PlaceOrder) -> None:
    assert (place().tier, place(tier="small").tier) == ("tiny", "small")


def test_the_same_order_again_is_the_pending_one(place: PlaceOrder, telegram: TelegramPayments) -> None:
    assert place() == place()
    assert len(telegram.called("createInvoiceLink")) == 1


def test_one_that_has_run_out_is_not_given_again(place: PlaceOrder, clock: Clock) -> None:
    first = place()
    clock.go(60 * MINUTE)
    second = place()
    first.refresh_from_db()
    assert (first.status, second.status) == (OrderStatus.EXPIRED, OrderStatus.PENDING)


def test_other_terms_replace_it_unless_somebody_is_just_paying_it(
    client: APIClient, agent: Agent, place: PlaceOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    first = place()
    assert telegram.check_out(first.invoice_link)["ok"]
    assert post(client, agent, period="annual").status_code == 409
    assert registry.driver_of(Provider.STARS).money_seen(first)  # type: ignore[union-attr]  # it has a driver
    other = {"agentId": agent.pk, "period": "annual", "provider": "stars"}
    assert client.get("/subscriptions/quote", other).status_code == 409, "what would be refused has no price"
    assert client.get("/subscriptions/quote", other | {"period": "monthly"}).status_code == 200
    clock.go(10 * MINUTE)
    assert client.get("/subscriptions/quote", other).status_code == 200
    assert post(client, agent, period="annual").status_code == 200
    first.refresh_from_db()
    assert first.status == OrderStatus.EXPIRED


def test_a_telegram_that_is_away_leaves_no_order(client: APIClient, agent: Agent, telegram: TelegramPayments) -> None:
    telegram.fail_next("createInvoiceLink", TelegramFault(status=502, body=b"Bad Gateway"), TelegramFault.flood(17))
    assert post(client, agent).status_code == 503
    refused = post(client, agent)
    assert (refused.status_code, refused["Retry-After"]) == (503, "17")
    assert not StarsOrder.objects.exists()
    assert post(client, agent).status_code == 200


def test_a_bot_that_telegram_refuses_is_the_operators_to_mend(
    client: APIClient, agent: Agent, telegram: TelegramPayments, caplog: pytest.LogCaptureFixture
) -> None:
    with override_settings(STARS_BOT_TOKEN="1:wrong"):
        refused = post(client, agent)
    assert (refused.status_code, refused["Retry-After"]) == (503, "60")
    assert not StarsOrder.objects.exists()
    assert "Telegram makes no invoice: createInvoiceLink: 401" in caplog.text
    assert "1:wrong" not in caplog.text + refused.content.decode()


def test_not_configured_comes_after_fields_ownership_and_the_engines_tier(
    client: APIClient, other: APIClient, agent: Agent, make_agent: MakeAgent
) -> None:
    assert client.get("/stars").json() == {"stars": {"enabled": False, "botUsername": "", "starUsd": 0.013}}
    assert post(client, agent, period="weekly").json()["message"].startswith("period: 'weekly'")
    assert post(client, agent, tier="huge").json()["message"].startswith("tier: 'huge'")
    assert post(client, agent, agentId="agt_" + "0" * 24).status_code == 404
    assert post(client, agent, agentId="nothing").status_code == 404
    assert post(other, agent).status_code == 403
    assert post(APIClient(), agent).status_code == 401
    larger = make_agent(engine="hermes", tier="small")
    assert post(client, larger, tier="tiny").json()["message"].startswith("tier:")
    refused = post(client, agent)
    assert (refused.status_code, "soon" in refused.json()["message"]) == (400, True)
    lifecycle.delete(agent, actor="user:x")
    assert post(client, agent).status_code == 404


def test_for_another_accounts_agent_telegram_is_not_asked(
    other: APIClient, agent: Agent, telegram: TelegramPayments
) -> None:
    assert post(other, agent).status_code == 403
    lifecycle.delete(agent, actor="user:x")
    assert post(other, agent).status_code == 404
    assert telegram.called("createInvoiceLink") == []


def test_the_same_key_gives_the_same_answer(client: APIClient, agent: Agent, telegram: TelegramPayments) -> None:
    body = {"agentId": agent.pk, "period": "monthly"}
    first, second = (client.post("/stars/orders", body, format="json", HTTP_IDEMPOTENCY_KEY="k") for _ in range(2))
    assert (first.json(), second["Idempotent-Replayed"]) == (second.json(), "true")


def test_what_is_enabled_is_told_to_anybody(api: APIClient, telegram: TelegramPayments, catalog: None) -> None:
    told = {"enabled": True, "botUsername": "agentpods_bot", "starUsd": 0.013}
    assert api.get("/stars").json() == {"stars": told}


def test_orders_are_listed_newest_first_page_by_page_and_to_their_owner_alone(
    client: APIClient, other: APIClient, agent: Agent, place: PlaceOrder, clock: Clock
) -> None:
    placed = []
    for period in ("monthly", "annual", "monthly"):
        placed.append(place(period=period).pk)
        clock.go(MINUTE)
    first = client.get("/stars/orders?limit=2")
    assert [one["id"] for one in first.json()["orders"]] == [placed[2], placed[1]]
    following = first["Link"].removeprefix("<").partition(">")[0]
    rest = client.get(following.removeprefix(settings.BASE_URL))
    assert [one["id"] for one in rest.json()["orders"]] == [placed[0]]
    assert "Link" not in rest
    pending = client.get(f"/stars/orders?agentId={agent.pk}&status=pending").json()["orders"]
    assert [one["id"] for one in pending] == [placed[2]]
    assert other.get("/stars/orders").json() == {"orders": []}
    assert other.get(f"/stars/orders?agentId={agent.pk}").status_code == 403
    assert client.get("/stars/orders?status=open").status_code == 400
    assert client.get("/stars/orders?cursor=nothing").status_code == 400


def test_a_list_takes_as_many_statements_however_long_it_is(client: APIClient, place: PlaceOrder) -> None:
    counts = []
    for period in ("monthly", "annual"):
        place(period=period)
        with CaptureQueriesContext(connection) as queries:
            client.get("/stars/orders")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_one_order_is_read_by_its_owner(client: APIClient, other: APIClient, order: StarsOrder) -> None:
    assert client.get(f"/stars/orders/{order.pk}").json()["order"]["id"] == order.pk
    assert (other.get(f"/stars/orders/{order.pk}").status_code, client.get("/stars/orders/x").status_code) == (404, 404)


def test_a_pre_checkout_for_what_cannot_be_paid_is_refused_with_a_text(
    agent: Agent, place: PlaceOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    order = place()
    assert "amount" in telegram.check_out(order.invoice_link, amount=1)["error_message"]
    assert "amount" in telegram.check_out(order.invoice_link, currency="USD")["error_message"]
    clock.go(60 * MINUTE)
    assert "expired" in telegram.check_out(order.invoice_link)["error_message"]
    paid = place()
    assert telegram.pay(paid.invoice_link) is not None
    assert "paid already" in telegram.check_out(paid.invoice_link)["error_message"]
    last = place()
    lifecycle.delete(agent, actor="user:x")
    assert "deleted" in telegram.check_out(last.invoice_link)["error_message"]
    answers = telegram.called("answerPreCheckoutQuery")
    assert [answer["ok"] for answer in answers] == [False, False, False, True, False, False]


def test_a_pre_checkout_for_a_suspended_account_is_refused(
    owner: User, order: StarsOrder, telegram: TelegramPayments
) -> None:
    suspension.suspend(owner, reason="spam", actor="operator:x")
    assert "suspended" in telegram.check_out(order.invoice_link)["error_message"]
    suspension.restore(owner, actor="operator:x")
    assert telegram.check_out(order.invoice_link)["ok"]


def test_a_plan_that_costs_nothing_cannot_be_ordered(
    client: APIClient, agent: Agent, telegram: TelegramPayments
) -> None:
    Tier.objects.filter(pk="tiny").update(monthly_usd=Decimal(0))
    snapshot.forget()
    answer = post(client, agent)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert answer.json()["message"].startswith("tier: ")
    assert not StarsOrder.objects.exists()


@pytest.mark.parametrize("payload", ["nothing", "stx_" + "0" * 24])
def test_a_pre_checkout_for_an_unknown_order_is_refused(telegram: TelegramPayments, payload: str) -> None:
    query = {"id": "9", "from": {"id": 77}, "currency": "XTR", "total_amount": 5, "invoice_payload": payload}
    telegram.tell({"pre_checkout_query": query})
    (answer,) = telegram.called("answerPreCheckoutQuery")
    assert (answer["ok"], answer["error_message"]) == (False, "This invoice is not known here.")


def test_a_pre_checkout_is_one_read_and_one_compare_and_set(order: StarsOrder, telegram: TelegramPayments) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert telegram.check_out(order.invoice_link)["ok"]
    assert [query["sql"].split()[0] for query in queries] == ["SELECT", "WITH"]


def test_who_is_paying_may_try_again_at_once(order: StarsOrder, telegram: TelegramPayments) -> None:
    assert [telegram.check_out(order.invoice_link, person=one)["ok"] for one in (77, 77, 78)] == [True, True, False]


@pytest.mark.django_db(transaction=True)
def test_of_many_who_open_one_link_together_one_is_let_through(order: StarsOrder, telegram: TelegramPayments) -> None:
    def check_out(person: int) -> bool:
        try:
            return bool(telegram.check_out(order.invoice_link, person=person)["ok"])
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(check_out, range(1, 17))) == [False] * 15 + [True]


@pytest.mark.django_db(transaction=True)
def test_who_is_let_through_while_another_order_is_made_keeps_the_one_he_pays(
    client: APIClient, agent: Agent, order: StarsOrder, telegram: TelegramPayments
) -> None:
    """The new order sees that nobody pays, and waits for the agent's lock. Meanwhile somebody begins to pay."""

    def replace() -> int:
        try:
            return int(post(client, agent, period="annual").status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Agent.objects.select_for_update().get(pk=agent.pk)
            answer = pool.submit(replace)
            wait_for_a_waiter()
            assert telegram.check_out(order.invoice_link)["ok"]
        assert answer.result() == 409
    assert telegram.charge(order.invoice_link)
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID


def wait_for_a_waiter() -> None:
    """Wait until another transaction waits for a lock."""
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute("select count(*) from pg_locks where not granted")
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody came to wait")


def test_an_order_that_nobody_pays_expires_after_an_hour(
    order: StarsOrder, clock: Clock, expire: Callable[[], int]
) -> None:
    clock.go(59 * MINUTE)
    assert expire() == 0
    clock.go(MINUTE)
    assert expire() == 1
    order.refresh_from_db()
    assert order.status == OrderStatus.EXPIRED

"""`/crypto` and `/crypto/orders` for a client of the API."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import lifecycle
from billing.models import CryptoOrder, DepositAddress
from catalog import snapshot
from catalog.models import Tier
from tests.billing.conftest import Clock
from tests.billing.crypto import SECOND, settle
from tests.doubles.chain import CHAIN_ID, Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

ORDERS = "/crypto/orders"


def body(agent: Agent, **changes: object) -> dict[str, object]:
    return {"agentId": agent.pk, "asset": "usdc", "period": "monthly", **changes}


def test_the_plan_of_an_order_has_its_prices_as_numbers(client: APIClient, coins: Chain, running: Agent) -> None:
    Tier.objects.filter(pk="tiny").update(monthly_usd=Decimal("4.99"))
    snapshot.forget()
    order = client.post(ORDERS, body(running), format="json").json()["order"]
    plan = order["tierSnapshot"]
    assert (plan["monthlyUsd"], plan["annualUsd"], plan["period"]) == (4.99, 49.9, "monthly")
    assert (order["priceUsd"], order["amount"]) == (4.99, "4990000000000000000")


def test_what_can_be_paid_with_is_public(api: APIClient, coins: Chain) -> None:
    assert api.get("/crypto").json() == {
        "crypto": {
            "enabled": True,
            "chainId": CHAIN_ID,
            "assets": [{"asset": "usdc", "symbol": "USDC"}, {"asset": "usdt", "symbol": "USDT"}],
        }
    }


def test_without_settings_it_is_off(api: APIClient, db: None) -> None:
    assert api.get("/crypto").json()["crypto"]["enabled"] is False


def test_an_order_says_what_to_send_where(client: APIClient, coins: Chain, running: Agent, clock: Clock) -> None:
    answer = client.post(ORDERS, body(running), format="json")
    assert answer.status_code == 200
    order, address = answer.json()["order"], DepositAddress.objects.get().address
    assert order == {
        "id": CryptoOrder.objects.get().pk,
        "userId": running.user_id,
        "agentId": running.pk,
        "asset": "usdc",
        "amount": "5000000000000000000",
        "baseline": "0",
        "status": "pending",
        "createdAt": "2026-11-21T12:00:00Z",
        "txHash": None,
        "paidAt": None,
        "tier": "tiny",
        "priceUsd": 5,
        "tierSnapshot": order["tierSnapshot"],
    }
    payment = answer.json()["payment"]
    assert payment == {
        "address": address,
        "chainId": CHAIN_ID,
        "tokenContract": payment["tokenContract"],
        "amount": "5000000000000000000",
        "seen": "0",
        "expiresAt": "2026-11-22T12:00:00Z",
    }
    assert payment["tokenContract"].lower() == coins.usdc.address
    tx_hash = coins.usdc.send(payment["address"], int(payment["amount"]))
    settle(coins, clock)
    shown = client.get(f"{ORDERS}/{order['id']}").json()["order"]
    assert (shown["status"], shown["txHash"], shown["paidAt"]) == ("paid", tx_hash, "2026-11-21T12:00:00Z")
    assert client.get(ORDERS, {"agentId": running.pk, "status": "paid"}).json() == {"orders": [shown]}
    assert client.get(ORDERS, {"status": "pending"}).json() == {"orders": []}


def test_anothers_agent_is_refused_before_the_chain_is_asked(
    other: APIClient, client: APIClient, proxy: RpcProxy, running: Agent, clock: Clock
) -> None:
    assert other.post(ORDERS, body(running), format="json").status_code == 403
    assert other.get(ORDERS, {"agentId": running.pk}).status_code == 403
    lifecycle.delete(running, actor="user:x")
    assert client.post(ORDERS, body(running), format="json").status_code == 404
    assert proxy.requests == 0


def test_anothers_order_is_not_there(other: APIClient, client: APIClient, coins: Chain, running: Agent) -> None:
    order = client.post(ORDERS, body(running), format="json").json()["order"]
    assert other.get(f"{ORDERS}/{order['id']}").status_code == 404
    assert other.get(ORDERS).json() == {"orders": []}


def test_orders_are_listed_page_by_page(
    client: APIClient, other: APIClient, coins: Chain, running: Agent, clock: Clock
) -> None:
    placed: list[str] = []
    for period in ("monthly", "annual", "monthly"):
        placed.insert(0, client.post(ORDERS, body(running, period=period), format="json").json()["order"]["id"])
        clock.go(SECOND)
    first = client.get(f"{ORDERS}?limit=2&agentId={running.pk}")
    following = first["Link"].removeprefix(f"<{settings.BASE_URL}").partition(">")[0]
    second = client.get(following)
    shown = [one["id"] for page in (first, second) for one in page.json()["orders"]]
    assert (shown, "Link" in second, "agentId=" in following) == (placed, False, True)
    assert other.get(following.replace(f"&agentId={running.pk}", "")).json() == {"orders": []}
    wrongs = [{"limit": "0"}, {"limit": "1001"}, {"cursor": "nothing"}, {"cursor": "é"}, {"status": "open"}]
    for wrong in wrongs:
        answer = client.get(ORDERS, wrong)
        assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, next(iter(wrong)))


def test_a_list_asks_as_often_however_long_it_is(client: APIClient, coins: Chain, running: Agent) -> None:
    counts = []
    for period in ("monthly", "annual"):
        client.post(ORDERS, body(running, period=period), format="json")
        with CaptureQueriesContext(connection) as queries:
            assert client.get(ORDERS).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"asset": "dai"}, "asset"),
        ({"period": "weekly"}, "period"),
        ({"tier": "huge"}, "tier"),
        ({"agentId": 5}, "agentId"),
    ],
)
def test_fields_are_checked(client: APIClient, running: Agent, changes: dict[str, object], field: str) -> None:
    answer = client.post(ORDERS, body(running, **changes), format="json")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, field)


def test_not_configured_is_said_after_fields_and_ownership(client: APIClient, other: APIClient, running: Agent) -> None:
    assert other.post(ORDERS, body(running), format="json").status_code == 403
    answer = client.post(ORDERS, body(running), format="json")
    assert answer.status_code == 400
    assert "coming soon" in answer.json()["message"]


def test_while_no_node_answers_it_is_503_and_nothing_is_stored(
    client: APIClient, proxy: RpcProxy, running: Agent
) -> None:
    proxy.status = 502
    answer = client.post(ORDERS, body(running), format="json", headers={"Idempotency-Key": "one"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert not CryptoOrder.objects.exists()
    proxy.status = 200
    again = client.post(ORDERS, body(running), format="json", headers={"Idempotency-Key": "one"})
    assert again.status_code == 200


def test_a_repeat_with_the_same_key_is_the_same_reply(
    client: APIClient, coins: Chain, running: Agent, settings: Settings
) -> None:
    first, again = (
        client.post(ORDERS, body(running), format="json", headers={"Idempotency-Key": "one"}) for _ in range(2)
    )
    assert (first.json(), again["Idempotent-Replayed"]) == (again.json(), "true")


@pytest.mark.parametrize("provider", ["usdt", "stars"])
def test_a_plan_that_costs_nothing_has_no_order_and_no_quote(
    client: APIClient, coins: Chain, running: Agent, provider: str
) -> None:
    Tier.objects.filter(pk="tiny").update(monthly_usd=Decimal(0))
    snapshot.forget()
    wanted = {"agentId": running.pk, "period": "monthly"}
    for answer in (
        client.post("/crypto/orders", {**wanted, "asset": "usdt"}, format="json"),
        client.get("/subscriptions/quote", {**wanted, "provider": provider}),
    ):
        assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
        assert answer.json()["message"].startswith("tier: ")

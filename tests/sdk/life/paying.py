"""An owner pays for agents by card, with Stars, with a stablecoin and with a licence key."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from billing import dunning
from billing.models import StripeOrder
from billing.providers.crypto import scanning
from tests.billing.licences import KEY
from tests.billing.providers.stripe import shop
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.stripe_server import StripeDouble
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.sdk.driving.client import DrivenClient


@dataclass(frozen=True)
class Shops:
    """Where somebody pays, outside of the service."""

    stripe: StripeDouble
    telegram: TelegramPayments
    gumroad: GumroadServer
    coins: Chain


def pays_by_card(pods: DrivenClient, agent: str, stripe: StripeDouble) -> str:
    """Returns the subscription."""
    api = pods.api
    quote = api.get_subscription_quote(agent_id=agent, tier="small", period="monthly", provider="stripe")["quote"]
    placed = api.create_stripe_order({"agentId": agent, "tier": "small", "period": "monthly"})
    order = placed["order"]
    assert order["priceUsd"] == quote["priceUsd"]
    assert placed["payment"]
    stripe.world.pay(StripeOrder.objects.get(pk=order["id"]).session_id)
    shop.work()
    assert api.get_stripe_order(order["id"])["order"]["status"] == "paid"
    assert [one["id"] for one in api.each_of_stripe_orders(agent_id=agent)] == [order["id"]]
    assert api.open_stripe_portal()["portal"]["url"].startswith("https://")
    (subscription,) = api.list_subscriptions(agent_id=agent)["subscriptions"]
    return subscription["id"]


def reads_invoices(pods: DrivenClient) -> None:
    api = pods.api
    issued = list(api.each_of_invoices(limit=1))
    assert len(issued) == 3  # by card, with Stars and with a coin; Gumroad sells in its own name
    for known in issued:
        assert api.get_invoice(known["id"])["invoice"] == known
        assert api.get_invoice_pdf(known["id"]).startswith(b"%PDF-")


def chooses_the_next_plan(pods: DrivenClient, subscription: str) -> None:
    api = pods.api
    chosen = api.set_subscription_next_plan(subscription, {"tier": "tiny"})["nextPlan"]
    assert chosen
    assert chosen["tier"] == "tiny"
    assert api.get_subscription_next_plan(subscription)["nextPlan"] == chosen
    api.delete_subscription_next_plan(subscription)
    assert api.get_subscription_next_plan(subscription)["nextPlan"] is None


def pays_with_stars(pods: DrivenClient, agent: str, telegram: TelegramPayments) -> None:
    api = pods.api
    placed = api.create_stars_order({"agentId": agent, "period": "monthly"})
    payment = placed["payment"]
    assert payment
    assert telegram.pay(payment["invoiceUrl"])
    assert api.get_stars_order(placed["order"]["id"])["order"]["status"] == "paid"


def pays_with_a_coin(pods: DrivenClient, agent: str, coins: Chain) -> None:
    api = pods.api
    placed = api.create_crypto_order({"agentId": agent, "asset": "usdt", "period": "monthly"})
    payment = placed["payment"]
    assert payment
    coins.usdt.send(payment["address"], int(payment["amount"]))
    coins.final()
    scanning.scan(now=timezone.now())
    assert api.get_crypto_order(placed["order"]["id"])["order"]["status"] == "paid"


def pays_with_a_key(pods: DrivenClient, agent: str, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    bought = pods.api.create_subscription(
        {"agentId": agent, "period": "monthly", "provider": "gumroad", "licenseKey": KEY}
    )
    assert bought["subscription"]["status"] == "active"


def cancels_and_moves(pods: DrivenClient, subscription: str, *, of: str, to: str) -> None:
    api = pods.api
    assert api.cancel_subscription(subscription)["subscription"]["status"] == "canceled"
    api.delete_agent(of, wait=30)
    dunning.step_due(now=timezone.now())  # the account keeps what is left
    moved = api.create_subscription_move(subscription, {"agentId": to})["subscription"]
    assert moved["agentId"] == to

"""The demo's payment steps: a licence key, then one more month with a stablecoin on the demo's own chain."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal

from agentpods import Agentpods, types
from examples.checks import NotPrepared, Wrong, every, expect, refused
from examples.events import came
from examples.outside import TIER, Outside
from examples.webhook_receiver import WebhookReceiver

SCAN_SECONDS = 90  # the service looks at the chain every 15 seconds
MONTH = (timedelta(days=28), timedelta(days=31))

TERM = {"mode", "stopsAt", "deletesAt", "paidTill", "paidProvider", "renewUrl"}
ORDER = {
    *{"id", "userId", "agentId", "asset", "amount", "baseline", "status", "createdAt", "txHash", "paidAt"},
    *{"tier", "priceUsd", "tierSnapshot"},
}
SUBSCRIPTION = {
    *{"id", "userId", "agentId", "tier", "period", "status", "createdAt", "priceUsd", "currentPeriodEnd"},
    *{"provider", "licenseKey", "canceledAt", "tierSnapshot", "expiredAt"},
}


class Paying:
    """The steps; each one builds on the steps before it. `agent_id` is the agent that the demo pays for."""

    def __init__(self, public: Agentpods, receiver: WebhookReceiver, outside: Outside) -> None:
        self.public, self.receiver, self.outside = public, receiver, outside
        self.pods = public  # until there is an API key
        self.agent_id = ""
        self.price = 0.0
        self.paid_till = ""
        self.order: types.CryptoOrder  # once `order_in_usdt` has placed it
        self.payment: types.CryptoPayment
        self.paid_by = ""
        self.old: set[str] = set()  # subscriptions of earlier runs with the same session

    def steps(self) -> list[Callable[[], None]]:
        return [
            self.read_trial,
            self.refuse_wrong_key,
            self.pay_by_licence,
            self.order_in_usdt,
            self.pay_in_usdt,
            self.settle,
        ]

    def read_ways(self) -> None:
        """See how an agent can be paid for."""
        listed = self.public.api.get_payment_providers()["paymentProviders"]
        ways = {str(one["id"]): one["status"] for one in listed}
        if [ways.get("gumroad"), ways.get("usdt")] != ["active", "active"]:
            raise NotPrepared("it takes no licence keys of Gumroad, or no usdt")
        crypto = self.public.api.get_crypto()["crypto"]
        ours = int(self.outside.settings()["CRYPTO_CHAIN_ID"])
        if not crypto["enabled"] or crypto["chainId"] != ours:
            raise NotPrepared(f"it takes stablecoins on chain {crypto['chainId']}, and this demo's is {ours}")
        expect({"asset": "usdt", "symbol": "USDT"} in crypto["assets"], f"usdt is not among them: {crypto}")

    def read_trial(self) -> None:
        """Read what it runs on, and what a month would cost."""
        term = self.term()
        expect(term["mode"] == "trial" and term["stopsAt"] and term["deletesAt"], f"no trial: {term}")
        expect(str(term["stopsAt"]) < str(term["deletesAt"]), f"deleted before it is stopped: {term}")
        expect(term["paidTill"] is None and term["paidProvider"] is None, f"paid on trial: {term}")
        self.price = next(tier["monthlyUsd"] for tier in self.public.api.list_tiers()["tiers"] if tier["id"] == TIER)
        quote = self.pods.api.get_subscription_quote(
            agent_id=self.agent_id, tier=TIER, period="monthly", provider="gumroad"
        )["quote"]
        expect(quote["priceUsd"] == self.price, f"quoted {quote['priceUsd']}, and the tier costs {self.price}")
        expect(self.term() == term, "asking for a quote changed the term")

    def refuse_wrong_key(self) -> None:
        """A licence key that nobody bought is refused."""
        refusal = refused(lambda: self.pods.api.create_subscription(self.licence("NOBODY-BOUGHT-THIS")), status=400)
        if not self.outside.gumroad.asked:
            raise NotPrepared(f"it asks another server than {self.outside.gumroad.url} about licence keys")
        expect("licenseKey" in refusal.message, f"it does not name the field: {refusal}")
        expect(self.bought() == [], "it bought something")

    def pay_by_licence(self) -> None:
        """Pay with a licence key: confirmed, and the term is paid."""
        key = "-".join(os.urandom(4).hex().upper() for _ in range(4))
        self.outside.sell(key, usd=self.price)
        bought = self.pods.api.create_subscription(self.licence(key))["subscription"]
        expect(set(bought) == SUBSCRIPTION, f"other fields: {set(bought) ^ SUBSCRIPTION}")
        expect((bought["status"], bought["agentId"]) == ("active", self.agent_id), f"not active: {bought}")
        expect(bought["licenseKey"] == key, "another licence key")
        expect(self.bought() == [bought], "it is not listed as it was bought")
        self.confirmed("gumroad", till=bought["currentPeriodEnd"], subscription_id=bought["id"])

    def order_in_usdt(self) -> None:
        """Order a month more in usdt: an address of the agent's own."""
        body: types.CreateCryptoOrderRequest = {"agentId": self.agent_id, "asset": "usdt", "period": "monthly"}
        placed = self.pods.api.create_crypto_order(body)
        self.order, self.payment = placed["order"], placed["payment"]
        expect(set(self.order) == ORDER, f"other fields: {set(self.order) ^ ORDER}")
        usdt = self.outside.chain.usdt
        expect(Decimal(self.order["amount"]) == Decimal(str(self.price)) * 10**usdt.decimals, f"to pay: {self.order}")
        if self.payment["tokenContract"].lower() != usdt.address.lower():
            raise NotPrepared(f"its usdt is another than that on this demo's chain, {usdt.address}")
        expect(self.pods.api.create_crypto_order(body)["order"] == self.order, "asked again, it is another order")

    def pay_in_usdt(self) -> None:
        """Send it on the chain: seen, and not paid before it is final."""
        self.paid_by = self.outside.chain.usdt.send(self.payment["address"], int(self.payment["amount"]))
        self.wait_for("the transfer is not seen", lambda placed: placed["payment"]["seen"] == self.order["amount"])
        expect(self.order["status"] == "pending", f"it counts a transfer that may still be undone: {self.order}")

    def settle(self) -> None:
        """Once the chain calls it final it is confirmed: a month later."""
        self.outside.chain.final()
        self.wait_for("the order is not paid", lambda placed: placed["order"]["status"] == "paid")
        expect(self.order["txHash"] == self.paid_by, f"another transfer: {self.order['txHash']}, not {self.paid_by}")
        expect(self.order["paidAt"], f"paid, and not when: {self.order}")
        before, bought = self.paid_till, self.bought()
        expect(len(bought) == 1, f"more than one subscription: {bought}")
        self.confirmed("usdt", till=bought[0]["currentPeriodEnd"], subscription_id=bought[0]["id"], skip=1)
        more = datetime.fromisoformat(self.paid_till) - datetime.fromisoformat(before)
        expect(MONTH[0] <= more <= MONTH[1], f"{more} more instead of a month")

    # Helpers of the steps.

    def licence(self, key: str) -> types.CreateSubscriptionRequest:
        return {"agentId": self.agent_id, "provider": "gumroad", "period": "monthly", "licenseKey": key}

    def bought(self) -> list[types.Subscription]:
        return [one for one in self.pods.api.each_of_subscriptions() if one["id"] not in self.old]

    def term(self) -> types.AgentTerm:
        found = self.pods.api.get_agent_term(self.agent_id)["term"]
        expect(set(found) == TERM, f"other fields: {set(found) ^ TERM}")
        return found

    def confirmed(self, provider: str, *, till: str, subscription_id: str, skip: int = 0) -> None:
        """Check that the event and the term both say that the payment is confirmed."""
        data = {"subscriptionId": subscription_id, "provider": provider, "tier": TIER, "period": "monthly"}
        came(self.receiver, "payment.confirmed", {**data, "paidTill": till}, skip=skip)
        term = self.term()
        expect((term["mode"], term["paidTill"]) == ("paid", till), f"not paid until {till}: {term}")
        expect(term["stopsAt"] is None and term["deletesAt"] is None, f"paid, and yet to be stopped: {term}")
        self.paid_till = till

    def wait_for(self, otherwise: str, reached: Callable[[types.CryptoOrderEnvelope], bool]) -> None:
        """Poll the order until `reached` is true. Raises Wrong with the text `otherwise`."""
        placed = None
        for _ in every(0.2, SCAN_SECONDS):
            placed = self.pods.api.get_crypto_order(self.order["id"])
            self.order = placed["order"]
            if reached(placed):
                return
        raise Wrong(f"{otherwise} within {SCAN_SECONDS} s: {placed}")

"""The objects at Stripe, and the actions of customers, banks and time there. `stripe_server` is the API for them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import stripe
from dateutil.relativedelta import relativedelta

from tests.doubles.stripe_protocol import Json, StripeRefusal, check_fields, missing

SHAPES: dict[str, type] = {
    "customer": stripe.Customer,
    "checkout.session": stripe.checkout.Session,
    "subscription": stripe.Subscription,
    "invoice": stripe.Invoice,
    "charge": stripe.Charge,
    "refund": stripe.Refund,
    "dispute": stripe.Dispute,
}
HOUR = 3_600
RETRIES = 86_400 * 3
PAGE = "https://invoice.stripe.example/i/"


class StripeObjects:
    """`emit` is called with each event, in the order of the events."""

    def __init__(self, emit: Callable[[Json], None]) -> None:
        self.objects: dict[str, Json] = {}
        self.events: list[Json] = []
        self.lock = threading.RLock()
        self.tax_percent: float = 0
        self.sells_in = ""  # a currency other than the price's
        self._emit = emit
        self._numbers = itertools.count(1)

    def new(self, prefix: str, kind: str, **fields: Any) -> Json:
        name = f"{prefix}_{'test_' if prefix == 'cs' else ''}{next(self._numbers):024d}"
        made = {"id": name, "object": kind, "created": now(), **fields}
        if kind in SHAPES:
            check_fields(SHAPES[kind], made)
        self.objects[name] = made
        return made

    def get(self, name: str, kind: str) -> Json:
        found = self.objects.get(name)
        if found is None or found["object"] != kind:
            raise missing(kind, name)
        return found

    def all(self, kind: str) -> list[Json]:
        return [one for one in self.objects.values() if one["object"] == kind]

    def happen(self, kind: str, what: Json) -> Json:
        """Record an event with the object in its present state."""
        event = {
            "id": f"evt_{next(self._numbers):024d}",
            "object": "event",
            "api_version": stripe.api_version,
            "created": now(),
            "type": kind,
            "data": {"object": {**what}},
            "livemode": False,
            "pending_webhooks": 1,
        }
        self.events.append(event)
        self._emit(event)
        return event

    # Checkout.

    def pay(self, session_id: str) -> Json:
        """The customer pays with a good card, 3-D Secure included. Returns the subscription."""
        with self.lock:
            session = self.get(session_id, "checkout.session")
            if session["status"] != "open" or session["expires_at"] <= now():
                raise StripeRefusal("This Checkout Session is no longer open")
            subscription = self._subscribe(session)
            session.update(status="complete", payment_status="paid", subscription=subscription["id"], url=None)
            self.happen("customer.subscription.created", subscription)
            invoice = self._bill(subscription, reason="subscription_create")
            session["invoice"] = invoice["id"]
            self.settle(invoice["id"])
            self.happen("checkout.session.completed", session)
            return subscription

    def decline(self, session_id: str) -> StripeRefusal:
        """The bank refuses, or the customer leaves at 3-D Secure: the form stays open, and nothing else happens."""
        self.get(session_id, "checkout.session")
        return StripeRefusal("Your card was declined.", status=402, kind="card_error", code="card_declined")

    def _subscribe(self, session: Json) -> Json:
        line, data = session["_line"], session["_data"]
        end = after(now(), line["price_data"]["recurring"]["interval"])
        product = self.new("prod", "product", name=line["price_data"]["product_data"]["name"])
        item = {
            "id": f"si_{next(self._numbers):024d}",
            "object": "subscription_item",
            "current_period_start": now(),
            "current_period_end": end,
            "price": self._price({**line["price_data"], "product": product["id"]}),
        }
        subscription = self.new(
            "sub",
            "subscription",
            customer=session["customer"],
            status="active",
            cancel_at_period_end=False,
            cancel_at=None,
            canceled_at=None,
            ended_at=None,
            metadata=data.get("metadata", {}),
            items={"object": "list", "data": [item]},
            latest_invoice=None,
            automatic_tax={"enabled": session["automatic_tax"]["enabled"]},
        )
        subscription["_interval"] = line["price_data"]["recurring"]["interval"]
        return subscription

    def _price(self, data: Json) -> Json:
        """A price made from `price_data`; its product must exist."""
        self.get(data["product"], "product")
        return {
            "id": f"price_{next(self._numbers):024d}",
            "object": "price",
            "product": data["product"],
            "unit_amount": int(data["unit_amount"]),
            "currency": data["currency"],
            "recurring": {"interval": data["recurring"]["interval"], "interval_count": 1},
            "tax_behavior": data["tax_behavior"],
        }

    def reprice(self, subscription_id: str, change: Json) -> Json:
        """Change the price without proration: paid time stays, and the next invoice has the new price."""
        with self.lock:
            subscription = self.get(subscription_id, "subscription")
            if subscription["status"] == "canceled":
                raise missing("subscription", subscription_id)
            item = subscription["items"]["data"][0]
            if change["id"] != item["id"]:
                raise missing("subscription_item", change["id"])
            price = self._price(change["price_data"])
            if price["recurring"]["interval"] != subscription["_interval"]:
                raise StripeRefusal("Stripe would begin another period at once")
            item["price"] = price
            self.happen("customer.subscription.updated", subscription)
            return subscription

    # Time passes.

    def period_ends(self, subscription_id: str) -> Json:
        """Start the next period; its invoice is a draft for an hour. Returns the invoice."""
        with self.lock:
            subscription = self.get(subscription_id, "subscription")
            if subscription["status"] == "canceled":
                raise StripeRefusal("This subscription is canceled")
            item = subscription["items"]["data"][0]
            if subscription["cancel_at_period_end"]:
                return self.end(subscription_id)
            start = item["current_period_end"]
            item.update(current_period_start=start, current_period_end=after(start, subscription["_interval"]))
            invoice = self._bill(subscription, reason="subscription_cycle")
            self.happen("invoice.created", invoice)
            self.happen("customer.subscription.updated", subscription)
            return invoice

    def renew(self, subscription_id: str) -> Json:
        """End a period and charge the card for the next one. Returns the invoice."""
        invoice = self.period_ends(subscription_id)
        self.settle(invoice["id"])
        return invoice

    def fail(self, subscription_id: str, *, action: bool = False) -> Json:
        """End a period, but the card is not charged (`action`: the bank wants 3-D Secure). Returns the invoice."""
        invoice = self.period_ends(subscription_id)
        self.refuse(invoice["id"], action=action)
        return invoice

    def refuse(self, invoice_id: str, *, action: bool = False) -> None:
        with self.lock:
            invoice = self.get(invoice_id, "invoice")
            invoice.update(status="open", attempted=True, next_payment_attempt=now() + RETRIES)
            invoice["attempt_count"] += 1
            subscription = self.get(_subscription_of(invoice), "subscription")
            subscription["status"] = "past_due"
            self.happen("invoice.payment_failed", invoice)
            if action:
                self.happen("invoice.payment_action_required", invoice)
            self.happen("customer.subscription.updated", subscription)

    def settle(self, invoice_id: str, *, off_stripe: bool = False) -> Json:
        """Charge the card for an invoice, at once or at a later try. Returns the charge."""
        with self.lock:
            invoice = self.get(invoice_id, "invoice")
            intent = self.new("pi", "payment_intent", amount=invoice["total"], customer=invoice["customer"])
            charge = self._charge(invoice, intent)
            paid = {"object": "invoice_payment", "invoice": invoice["id"], "status": "paid", "is_default": True}
            paid |= {
                "amount_paid": invoice["total"],
                "payment": {"type": "payment_intent", "payment_intent": intent["id"]},
            }
            invoice["_payments"] = [] if off_stripe else [paid]
            invoice.update(status="paid", amount_paid=invoice["total"], amount_remaining=0, attempted=True)
            invoice["amount_paid_off_stripe"] = invoice["total"] if off_stripe else 0
            invoice["attempt_count"] += 1
            invoice["status_transitions"]["paid_at"] = now()
            subscription = self.get(_subscription_of(invoice), "subscription")
            self.happen("charge.succeeded", charge)
            self.happen("invoice.paid", invoice)
            if subscription["status"] == "past_due":
                subscription["status"] = "active"
                self.happen("customer.subscription.updated", subscription)
            return charge

    def _charge(self, invoice: Json, intent: Json) -> Json:
        charge = self.new(
            "ch",
            "charge",
            amount=invoice["total"],
            amount_refunded=0,
            currency=invoice["currency"],
            customer=invoice["customer"],
            payment_intent=intent["id"],
            paid=True,
            refunded=False,
            disputed=False,
            status="succeeded",
        )
        intent["latest_charge"] = charge["id"]
        return charge

    def _bill(self, subscription: Json, *, reason: str) -> Json:
        price = subscription["items"]["data"][0]["price"]
        total = price["unit_amount"]
        invoice = self.new(
            "in",
            "invoice",
            customer=subscription["customer"],
            status="draft",
            billing_reason=reason,
            currency=self.sells_in or price["currency"],
            total=total,
            amount_due=total,
            amount_paid=0,
            amount_paid_off_stripe=0,
            amount_remaining=total,
            attempt_count=0,
            attempted=False,
            hosted_invoice_url=None,
            parent={
                "type": "subscription_details",
                "subscription_details": {
                    "subscription": subscription["id"],
                    "metadata": dict(subscription["metadata"]),
                },
            },
            status_transitions={"paid_at": None, "finalized_at": None},
            total_taxes=self._taxes(total) if subscription["automatic_tax"]["enabled"] else [],
        )
        invoice["hosted_invoice_url"] = f"{PAGE}{invoice['id']}"
        invoice["_payments"] = []
        subscription["latest_invoice"] = invoice["id"]
        return invoice

    def _taxes(self, total: int) -> list[Json]:
        """The tax contained in the total, in the format of Stripe Tax."""
        tax = round(total * self.tax_percent / (100 + self.tax_percent))
        shown = {"type": "tax_rate_details", "tax_behavior": "inclusive", "taxability_reason": "standard_rated"}
        rate = self.new("txr", "tax_rate", percentage=self.tax_percent, effective_percentage=self.tax_percent)
        return [{**shown, "amount": tax, "taxable_amount": total - tax, "tax_rate_details": {"tax_rate": rate["id"]}}]

    # Ends.

    def forget(self, customer_id: str) -> Json:
        """Delete the customer: its subscriptions end at once, and only its id remains."""
        with self.lock:
            self.get(customer_id, "customer")
            for one in self.all("subscription"):
                if one["customer"] == customer_id and one["status"] != "canceled":
                    self.end(one["id"])
            del self.objects[customer_id]
            return {"id": customer_id, "object": "customer", "deleted": True}

    def end(self, subscription_id: str) -> Json:
        """Cancel at once: by us, in the dashboard, in the portal, or because nobody paid."""
        with self.lock:
            subscription = self.get(subscription_id, "subscription")
            if subscription["status"] == "canceled":
                raise missing("subscription", subscription_id)
            subscription.update(status="canceled", canceled_at=now(), ended_at=now())
            self.happen("customer.subscription.deleted", subscription)
            return subscription

    def cancel_in_portal(self, subscription_id: str, *, back: bool = False) -> None:
        """The customer cancels at the period's end; with `back` the customer takes this back."""
        with self.lock:
            subscription = self.get(subscription_id, "subscription")
            item = subscription["items"]["data"][0]
            subscription.update(cancel_at_period_end=not back, canceled_at=None if back else now())
            subscription["cancel_at"] = None if back else item["current_period_end"]
            self.happen("customer.subscription.updated", subscription)

    # Money that goes back.

    def charge_of(self, invoice_id: str) -> Json:
        invoice = self.get(invoice_id, "invoice")
        intent = self.objects[invoice["_payments"][0]["payment"]["payment_intent"]]
        return self.objects[intent["latest_charge"]]

    def refund(self, charge_id: str, cents: int | None = None) -> Json:
        """Refund by the dashboard or by an API call: everything that is left, or a part. Returns the refund."""
        with self.lock:
            charge = self.get(charge_id, "charge")
            left = charge["amount"] - charge["amount_refunded"]
            amount = left if cents is None else cents
            if left == 0:
                raise StripeRefusal(f"Charge {charge_id} has already been refunded.", code="charge_already_refunded")
            if amount > left:
                raise StripeRefusal(f"Refund amount is greater than unrefunded amount on charge ({left})")
            charge["amount_refunded"] += amount
            charge["refunded"] = charge["amount_refunded"] == charge["amount"]
            made = self.new(
                "re",
                "refund",
                amount=amount,
                charge=charge_id,
                currency=charge["currency"],
                payment_intent=charge["payment_intent"],
                status="succeeded",
            )
            self.happen("charge.refunded", charge)
            return made

    def fail_refund(self, refund_id: str, *, status: str = "failed") -> None:
        """The refund fails at the bank, so the seller has the money again. `status` may also be `canceled`."""
        with self.lock:
            refund = self.get(refund_id, "refund")
            refund["status"] = status
            charge = self.get(refund["charge"], "charge")
            charge["amount_refunded"] -= refund["amount"]
            charge["refunded"] = False
            self.happen("refund.updated" if status == "canceled" else "refund.failed", refund)

    def dispute(self, charge_id: str, *, cents: int | None = None, status: str = "needs_response") -> Json:
        """The card's owner disputes the charge; the bank takes the money for the time being."""
        with self.lock:
            charge = self.get(charge_id, "charge")
            charge["disputed"] = True
            made = self.new(
                "dp",
                "dispute",
                amount=charge["amount"] if cents is None else cents,
                charge=charge_id,
                currency=charge["currency"],
                payment_intent=charge["payment_intent"],
                reason="fraudulent",
                status=status,
            )
            self.happen("charge.dispute.created", made)
            return made

    def decide(self, dispute_id: str, status: str) -> None:
        """Close a dispute; `status` is `won` or `lost`."""
        with self.lock:
            found = self.get(dispute_id, "dispute")
            found["status"] = status
            self.happen("charge.dispute.closed", found)


def now() -> int:
    return int(time.time())


def after(moment: int, interval: str) -> int:
    months = {"month": 1, "year": 12}[interval]
    return int((datetime.fromtimestamp(moment, UTC) + relativedelta(months=months)).timestamp())


def _subscription_of(invoice: Json) -> str:
    return str(invoice["parent"]["subscription_details"]["subscription"])

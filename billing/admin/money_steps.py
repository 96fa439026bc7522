"""Steps for orders, charges and money that bought nothing. Each has its own page and needs a reason."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet

from billing import corrections, decisions, part_refunds, sums, verification
from billing.admin.steps import DaysForm, MoneyStep, VerifyTerms, number
from billing.models import Deposit, Payment, Subscription
from config.admin_steps import Given, Logged, ReasonForm


class VerifySubscriptions(MoneyStep):
    name, title, button, done = "verify", "Verify at the provider now", "Verify", "The provider is asked"
    model = Subscription
    related, deferred = ("user",), ("license_key",)
    material = ("subscription", "status", "paid until")
    warnings = VerifyTerms.warnings
    rule = staticmethod(verification.ask)

    def shown(self, row: Subscription) -> dict[str, str]:
        return {
            "subscription": row.pk,
            "agent": row.agent_id,
            "owner": str(row.user),
            "provider": str(row.provider),
            "status": row.status,
            "price": f"{row.price_usd} USD",
            "paid until": stamp(row.current_period_end),
        }


class RefundPayments(MoneyStep):
    """Refund one payment. Other payments keep their time."""

    name, title, button, done = "refund", "Refund: end the time that it bought", "Refund", "Refunded"
    counted = True
    model = Payment
    related = ("user",)
    material = ("payment", "agent", "amount")
    warnings: ClassVar[tuple[str, ...]] = (
        "The rest of the time that this payment bought ends now. Time that other payments bought follows at once. This"
        " cannot be undone.",
        "Stars, and what a card paid through Stripe, are sent back automatically. Refund cards at Gumroad or Lemon"
        " Squeezy, and send stablecoins from your wallet. Note these refunds here even if no time is left.",
    )
    rule = staticmethod(corrections.refund_payment)

    def shown(self, row: Payment) -> dict[str, str]:
        return {
            "payment": f"{row.provider} {row.external_id}",
            "at": stamp(row.at),
            "agent": row.agent_id,
            "owner": str(row.user),
            "plan": f"{row.tier}, {row.period}",
            "price": f"{row.price_usd} USD",
            "amount": sums.moved(row) if row.amount is not None else "unknown",
        }


class PartForm(ReasonForm):
    field_order = ("amount", "reason")

    amount = forms.CharField(max_length=40, label="Amount, such as 2.50")


class RefundPart(RefundPayments):
    name, title, button, done = "refund_part", "A part was refunded: note it in the ledger", "Note it", "Noted"
    form = PartForm
    counted, alone = False, True
    warnings = (
        "Refund it first, at its provider or from a wallet: this step sends no money. The time stays, but it is worth"
        " less if the plan changes. To take the time back, refund the whole payment.",
    )

    def take(self, row: Payment, *, given: Given) -> Logged | None:
        amount = sums.units(row, given.fields["amount"])
        back = part_refunds.refund_part(row, amount=amount, reason=given.reason, actor=given.actor, now=given.now)
        return [(row, f"{self.done}: {sums.moved(back)}: {given.reason}")]


class Decide(MoneyStep):
    """Decide about money that bought nothing. Each decision is made once."""

    def __init__(self, model: type[Deposit | Payment]) -> None:
        self.model = model

    def shown(self, row: Any) -> dict[str, str]:
        decided = "yes" if hasattr(row, "decision") else "no"
        if isinstance(row, Payment):
            paid, name = sums.moved(row), f"{row.provider} {row.external_id}"
            agent_id, order_id = row.agent_id, row.order_id
        else:
            paid, name = f"{row.amount} {row.asset} (smallest units)", row.tx_hash
            agent_id, order_id = row.deposit_address.agent_id, row.order_id
        return {
            "money": name,
            "amount": paid,
            "agent": agent_id,
            "order": order_id or "none",
            "why it bought nothing": row.unapplied,
            "decided": decided,
        }

    def _all(self) -> QuerySet[Any]:
        related = ("decision",) if self.model is Payment else ("decision", "deposit_address")
        return super()._all().select_related(*related)


class MoneyDaysForm(DaysForm):
    agent = forms.CharField(required=False, max_length=40, label="Agent (only for another agent of the same account)")


class CreditMoney(Decide):
    name, title, button, done = "credit", "Credit days for it", "Credit", "Credited"
    form = MoneyDaysForm
    warnings = (
        "The agent gets this number of days of its plan, for the money that bought nothing. This decision is final.",
    )

    def take(self, row: Any, *, given: Given) -> Logged | None:
        days, to = number(given.fields["days"]), given.fields["agent"]
        decisions.credit(row, days=days, agent_id=to, reason=given.reason, actor=given.actor, now=given.now)
        return [(row, f"{self.done}: {days} days{f' on {to}' if to else ''}: {given.reason}")]


class ReturnMoney(Decide):
    """Note that money was sent back from a wallet or at the provider. This step sends no money."""

    name, title, button, done = "returned", "It was sent back: note it in the ledger", "Note it", "Noted"
    counted = True
    warnings = (
        "Send it back first: this step sends no money. The ledger will say that all of it went back. This cannot be"
        " undone.",
    )
    rule = staticmethod(decisions.send_back)


class CloseMoney(Decide):
    name, title, button, done = "close", "Close: keep the money", "Close", "Closed"
    counted = True
    warnings = ("The customer gets nothing for the money. This cannot be undone.",)
    rule = staticmethod(decisions.close)


def stamp(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "never"

"""The admin pages of the ledger, of subscriptions, orders and decisions."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from billing import decisions, licence_cards
from billing.admin import totals
from billing.admin.base import Corrected, RowsByRule
from billing.admin.money_steps import (
    CloseMoney,
    CreditMoney,
    RefundPart,
    RefundPayments,
    ReturnMoney,
    VerifySubscriptions,
)
from billing.models import Decision, Order, Payment, Subscription
from billing.vocabulary import CONFIRMED
from config.admin_sections import RepairButton, WithSections
from config.admin_steps import Step
from config.long_lists import WhenFilter
from config.read_only import WrittenByRules

MASKED = "•••••• (set)"


class StillCharged(RowsByRule):
    title, parameter_name = "card", "card"
    rules = {"1": ("still charged after a cancellation", lambda: licence_cards.late(now=timezone.now()))}


@admin.register(Subscription)
class SubscriptionAdmin(Corrected):
    list_display = ("id", "agent", "user", "status", "provider", "tier", "period", "current_period_end", "created_at")
    list_filter = ("status", "provider", "tier", "period", ("unknown_since", admin.EmptyFieldListFilter), StillCharged)
    list_select_related = ("agent", "user")
    search_fields = ("id", "agent__id", "user__email", "^external_ref")
    exclude = ("license_key", "license_fingerprint")
    readonly_fields = ("licence",)
    steps = (VerifySubscriptions(),)

    @admin.display(description="licence key")
    def licence(self, row: Subscription) -> str:
        return MASKED if row.license_fingerprint else ""


class BoughtNothing(RowsByRule):
    title, parameter_name = "decision", "open"
    rules = {
        "1": ("waiting for an operator or for a refund", Payment.objects.open),
        "over": ("above the price", decisions.overpaid),
        "gone": ("disappeared from the chain", decisions.vanished),
    }


def _refund(row: Payment) -> str:
    """Why the payment is not refunded. Its rule has the last word (`corrections.refund_payment`)."""
    if row.kind not in CONFIRMED:
        return "Only payments are refunded."
    if row.unapplied:
        return "It bought nothing: decide about it."
    return "" if _is(row, Payment.objects.not_returned()) else "It went back already."


def _decide(row: Payment) -> str:
    waiting = (Payment.objects.open(), decisions.overpaid(), decisions.vanished())
    return "" if any(_is(row, rows) for rows in waiting) else "There is nothing to decide about it."


def _is(row: Payment, rows: QuerySet[Payment]) -> bool:
    return rows.filter(pk=row.pk).exists()


def _buttons() -> list[RepairButton]:
    deciding: list[tuple[Step[Any], str]] = [
        (CreditMoney(Payment), "Days, for money that bought nothing."),
        (ReturnMoney(Payment), "You sent it back: note it."),
        (CloseMoney(Payment), "Keep the money, give nothing."),
    ]
    return [
        RepairButton(step=RefundPayments(), model=Payment, about="Ends the time that it bought.", why_not=_refund),
        RepairButton(
            step=RefundPart(), model=Payment, label="Note a part", about="A part was refunded.", why_not=_refund
        ),
        *(RepairButton(step=step, model=Payment, about=about, why_not=_decide) for step, about in deciding),
    ]


@admin.register(Payment)
class PaymentAdmin(WithSections, Corrected):
    totals = totals.PAYMENTS
    steps = (RefundPayments(), RefundPart(), CreditMoney(Payment), ReturnMoney(Payment), CloseMoney(Payment))
    repairs, repairs_title = _buttons(), "Corrections"
    list_display = ("at", "kind", "provider", "external_id", "agent", "price_usd", "moved", "unapplied")
    list_filter = (BoughtNothing, "kind", "provider", ("at", WhenFilter), "late")
    list_select_related = ("agent",)
    search_fields = ("id", "^external_id", "agent__id", "user__email")
    search_help_text = "Id of a payment or an agent, the provider's id, or the owner's e-mail"
    sortable_by = ("at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        rows: QuerySet[Payment] = super().get_queryset(request).annotate(decimals=totals.ORDERED)
        return rows

    @admin.display(description="amount")
    def moved(self, row: Any) -> str:
        """The money as people read it, as in the sums below the list."""
        if row.amount is None:
            return "-"
        return totals.PAYMENTS.text("amount", {"currency": row.currency, "decimals": row.decimals}, row.amount)


@admin.register(Order)
class OrderAdmin(WrittenByRules):
    totals = totals.ORDERS
    list_display = ("id", "agent", "user", "provider", "tier", "period", "price_usd", "status", "created_at", "paid_at")
    list_filter = ("status", "provider", "tier", "period", ("created_at", WhenFilter))
    list_select_related = ("agent", "user")
    sortable_by = ("created_at",)
    search_fields = ("id", "agent__id", "user__email")


@admin.register(Decision)
class DecisionAdmin(WrittenByRules):
    list_display = ("at", "deposit", "payment", "credit", "actor", "reason")
    list_filter = (("credit", admin.EmptyFieldListFilter), ("at", WhenFilter))
    list_select_related = ("deposit", "payment", "credit")
    search_fields = ("^deposit__tx_hash", "^payment__external_id", "actor", "reason")

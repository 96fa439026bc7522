"""The ledger, what it bought, and what was ordered."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from billing import decisions, verification
from billing.admin.base import Corrected, CreditForm, WrittenByRules, actor_of, agent_in, days_in
from billing.models import Decision, Order, Payment, Subscription

MASKED = "•••••• (set)"


@admin.register(Subscription)
class SubscriptionAdmin(Corrected):
    list_display = ("id", "agent", "user", "status", "provider", "tier", "period", "current_period_end", "created_at")
    list_filter = ("status", "provider", "tier", "period", ("unknown_since", admin.EmptyFieldListFilter))
    list_select_related = ("agent", "user")
    search_fields = ("id", "agent__id", "user__email", "external_ref")
    exclude = ("license_key", "license_fingerprint")
    readonly_fields = ("licence",)
    actions = ("verify",)

    @admin.display(description="licence key")
    def licence(self, row: Subscription) -> str:
        return MASKED if row.license_fingerprint else ""

    @admin.action(description="Verify at its provider now", permissions=["correct"])
    def verify(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(
            request,
            rows,
            lambda row, why: verification.ask(row, reason=why, actor=actor, now=now),
            done="its provider is asked",
        )


class Decided(Corrected):
    """Money that may have bought nothing: what operators do about it, each once."""

    action_form = CreditForm
    actions = ("credit", "close")

    @admin.action(description="Credit days for it", permissions=["correct"])
    def credit(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        days, to, actor, now = days_in(request), agent_in(request), actor_of(request), timezone.now()
        self.each(
            request,
            rows,
            lambda row, why: decisions.credit(row, days=days, agent_id=to, reason=why, actor=actor, now=now),
        )

    @admin.action(description="Close: it was sent back, or stays with us", permissions=["correct"])
    def close(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(request, rows, lambda row, why: decisions.close(row, reason=why, actor=actor, now=now))


class BoughtNothing(admin.SimpleListFilter):
    title = "bought nothing"
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("1", "waits for an operator or for its way back"), ("over", "was more than was asked for")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Payment]) -> QuerySet[Payment]:
        if self.value() == "over":
            return queryset.filter(pk__in=decisions.overpaid().values("pk"))
        return queryset.filter(pk__in=Payment.objects.open().values("pk")) if self.value() else queryset


@admin.register(Payment)
class PaymentAdmin(Decided):
    list_display = ("at", "kind", "provider", "external_id", "agent", "price_usd", "amount", "currency", "unapplied")
    list_filter = (BoughtNothing, "kind", "provider", "late")
    list_select_related = ("agent",)
    search_fields = ("id", "external_id", "agent__id", "user__email")
    date_hierarchy = "at"


@admin.register(Order)
class OrderAdmin(WrittenByRules):
    list_display = ("id", "agent", "user", "provider", "tier", "period", "price_usd", "status", "created_at", "paid_at")
    list_filter = ("status", "provider", "tier", "period")
    list_select_related = ("agent", "user")
    search_fields = ("id", "agent__id", "user__email")


@admin.register(Decision)
class DecisionAdmin(WrittenByRules):
    list_display = ("at", "deposit", "payment", "credit", "actor", "reason")
    list_filter = (("credit", admin.EmptyFieldListFilter),)
    list_select_related = ("deposit", "payment", "credit")
    search_fields = ("deposit__tx_hash", "payment__external_id", "actor", "reason")
    date_hierarchy = "at"

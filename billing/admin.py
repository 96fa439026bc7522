"""Money in the console: the ledger, what it bought, what was ordered; and what operators do by hand, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from agents.models import Agent
from billing import corrections, standing
from billing.models import AgentTerm, Lapse, Order, Payment, StarsOrder, StrayCharge, Subscription
from billing.stars import refunds
from config.errors import ServiceError

REASON_LENGTH = 500
ROWS = 50
PERMISSION = "billing.correct_term"
MASKED = "•••••• (set)"

Correction = Callable[[Agent, str], object]


class WrittenByRules(admin.ModelAdmin[Any]):
    """Rows that only rules write: to see, to find, not to touch."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Newest(admin.TabularInline[Any, Any]):
    """The latest rows of an agent."""

    extra = 0
    can_delete = False
    show_change_link = True
    max_num = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)

        class Bounded(formset):  # type: ignore[misc,valid-type]  # made by the line above
            def get_queryset(self) -> QuerySet[Any]:
                rows: QuerySet[Any] = super().get_queryset()
                return rows[:ROWS]

        return Bounded


class SubscriptionInline(Newest):
    model = Subscription
    fk_name = "agent"
    fields = ("id", "status", "provider", "tier", "period", "current_period_end", "expired_at", "created_at")
    readonly_fields = fields


class PaymentInline(Newest):
    model = Payment
    fk_name = "agent"
    fields = ("at", "kind", "provider", "external_id", "price_usd", "paid_till", "unapplied", "actor", "reason")
    readonly_fields = fields


class CorrectionForm(ActionForm):
    reason = forms.CharField(required=False, max_length=REASON_LENGTH, strip=True, label="Reason")
    days = forms.CharField(required=False, max_length=5, label="Days (to credit)")  # checked by the rule, aloud


@admin.register(AgentTerm)
class AgentTermAdmin(WrittenByRules):
    list_display = ("id", "name", "user", "tier", "status", "paid", "entitled_until", "trial_notice_day", "term_due_at")
    list_filter = ("paid", "trial_notice_day", "status", "tier")
    list_select_related = ("user",)
    search_fields = ("id", "name", "user__email", "user__id")
    ordering = ("-created_at", "-id")
    fields = (
        "id",
        "name",
        "user",
        "tier",
        "status",
        "term",
        "paid",
        "entitled_until",
        "trial_notice_day",
        "term_due_at",
    )
    readonly_fields = ("term",)
    inlines = (SubscriptionInline, PaymentInline)
    action_form = CorrectionForm
    actions = ("grant", "revoke", "credit", "refund")

    def has_correct_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)

    @admin.display(description="term")
    def term(self, agent: AgentTerm) -> str:
        now = standing.term(agent, now=timezone.now())
        dates = {"paid till": now.paid_till, "stops": now.stops_at, "deleted": now.deletes_at}
        told = [f"{name} {moment:%Y-%m-%d %H:%M} UTC" for name, moment in dates.items() if moment]
        return ", ".join([str(now.mode), *told])

    @admin.action(description="Grant internal (without end)", permissions=["correct"])
    def grant(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), _actor(request)
        self._each(request, agents, lambda agent, why: corrections.grant(agent, reason=why, actor=actor, now=now))

    @admin.action(description="Revoke the grant", permissions=["correct"])
    def revoke(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), _actor(request)
        self._each(request, agents, lambda agent, why: corrections.revoke(agent, reason=why, actor=actor, now=now))

    @admin.action(description="Credit days", permissions=["correct"])
    def credit(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), _actor(request)
        days = _days(request)
        self._each(
            request,
            agents,
            lambda agent, why: corrections.credit(agent, days=days, reason=why, actor=actor, now=now),
        )

    @admin.action(description="Refund: end what is paid now", permissions=["correct"])
    def refund(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), _actor(request)
        self._each(request, agents, lambda agent, why: corrections.refund(agent, reason=why, actor=actor, now=now))

    def _each(self, request: HttpRequest, agents: QuerySet[AgentTerm], correct: Correction) -> None:
        reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
        if not reason:
            self.message_user(request, "Nothing was done: give the reason beside the action.", messages.ERROR)
            return
        for agent in agents:
            try:
                correct(agent, reason)
            except ServiceError as refusal:
                self.message_user(request, f"{agent.pk}: {refusal.message}", messages.ERROR)
            else:
                self.log_change(request, agent, f"{request.POST.get('action')}: {reason}")
                self.message_user(request, f"{agent.pk}: done", messages.SUCCESS)


@admin.register(Subscription)
class SubscriptionAdmin(WrittenByRules):
    list_display = ("id", "agent", "user", "status", "provider", "tier", "period", "current_period_end", "created_at")
    list_filter = ("status", "provider", "tier", "period", ("unknown_since", admin.EmptyFieldListFilter))
    list_select_related = ("agent", "user")
    search_fields = ("id", "agent__id", "user__email", "external_ref")
    exclude = ("license_key", "license_fingerprint")
    readonly_fields = ("licence",)

    @admin.display(description="licence key")
    def licence(self, row: Subscription) -> str:
        return MASKED if row.license_fingerprint else ""


class BoughtNothing(admin.SimpleListFilter):
    title = "bought nothing"
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("1", "waits for an operator or for its way back")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Payment]) -> QuerySet[Payment]:
        return queryset.filter(pk__in=Payment.objects.open().values("pk")) if self.value() else queryset


@admin.register(Payment)
class PaymentAdmin(WrittenByRules):
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


class ReasonForm(ActionForm):
    reason = forms.CharField(required=False, max_length=REASON_LENGTH, strip=True, label="Reason")


class SentBack(WrittenByRules):
    """Charges in stars, which operators may send back."""

    action_form = ReasonForm
    actions = ("send_back",)

    def has_correct_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)

    @admin.action(description="Send the stars back", permissions=["correct"])
    def send_back(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
        if not reason:
            self.message_user(request, "Nothing was done: give the reason beside the action.", messages.ERROR)
            return
        for row in rows[:ROWS]:
            try:
                refunds.ask(row.charge_id or "", reason=reason, actor=_actor(request), now=timezone.now())
            except ServiceError as refusal:
                self.message_user(request, f"{row.pk}: {refusal.message}", messages.ERROR)
                continue
            self.log_change(request, row, f"send back: {reason}")
            self.message_user(request, f"{row.pk}: goes back")


@admin.register(StarsOrder)
class StarsOrderAdmin(SentBack):
    list_display = ("id", "agent", "tier", "period", "amount_stars", "status", "hold_until", "payer_id", "created_at")
    list_filter = ("status", "tier", "period")
    list_select_related = ("agent",)
    search_fields = ("id", "agent__id", "user__email", "charge_id")


@admin.register(StrayCharge)
class StrayChargeAdmin(SentBack):
    list_display = (
        "charge_id",
        "why",
        "amount",
        "currency",
        "order",
        "seen_at",
        "refund_at",
        "refunded_at",
        "attempts",
    )
    list_filter = ("why", ("refunded_at", admin.EmptyFieldListFilter), ("refund_at", admin.EmptyFieldListFilter))
    list_select_related = ("order",)
    search_fields = ("charge_id", "order__id", "payload")


@admin.register(Lapse)
class LapseAdmin(WrittenByRules):
    list_display = ("agent", "mode", "stopped_at", "ended_at")
    list_filter = ("mode", ("ended_at", admin.EmptyFieldListFilter))
    list_select_related = ("agent",)
    search_fields = ("agent__id",)


def _actor(request: HttpRequest) -> str:
    return f"operator:{request.user.pk}"


def _days(request: HttpRequest) -> int:
    """0, which no rule takes, for what is not a number."""
    given = request.POST.get("days", "")
    return int(given) if given.isascii() and given.isdigit() else 0

"""Each agent's term, and what operators do about it."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from billing import corrections, key_moves, standing, verification
from billing.admin.base import (
    Corrected,
    CreditForm,
    Newest,
    WrittenByRules,
    actor_of,
    agent_in,
    days_in,
    once_in,
)
from billing.models import AgentTerm, Lapse, Payment, Subscription


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


@admin.register(AgentTerm)
class AgentTermAdmin(Corrected):
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
    action_form = CreditForm
    actions = ("grant", "revoke", "credit", "refund", "verify", "move")

    @admin.display(description="term")
    def term(self, agent: AgentTerm) -> str:
        now = standing.term(agent, now=timezone.now())
        dates = {"paid till": now.paid_till, "stops": now.stops_at, "deleted": now.deletes_at}
        told = [f"{name} {moment:%Y-%m-%d %H:%M} UTC" for name, moment in dates.items() if moment]
        return ", ".join([str(now.mode), *told])

    @admin.action(description="Grant internal (without end)", permissions=["correct"])
    def grant(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(request, agents, lambda agent, why: corrections.grant(agent, reason=why, actor=actor, now=now))

    @admin.action(description="Revoke the grant", permissions=["correct"])
    def revoke(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(request, agents, lambda agent, why: corrections.revoke(agent, reason=why, actor=actor, now=now))

    @admin.action(description="Credit days", permissions=["correct"])
    def credit(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), actor_of(request)
        days, once = days_in(request), once_in(request)
        self.each(
            request,
            agents,
            lambda agent, why: corrections.credit(agent, days=days, reason=why, actor=actor, now=now, once=once),
        )

    @admin.action(description="Refund: end what is paid now", permissions=["correct"])
    def refund(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(request, agents, lambda agent, why: corrections.refund(agent, reason=why, actor=actor, now=now))

    @admin.action(description="Verify the licence now", permissions=["correct"])
    def verify(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(
            request,
            agents,
            lambda agent, why: verification.ask_about(agent, reason=why, actor=actor, now=now),
            done="its provider is asked",
        )

    @admin.action(description="Move the licence to the agent named", permissions=["correct"])
    def move(self, request: HttpRequest, agents: QuerySet[AgentTerm]) -> None:
        now, actor, taker = timezone.now(), actor_of(request), agent_in(request)
        self.each(request, agents, lambda agent, why: key_moves.move(agent, to=taker, reason=why, actor=actor, now=now))


@admin.register(Lapse)
class LapseAdmin(WrittenByRules):
    list_display = ("agent", "mode", "stopped_at", "ended_at")
    list_filter = ("mode", ("ended_at", admin.EmptyFieldListFilter))
    list_select_related = ("agent",)
    search_fields = ("agent__id",)

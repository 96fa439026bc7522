"""The admin pages of agents' terms, with the steps for them."""

from __future__ import annotations

from django.contrib import admin
from django.utils import timezone

from billing import agent_terms
from billing.admin.base import Corrected, NewestRows
from billing.admin.steps import (
    CreditTerms,
    GrantTerms,
    MoveLicences,
    RefundTerms,
    RevokeTerms,
    VerifyTerms,
    term_line,
)
from billing.admin.term_filters import ContradictionFilter, EndsFilter
from billing.models import AgentTerm, Lapse, NextPlan, Payment, Subscription
from catalog.vocabulary import TierId
from config.long_lists import one_of
from config.read_only import WrittenByRules


class SubscriptionInline(NewestRows):
    model = Subscription
    fk_name = "agent"
    fields = ("id", "status", "provider", "tier", "period", "current_period_end", "expired_at", "created_at")
    readonly_fields = fields


class PaymentInline(NewestRows):
    model = Payment
    fk_name = "agent"
    fields = ("at", "kind", "provider", "external_id", "price_usd", "paid_till", "unapplied", "actor", "reason")
    readonly_fields = fields


@admin.register(AgentTerm)
class AgentTermAdmin(Corrected):
    list_display = ("id", "name", "user", "tier", "status", "paid", "entitled_until", "trial_notice_day", "term_due_at")
    list_filter = ("paid", "status", ("tier", one_of(TierId.choices)), EndsFilter, ContradictionFilter)
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
    steps = (GrantTerms(), RevokeTerms(), CreditTerms(), RefundTerms(), VerifyTerms(), MoveLicences())

    @admin.display(description="term")
    def term(self, agent: AgentTerm) -> str:
        return term_line(agent_terms.term(agent, now=timezone.now()))


@admin.register(NextPlan)
class NextPlanAdmin(WrittenByRules):
    list_display = ("agent", "tier", "price_usd", "chosen_at", "dropped_at")
    list_filter = ("tier", ("dropped_at", admin.EmptyFieldListFilter))
    list_select_related = ("agent",)
    search_fields = ("agent__id", "agent__user__email")


@admin.register(Lapse)
class LapseAdmin(WrittenByRules):
    list_display = ("agent", "mode", "stopped_at", "ended_at")
    list_filter = ("mode", ("ended_at", admin.EmptyFieldListFilter))
    list_select_related = ("agent",)
    search_fields = ("agent__id",)

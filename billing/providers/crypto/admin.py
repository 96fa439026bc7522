"""The admin pages of stablecoins: orders, deposits, sweeps, misplaced money and the state of the chain."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect

from billing import decisions
from billing.admin import totals
from billing.admin.base import PERMISSION, Corrected, RowsByRule, actor_of
from billing.admin.money_steps import CloseMoney, CreditMoney, ReturnMoney
from billing.admin.steps import MoneyStep
from billing.models import ChainState, CryptoOrder, Deposit, DepositAddress, Misplaced, Sweep
from billing.providers.crypto import sweeps, watching
from config import clock
from config.admin_steps import Given, Logged, ReasonForm
from config.errors import ServiceError
from config.long_lists import WhenFilter
from config.read_only import WrittenByRules


class LookAtChain(MoneyStep):
    name, title, button = "look", "Look at the chain now", "Look"
    done = "The chain is being read; reload this page in a moment"
    model = CryptoOrder
    related = ("user",)

    def shown(self, row: CryptoOrder) -> dict[str, str]:
        amount = f"{row.amount} {row.asset}"
        return {"order": row.pk, "agent": row.agent_id, "owner": str(row.user), "status": row.status, "amount": amount}

    def take(self, row: CryptoOrder, *, given: Given) -> Logged | None:
        watching.ask(row, reason=given.reason, actor=given.actor, now=given.now)
        return None


@admin.register(CryptoOrder)
class CryptoOrderAdmin(Corrected):
    list_display = ("id", "agent", "status", "asset", "amount", "seen", "credited", "late", "created_at", "expires_at")
    list_filter = ("status", "asset", "late", "tier", "period")
    list_select_related = ("agent",)
    raw_id_fields = ("agent", "user", "deposit_address")
    search_fields = ("id", "agent__id", "user__email", "^tx_hash", "^deposit_address__address")
    sortable_by = ()
    steps = (LookAtChain(),)


class UndecidedFilter(RowsByRule):
    title, parameter_name = "bought nothing", "open"
    rules = {"1": ("waiting for an operator", decisions.undecided)}


@admin.register(Deposit)
class DepositAdmin(Corrected):
    totals = totals.DEPOSITS
    steps = (CreditMoney(Deposit), ReturnMoney(Deposit), CloseMoney(Deposit))
    list_display = (
        "seen_at",
        "asset",
        "amount",
        "deposit_address",
        "agent",
        "order",
        "unapplied",
        "decision",
        "tx_hash",
    )
    list_filter = (UndecidedFilter, "asset", ("seen_at", WhenFilter))
    list_select_related = ("deposit_address__agent", "order", "decision")
    search_fields = ("^tx_hash", "^sender", "^deposit_address__address", "deposit_address__agent__id", "order__id")
    sortable_by = ("seen_at",)
    ordering = ("-seen_at", "-id")

    @admin.display(description="agent")
    def agent(self, row: Deposit) -> str:
        return row.deposit_address.agent_id


class Sweepable(RowsByRule):
    title, parameter_name = "sweeping", "sweepable"
    rules = {
        "1": (
            "has money that may be swept",
            lambda: sweeps.sweepable(now=timezone.now()).filter(high_waters__balance__gt=0),
        )
    }


@admin.register(DepositAddress)
class DepositAddressAdmin(WrittenByRules):
    list_display = ("address", "agent", "hd_index", "account", "held", "created_at")
    list_filter = (Sweepable,)
    list_select_related = ("agent",)
    search_fields = ("^address", "agent__id", "agent__user__email")
    ordering = ("-created_at", "-id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[DepositAddress]:
        rows: QuerySet[DepositAddress] = super().get_queryset(request).prefetch_related("high_waters")
        return rows

    @admin.display(description="last known balance")
    def held(self, row: DepositAddress) -> str:
        return ", ".join(f"{mark.balance} {mark.asset}" for mark in row.high_waters.all() if mark.balance)


class SweepForm(ReasonForm):
    transaction = forms.CharField(max_length=80, strip=True)


@admin.register(Sweep)
class SweepAdmin(WrittenByRules):
    totals = totals.SWEEPS
    list_display = ("at", "asset", "amount", "deposit_address", "tx_hash", "actor", "reason")
    list_filter = ("asset", ("at", WhenFilter))
    list_select_related = ("deposit_address",)
    search_fields = ("^tx_hash", "^deposit_address__address", "actor")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm(PERMISSION)

    @method_decorator(csrf_protect)
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Record a sweep by its transaction. Amount and address are read from the chain."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = SweepForm(request.POST or None)
        if form.is_valid() and self._recorded(request, form):
            return redirect("admin:billing_sweep_changelist")
        context = {**self.admin_site.each_context(request), "title": "Record a sweep", "opts": self.opts, "form": form}
        return TemplateResponse(request, "admin/billing/sweep/add_form.html", context)

    def _recorded(self, request: HttpRequest, form: SweepForm) -> bool:
        given = form.cleaned_data
        try:
            rows = sweeps.record(given["transaction"], reason=given["reason"], actor=actor_of(request), now=clock.now())
        except ServiceError as refusal:
            form.add_error(None, refusal.message)
            return False
        for row in rows:
            self.log_change(request, row, f"Recorded: {given['reason']}")
            self.message_user(request, f"{row}: recorded", messages.SUCCESS)
        return True


class There(RowsByRule):
    title, parameter_name = "amount", "there"
    rules = {"1": ("still there", lambda: Misplaced.objects.filter(amount__gt=0))}


@admin.register(Misplaced)
class MisplacedAdmin(WrittenByRules):
    totals = totals.MISPLACED
    list_display = ("seen_at", "symbol", "amount", "chain_id", "token", "deposit_address", "agent", "read_at")
    list_filter = (There, "chain_id", "symbol")
    list_select_related = ("deposit_address__agent",)
    search_fields = ("token", "deposit_address__address", "deposit_address__agent__id")

    @admin.display(description="agent")
    def agent(self, row: Misplaced) -> str:
        return row.deposit_address.agent_id


@admin.register(ChainState)
class ChainStateAdmin(WrittenByRules):
    list_display = ("chain_id", "fault", "head", "head_at", "pending_to", "all_to", "read_at", "asked_at")

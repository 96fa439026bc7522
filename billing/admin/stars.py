"""Orders and charges in stars."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from billing.admin.base import Corrected, actor_of
from billing.models import StarsOrder, StrayCharge
from billing.stars import refunds


class SentBack(Corrected):
    """Charges in stars, which operators may send back."""

    actions = ("send_back",)

    @admin.action(description="Send the stars back", permissions=["correct"])
    def send_back(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        now, actor = timezone.now(), actor_of(request)
        self.each(
            request,
            rows,
            lambda row, why: refunds.ask(row.charge_id or "", reason=why, actor=actor, now=now),
            done="goes back",
        )


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

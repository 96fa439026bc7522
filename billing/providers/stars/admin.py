"""The admin pages of orders and charges in Telegram Stars."""

from __future__ import annotations

from django.contrib import admin

from billing.admin.base import Corrected
from billing.admin.money_steps import SendOrdersBack, SendStraysBack
from billing.models import StarsOrder, StrayCharge


@admin.register(StarsOrder)
class StarsOrderAdmin(Corrected):
    steps = (SendOrdersBack(),)
    list_display = ("id", "agent", "tier", "period", "amount_stars", "status", "hold_until", "payer_id", "created_at")
    list_filter = ("status", "tier", "period")
    list_select_related = ("agent",)
    search_fields = ("id", "agent__id", "user__email", "charge_id")


@admin.register(StrayCharge)
class StrayChargeAdmin(Corrected):
    steps = (SendStraysBack(),)
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

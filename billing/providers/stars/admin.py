"""The admin pages of orders and charges in Telegram Stars."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin

from billing.admin import totals
from billing.admin.base import Corrected
from billing.admin.money_steps import stamp
from billing.admin.steps import MoneyStep
from billing.models import StarsOrder, StrayCharge
from billing.providers.stars import refunds
from config.admin_steps import Given, Logged


def _back(stray: StrayCharge | None) -> str:
    if stray is None or not (stray.refund_at or stray.refunded_at):
        return "no"
    return f"sent {stamp(stray.refunded_at)}" if stray.refunded_at else "requested"


class SendBack(MoneyStep):
    """Send stars back. The money leaves at once, and the time that it bought ends."""

    name, title, button, done = "send_back", "Send the stars back", "Send back", "Being sent back"
    counted = True
    warnings = ("The whole charge is sent back, and the time that it paid for ends. This cannot be undone.",)
    charge: ClassVar[str]  # the field with the charge's id

    def take(self, row: Any, *, given: Given) -> Logged | None:
        refunds.ask(getattr(row, self.charge) or "", reason=given.reason, actor=given.actor, now=given.now)
        return None


class SendOrdersBack(SendBack):
    model, charge = StarsOrder, "charge_id"
    related = ("user",)

    def cells(self, rows: list[Any]) -> list[dict[str, str]]:
        known = StrayCharge.objects.in_bulk([row.charge_id for row in rows if row.charge_id])
        return [self._cells(row, known.get(row.charge_id)) for row in rows]

    def _cells(self, row: StarsOrder, stray: StrayCharge | None) -> dict[str, str]:
        return {
            "order": row.pk,
            "agent": row.agent_id,
            "owner": str(row.user),
            "plan": f"{row.tier}, {row.period}",
            "stars": str(row.amount_stars),
            "status": row.status,
            "charge": row.charge_id or "none: nobody has paid",
            "sent back": _back(stray),
        }


class SendStraysBack(SendBack):
    model, charge = StrayCharge, "pk"

    def shown(self, row: StrayCharge) -> dict[str, str]:
        return {
            "charge": row.pk,
            "why": row.get_why_display(),
            "amount": f"{row.amount} {row.currency}",
            "order": row.order_id or "none",
            "payer": str(row.payer_id or "unknown"),
            "sent back": _back(row),
        }


@admin.register(StarsOrder)
class StarsOrderAdmin(Corrected):
    steps = (SendOrdersBack(),)
    list_display = ("id", "agent", "tier", "period", "amount_stars", "status", "hold_until", "payer_id", "created_at")
    list_filter = ("status", "tier", "period")
    list_select_related = ("agent",)
    search_fields = ("id", "agent__id", "user__email", "^charge_id")
    sortable_by = ()


@admin.register(StrayCharge)
class StrayChargeAdmin(Corrected):
    totals = totals.CHARGES
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

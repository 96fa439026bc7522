"""The page *Payouts and sweeps*: what was paid out, beside the ledger. Providers are asked only on request."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from billing import reconciled
from billing.models import Payouts
from billing.reconciled import Disagreement
from config.admin_sections import page_of
from config.read_only import WrittenByRules

SHOWN = 500  # rows of each table


@admin.register(Payouts)
class PayoutsAdmin(WrittenByRules):
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = timezone.now()
        is_read = request.GET.get("read") == "now"
        context = {
            **self.admin_site.each_context(request),
            "title": "Payouts and sweeps",
            "opts": self.opts,
            "is_read": is_read,
            "now": now,
            "parts": [
                (one, one.rows[:SHOWN], [_row(open_, now=now) for open_ in one.differences[:SHOWN]])
                for one in (reconciled.read(now=now) if is_read else ())
            ],
            "shown": SHOWN,
        }
        return TemplateResponse(request, "admin/billing/payouts.html", context)


def _row(one: Disagreement, *, now: datetime) -> dict[str, Any]:
    link = page_of("billing_payment", one.payment_id) if one.payment_id else ""
    return {"one": one, "days": max((now - one.since).days, 0), "link": link}

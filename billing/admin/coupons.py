"""The admin pages of coupons, with the number of paid orders that used each one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from billing.models import Coupon
from billing.vocabulary import OrderStatus
from config.admin_steps import DeleteRows, WithSteps


class DeleteCoupons(DeleteRows):
    title = "Delete coupons"
    model = Coupon

    def shown(self, row: Any) -> dict[str, str]:
        return {"code": row.code, "note": row.note}


@admin.register(Coupon)
class CouponAdmin(WithSteps):
    """A coupon that was used cannot be deleted, since orders refer to it. To end it, set `valid until`."""

    steps = (DeleteCoupons(),)
    list_display = ("code", "percent", "usd", "tier", "period", "valid_from", "valid_until", "uses", "used", "note")
    search_fields = ("code", "note")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        used = Count("orders", filter=Q(orders__status=OrderStatus.PAID))
        rows: QuerySet[Any] = super().get_queryset(request).annotate(used=used)
        return rows

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("code",) if obj else ()

    @admin.display(description="paid orders", ordering="used")
    def used(self, row: Any) -> int:
        return int(row.used)

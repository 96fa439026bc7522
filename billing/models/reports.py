"""Data for reports that cannot be computed later from the ledger."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from billing.models.payments import Payment
from billing.vocabulary import Period, Provider
from catalog.vocabulary import TierId


class DeferredRevenue(models.Model):
    """The paid and unused time at a month's end, in USD. Written once (billing/reports/deferred.py), never changed.

    A month without any has one row of 0 without a provider.
    """

    ended_at = models.DateTimeField(help_text="The first moment of the next month, UTC.")
    provider = models.CharField(max_length=20, choices=Provider.choices, blank=True)
    tier = models.CharField(max_length=20, choices=TierId.choices, blank=True)
    period = models.CharField(max_length=8, choices=Period.choices, blank=True)
    currency = models.CharField(max_length=12, blank=True)
    usd = models.DecimalField(max_digits=14, decimal_places=2)

    class Meta:
        verbose_name_plural = "deferred revenue"
        ordering = ("-ended_at", "provider", "tier", "period", "currency")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["ended_at", "provider", "tier", "period", "currency"], name="deferred_revenue_once"
            ),
            models.CheckConstraint(condition=Q(usd__gte=0), name="deferred_revenue_usd"),
        ]

    def __str__(self) -> str:
        return f"{self.ended_at:%Y-%m}: {self.usd} USD, {self.provider}, {self.tier}, {self.period}"


class Reports(Payment):
    """The Reports page of the console: sales, taxes, deferred revenue and open items. It has no rows of its own."""

    class Meta:
        proxy = True
        verbose_name = verbose_name_plural = "reports"
        default_permissions = ("view",)


class Payouts(Payment):
    """The page *Payouts and sweeps* of the console (billing/reconciled.py). It has no rows of its own."""

    class Meta:
        proxy = True
        verbose_name = verbose_name_plural = "payouts and sweeps"
        default_permissions = ("view",)

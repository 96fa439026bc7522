"""Spans: which payment each part of the paid time belongs to."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from billing.models.payments import Payment
from billing.models.subscriptions import Subscription
from billing.vocabulary import Period
from catalog.vocabulary import TierId


class PassedPlan(models.Model):
    """A plan that some time was on before its present plan. All spans that left it at the same moment share this row.

    Only billing/spans.py writes these. The plan that the time was bought for is in the span itself (`home_…`).
    """

    tier = models.CharField(max_length=20, choices=TierId.choices)
    period = models.CharField(max_length=8, choices=Period.choices)
    snapshot = models.JSONField()
    by = models.JSONField(help_text="The payments that led to this plan.")

    def __str__(self) -> str:
        return f"{self.tier}, {self.period}, by {self.by}"


class Span(models.Model):
    """A part of a subscription's time, and the payment or gift that it belongs to. Only billing/spans.py writes these.

    Both times are as of the subscription's `counted_at`, without later suspensions. Time that a licence pays for has no
    span: its provider says until when it is paid.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.PROTECT, related_name="spans")
    payment = models.ForeignKey(
        Payment,
        on_delete=models.PROTECT,
        null=True,
        related_name="spans",
        help_text="Null until the ledger has the payment.",
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    length = models.DurationField()
    usd = models.DecimalField(
        max_digits=20, decimal_places=10, help_text="What was received for this time. For a gift: the list price."
    )
    is_gift = models.BooleanField(default=False)

    # If it is on another plan than it was bought for: that plan, and how long the time would last there.
    home_tier = models.CharField(max_length=20, choices=TierId.choices, null=True, blank=True)
    home_period = models.CharField(max_length=8, choices=Period.choices, null=True, blank=True)
    home_snapshot = models.JSONField(null=True, blank=True)
    home_length = models.DurationField(null=True, blank=True)
    passed = models.JSONField(
        null=True,
        blank=True,
        help_text="Plans between the one it was bought for and the present one: row ids, and microseconds on each.",
    )

    class Meta:
        ordering = ("starts_at", "id")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(ends_at__gte=F("starts_at")), name="span_order"),
            models.CheckConstraint(condition=Q(usd__gte=0), name="span_usd"),
            models.CheckConstraint(
                condition=Q(home_tier=None, home_period=None, home_length=None)
                | Q(home_tier__isnull=False, home_period__isnull=False, home_length__isnull=False),
                name="span_home",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} to {self.ends_at:%Y-%m-%d %H:%M} of {self.subscription_id}"

"""An order: the plan that somebody wants to pay for, and its price. Each way to pay adds its own columns."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models import Agent
from billing.models.coupons import Coupon
from billing.vocabulary import OrderStatus, Period, Provider
from catalog.vocabulary import TierId


class Order(models.Model):
    """The common fields of all orders (docs/spec.md:

    CryptoOrder, StarsOrder). Only billing/orders.py writes `status`.
    """

    id = models.CharField(primary_key=True, max_length=40, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="orders")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="orders")
    provider = models.CharField(max_length=20, choices=Provider.choices)
    tier = models.CharField(max_length=20, choices=TierId.choices)
    period = models.CharField(max_length=8, choices=Period.choices)
    price_usd = models.DecimalField(max_digits=10, decimal_places=2)
    coupon = models.ForeignKey(
        Coupon,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="orders",
        db_index=False,
        help_text="The coupon that reduced the price.",
    )
    tier_snapshot = models.JSONField()
    placed_by = models.CharField(
        max_length=40, null=True, blank=True, editable=False, help_text="The limited API key that placed the order."
    )
    status = models.CharField(max_length=8, choices=OrderStatus.choices, default=OrderStatus.PENDING)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(help_text="When the order expires if no money was seen.")
    paid_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["agent", "-created_at", "-id"], name="order_agent"),
            models.Index(fields=["user", "-created_at", "-id"], name="order_user"),
            models.Index(fields=["-created_at", "-id"], name="order_newest"),
            models.Index(fields=["coupon", "user"], name="order_coupon", condition=Q(coupon__isnull=False)),
            models.Index(fields=["placed_by"], name="order_placed_by", condition=Q(placed_by__isnull=False)),
            models.Index(fields=["expires_at"], name="order_due", condition=Q(status=OrderStatus.PENDING)),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["agent"], condition=Q(status=OrderStatus.PENDING), name="order_one_pending"
            ),
            models.CheckConstraint(
                condition=Q(status=OrderStatus.PAID, paid_at__isnull=False)
                | (~Q(status=OrderStatus.PAID) & Q(paid_at__isnull=True)),
                name="order_paid_when",
            ),
            models.CheckConstraint(condition=Q(price_usd__gt=0), name="order_price"),
        ]

    def __str__(self) -> str:
        return f"{self.provider}, {self.tier}, {self.period}, {self.status} ({self.id})"

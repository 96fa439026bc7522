"""Orders in Telegram Stars, charges that bought nothing, and how far Telegram's list was read."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from billing.models.orders import Order


class StarsOrder(Order):
    """An invoice for one period of a plan (docs/spec.md: StarsOrder)."""

    amount_stars = models.PositiveIntegerField()
    star_usd = models.DecimalField(
        max_digits=12, decimal_places=6, help_text="The value of a star when the order was made."
    )
    invoice_link = models.URLField(max_length=500)
    hold_until = models.DateTimeField(
        null=True, blank=True, help_text="Somebody is paying. Until this time, nobody else can start to pay."
    )
    held_by = models.BigIntegerField(null=True, blank=True, help_text="The Telegram id of the person who is paying.")
    payer_id = models.BigIntegerField(null=True, blank=True, help_text="The Telegram id of the person who paid.")
    charge_id = models.CharField(max_length=200, null=True, blank=True, unique=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(amount_stars__gt=0), name="stars_order_amount"),
            models.CheckConstraint(condition=Q(star_usd__gt=0), name="stars_order_star_usd"),
            models.CheckConstraint(
                condition=Q(hold_until__isnull=True, held_by__isnull=True)
                | Q(hold_until__isnull=False, held_by__isnull=False),
                name="stars_order_hold",
            ),
            models.CheckConstraint(
                condition=Q(charge_id__isnull=True, payer_id__isnull=True)
                | Q(charge_id__isnull=False, payer_id__isnull=False),
                name="stars_order_charge",
            ),
        ]


class Stray(models.TextChoices):
    """Why a charge bought nothing, or is to be sent back."""

    SECOND = "second", "a second charge for a paid order"
    AMOUNT = "amount", "not the order's amount"
    DELETED = "deleted", "the agent is deleted"
    UNKNOWN = "unknown", "for no order of this installation"
    RETURNED = "returned", "refunded before it was counted"
    ASKED = "asked", "refunded by an operator"
    COUPON = "coupon", "late, and other orders have used its coupon"


class StrayCharge(models.Model):
    """A charge that bought nothing, or that an operator sends back. Charges that belong to none of our orders wait for
    an operator.

    `refund_at` is when Telegram is asked next to send it back. Null once that is done, or while an operator decides.
    """

    charge_id = models.CharField(primary_key=True, max_length=200)
    payer_id = models.BigIntegerField(null=True, blank=True, help_text="The Telegram id of the person who paid.")
    order = models.ForeignKey(StarsOrder, on_delete=models.PROTECT, null=True, blank=True, related_name="strays")
    amount = models.PositiveBigIntegerField()
    currency = models.CharField(max_length=12)
    payload = models.CharField(max_length=200, blank=True)
    why = models.CharField(max_length=10, choices=Stray.choices)
    seen_at = models.DateTimeField()
    refund_at = models.DateTimeField(null=True, blank=True)
    refunded_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    actor = models.CharField(max_length=80, blank=True, help_text="The operator who asked for the refund.")
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ("-seen_at", "charge_id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["refund_at"], name="stray_due", condition=Q(refund_at__isnull=False)),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(refund_at__isnull=True) | Q(refunded_at__isnull=True, payer_id__isnull=False),
                name="stray_refund_due",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}, {self.get_why_display()}, {self.charge_id}"


class StarsFeed(models.Model):
    """How many of a bot's transactions were handled, counted from the oldest.

    `webhook_change` is the id of the last change of the bot's settings by an operator that Telegram's webhook follows.
    """

    bot = models.CharField(primary_key=True, max_length=80)
    seen = models.PositiveBigIntegerField(default=0)
    read_at = models.DateTimeField(null=True, blank=True)
    webhook_change = models.PositiveBigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.bot}: {self.seen}"

"""Coupons: discounts that operators give on orders."""

from __future__ import annotations

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

from billing.vocabulary import Period
from catalog.vocabulary import TierId

CODE = r"[A-Z0-9-]{3,40}"


class Coupon(models.Model):
    """Written by operators. billing/coupons.py decides who may use it and when. Each order with the coupon is a use."""

    code = models.CharField(
        primary_key=True, max_length=40, validators=[RegexValidator(rf"^{CODE}$", "3 to 40 of A-Z, 0-9 and -")]
    )
    percent = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(99)],
        help_text="Percentage that is taken off the price.",
    )
    usd = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        help_text="Sum that is taken off the price, instead of a percentage.",
    )
    tier = models.CharField(
        max_length=20, choices=TierId.choices, blank=True, help_text="Only for this plan. Empty: for all plans."
    )
    period = models.CharField(
        max_length=8, choices=Period.choices, blank=True, help_text="Only for this period. Empty: for both periods."
    )
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_until = models.DateTimeField(null=True, blank=True)
    uses = models.PositiveIntegerField(
        null=True, blank=True, help_text="How often all accounts together may use it. Empty: no limit."
    )
    uses_of_account = models.PositiveIntegerField(default=1, help_text="How often one account may use it.")
    note = models.CharField(max_length=200, blank=True, help_text="What the coupon is for. Only operators see this.")

    class Meta:
        ordering = ("code",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(percent__isnull=False, usd__isnull=True) | Q(percent__isnull=True, usd__isnull=False),
                name="coupon_one_of_two",
                violation_error_message="Give a percentage or a sum in USD, one of them.",
            ),
            models.CheckConstraint(
                condition=Q(percent__isnull=True) | Q(percent__range=(1, 99)), name="coupon_percent"
            ),
            models.CheckConstraint(
                condition=Q(usd__isnull=True) | Q(usd__gt=0),
                name="coupon_usd",
                violation_error_message="The sum must be more than nothing.",
            ),
            models.CheckConstraint(
                condition=Q(valid_from=None) | Q(valid_until=None) | Q(valid_until__gt=F("valid_from")),
                name="coupon_valid",
                violation_error_message="It must end after it begins.",
            ),
        ]

    def __str__(self) -> str:
        return self.code

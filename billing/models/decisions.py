"""Decisions of operators about money that bought nothing."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from billing.models.crypto import Deposit
from billing.models.payments import Payment


class Decision(models.Model):
    """One decision about a deposit or a row of the ledger. PostgreSQL refuses to change or remove one.

    `credit` is the ledger's row of the days that were given for the money. Null if none were given; `reason` then says
    what happened with the money.
    """

    deposit = models.OneToOneField(Deposit, on_delete=models.PROTECT, null=True, blank=True, related_name="decision")
    payment = models.OneToOneField(Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="decision")
    credit = models.ForeignKey(Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="decided")
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=500)
    at = models.DateTimeField()

    class Meta:
        ordering = ("-at", "-id")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(deposit__isnull=True, payment__isnull=False)
                | Q(deposit__isnull=False, payment__isnull=True),
                name="decision_about_one",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="decision_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.deposit_id or self.payment_id}: {'days were credited' if self.credit_id else 'closed'}"

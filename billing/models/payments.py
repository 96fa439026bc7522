"""The ledger: one row for each payment, refund, credit, grant and so on. Rows are never changed and never removed."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Concat, Left

from agents.models import Agent
from billing.models.orders import Order
from billing.models.subscriptions import Subscription
from billing.vocabulary import PaymentKind, Period, Provider
from catalog.vocabulary import TierId
from config.ids import new_id

UNIT_DIGITS = 78  # the digits of the chain's largest number, a uint256
NAMED = 200
REFUND = ":refund"


def refund_name(external_id: str) -> str:
    """The ledger's name of a payment's refund."""
    return f"{external_id[: NAMED - len(REFUND)]}{REFUND}"


def part_name(external_id: str, returned: int) -> str:
    """The name of a partial refund. `returned` is how much has gone back after it, in smallest units."""
    ending = f"{REFUND}:{returned}"
    return f"{external_id[: NAMED - len(ending)]}{ending}"


class PaymentQuerySet(models.QuerySet["Payment"]):
    def open(self) -> PaymentQuerySet:
        """Money that bought nothing, was not sent back, and about which no operator has decided.

        A failed refund is left out once we have nothing left of its payment: a bank may take all of it, and give it
        back.
        """
        rows = self.filter(decision=None).exclude(unapplied="").not_returned()
        return rows.exclude(kind=PaymentKind.CAME_BACK, refund_of__amount__lte=Subquery(_gone_of_the_same()))

    def not_returned(self) -> PaymentQuerySet:
        name = Concat(Left(OuterRef("external_id"), NAMED - len(REFUND)), Value(REFUND))
        returned = Payment.objects.filter(provider=OuterRef("provider"), external_id=name)
        return self.exclude(kind=PaymentKind.REFUND).exclude(Exists(returned))


def _gone_of_the_same() -> models.QuerySet[Payment, Any]:
    """How much of the payment that a row refers to has gone back and did not come again."""
    rows = Payment.objects.filter(refund_of=OuterRef("refund_of")).order_by().values("refund_of")
    signed = Case(When(kind=PaymentKind.CAME_BACK, then=-F("amount")), default=F("amount"))
    return rows.annotate(gone=Sum(signed)).values("gone")


class Payment(models.Model):
    """One row of the ledger. PostgreSQL refuses to change or remove one; only billing/payments.py writes them.

    `amount` is in the smallest unit of `currency` (cents, token units, stars), null where no money moved.
    """

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "pay"), editable=False)
    provider = models.CharField(max_length=20, choices=Provider.choices)
    external_id = models.CharField(
        max_length=NAMED, help_text="The provider's id of this payment. Each id counts once."
    )
    kind = models.CharField(max_length=10, choices=PaymentKind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payments")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="payments")
    subscription = models.ForeignKey(Subscription, on_delete=models.PROTECT, null=True, related_name="payments")
    order = models.ForeignKey(Order, on_delete=models.PROTECT, null=True, related_name="payments")
    refund_of = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        related_name="refunds",
        db_index=False,
        help_text="The payment that is refunded.",
    )
    tier = models.CharField(max_length=20, choices=TierId.choices, blank=True)
    period = models.CharField(max_length=8, choices=Period.choices, blank=True)
    price_usd = models.DecimalField(max_digits=10, decimal_places=2, null=True)
    amount = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0, null=True)
    currency = models.CharField(max_length=12, blank=True)
    over = models.DecimalField(
        max_digits=UNIT_DIGITS, decimal_places=0, default=0, help_text="What was paid above the amount."
    )
    late = models.BooleanField(default=False, help_text="The money came after its order had expired.")
    paid_till = models.DateTimeField(null=True, help_text="The end of the paid time after this payment.")
    converted = models.DurationField(
        default=timedelta(0), help_text="Time that was converted from the rest of another plan."
    )
    unapplied = models.CharField(
        max_length=200, blank=True, help_text="Why it bought nothing. An operator decides what to do."
    )
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()

    objects: ClassVar[PaymentQuerySet] = PaymentQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ("-at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["agent", "-at", "-id"], name="payment_agent"),
            models.Index(fields=["at"], name="payment_at"),
            models.Index(OpClass("external_id", "varchar_pattern_ops"), name="payment_external"),
            # Few payments are of another kind, so that operators find refunds at once.
            models.Index(
                fields=["kind", "-at", "-id"],
                name="payment_kind",
                condition=~Q(kind__in=[PaymentKind.PAYMENT, PaymentKind.RENEWAL]),
            ),
            models.Index(fields=["-at"], name="payment_unapplied", condition=~Q(unapplied="")),
            models.Index(fields=["refund_of"], name="payment_refund_of", condition=Q(refund_of__isnull=False)),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["provider", "external_id"], name="payment_once"),
            models.CheckConstraint(condition=Q(amount__isnull=True) | Q(amount__gt=0), name="payment_amount"),
            models.CheckConstraint(condition=Q(over__gte=0), name="payment_over"),
            models.CheckConstraint(
                condition=Q(subscription__isnull=False) | ~Q(unapplied=""), name="payment_applied_or_why"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[PaymentKind.PAYMENT, PaymentKind.RENEWAL]) | ~Q(reason=""), name="payment_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, {self.provider}, {self.external_id}"

    @property
    def is_part(self) -> bool:
        """Whether this is a refund of only a part of a payment, which does not end its time."""
        if self.kind != PaymentKind.REFUND or self.refund_of is None or self.amount is None:
            return False
        is_last = self.external_id == refund_name(self.refund_of.external_id)
        return not is_last and self.amount < (self.refund_of.amount or 0)

    @property
    def gone_back(self) -> Decimal:
        """How much of the payment has gone back and did not come again, in smallest units."""
        failed = Q(kind=PaymentKind.CAME_BACK)
        sums = self.refunds.aggregate(gone=Sum("amount", filter=~failed), failed=Sum("amount", filter=failed))
        return (sums["gone"] or Decimal(0)) - (sums["failed"] or Decimal(0))

    @property
    def taken_off(self) -> Decimal:
        """How much of the payment its time is no longer worth, in smallest units: all refunds, also failed ones.

        A failed refund is owed to the customer until an operator decides. If it is sent again, it counts only once.
        """
        came = Q(kind=PaymentKind.CAME_BACK)
        owed = self.refunds.filter(came).exclude(unapplied="").values_list("external_id", flat=True)
        again = Q(external_id__in=[refund_name(name) for name in owed])
        gone, ours = ~came & ~again, came & Q(unapplied="")
        sums = self.refunds.aggregate(gone=Sum("amount", filter=gone), ours=Sum("amount", filter=ours))
        return (sums["gone"] or Decimal(0)) - (sums["ours"] or Decimal(0))

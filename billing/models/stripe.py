"""Tables for Stripe: customers, orders, subscriptions, invoices, disputes, refunds and events.

What Stripe posts is not trusted: each row says what to read from Stripe, and what the result was.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models import Agent, Desired
from billing.models.orders import Order
from billing.models.payments import Payment
from billing.models.subscriptions import Subscription
from billing.vocabulary import Period
from catalog.vocabulary import TierId

STRIPE_ID = 100
URL = 2_000
ERROR = 300
RENEWING = ("active", "trialing")  # Stripe's words for the status
ENDED = ("canceled", "incomplete_expired")


class StripeCustomer(models.Model):
    """An account's customer at Stripe: created with its first order, for its cards, addresses and invoices."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="stripe_customer"
    )
    customer_id = models.CharField(max_length=STRIPE_ID, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.customer_id


class StripeOrder(Order):
    """A Checkout Session for one plan and period. Later the card is charged again for each period."""

    customer_id = models.CharField(max_length=STRIPE_ID)
    session_id = models.CharField(max_length=STRIPE_ID, unique=True)
    checkout_url = models.URLField(max_length=URL)


class CardSubscriptionQuerySet(models.QuerySet["CardSubscription"]):
    def renewing(self) -> CardSubscriptionQuerySet:
        """Subscriptions whose card will be charged for the next period, as far as we know."""
        return self.filter(status__in=RENEWING, cancels=False, canceled_at=None)

    def charged(self, agent: Agent) -> CardSubscriptionQuerySet:
        """The agent's subscriptions whose card may be charged, also while a charge fails."""
        return self.filter(agent=agent, canceled_at=None).exclude(status__in=ENDED)

    def to_end(self, now: datetime) -> CardSubscriptionQuerySet:
        """Subscriptions that Stripe must stop charging: canceled here, or their agent is deleted."""
        unwanted = Q(canceled_at__isnull=False) | Q(agent__desired=Desired.DELETED)
        due = Q(cancel_at=None) | Q(cancel_at__lte=now)
        return self.filter(unwanted & due).exclude(status__in=ENDED)


class CardSubscription(models.Model):
    """A subscription at Stripe, which charges a card for each period. The ledger says what was paid."""

    subscription_id = models.CharField(max_length=STRIPE_ID, unique=True)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="card_subscriptions")
    order = models.ForeignKey(StripeOrder, on_delete=models.PROTECT, related_name="card_subscriptions")
    customer_id = models.CharField(max_length=STRIPE_ID)
    tier = models.CharField(max_length=20, choices=TierId.choices, help_text="The plan that a charge pays for.")
    price_usd = models.DecimalField(max_digits=10, decimal_places=2)
    tier_snapshot = models.JSONField()
    told_plans = models.JSONField(
        null=True,
        blank=True,
        help_text="Other plans whose price Stripe may charge. An invoice with such a price pays for that plan.",
    )
    status = models.CharField(max_length=30, help_text="The status at Stripe.")
    cancels = models.BooleanField(
        default=False, help_text="It ends with its period, because the customer cancelled it at Stripe."
    )
    period_end = models.DateTimeField(null=True, blank=True, help_text="When the card is charged next.")
    read_at = models.DateTimeField(help_text="When Stripe last reported its state.")
    check_at = models.DateTimeField(null=True, blank=True, help_text="When Stripe is asked again.")
    canceled_at = models.DateTimeField(null=True, blank=True, help_text="When it was canceled here.")
    cancel_at = models.DateTimeField(null=True, blank=True, help_text="When Stripe is asked again to cancel it.")
    reprice_at = models.DateTimeField(null=True, blank=True, help_text="When Stripe is asked to charge another price.")
    attempts = models.PositiveIntegerField(
        default=0, help_text="How many times Stripe was asked to cancel it or to charge another price."
    )
    last_error = models.CharField(max_length=ERROR, blank=True)
    created_at = models.DateTimeField()

    objects: ClassVar[CardSubscriptionQuerySet] = CardSubscriptionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ("-created_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["check_at"], name="card_subscription_due", condition=Q(check_at__isnull=False)),
            models.Index(fields=["agent"], name="card_subscription_live", condition=~Q(status__in=ENDED)),
            models.Index(
                fields=["reprice_at"], name="card_subscription_reprice", condition=Q(reprice_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status}, {self.subscription_id}"


class StripeInvoice(models.Model):
    """A Stripe invoice for one period. `payment` is the ledger's row, once it is paid."""

    invoice_id = models.CharField(primary_key=True, max_length=STRIPE_ID)
    card = models.ForeignKey(CardSubscription, on_delete=models.PROTECT, related_name="invoices")
    payment_intent = models.CharField(max_length=STRIPE_ID, blank=True, db_index=True)
    payment = models.OneToOneField(
        Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="stripe_invoice"
    )
    failed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the owner was told about the failed charge."
    )
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ("-seen_at", "-invoice_id")

    def __str__(self) -> str:
        return self.invoice_id


class StripeDispute(models.Model):
    """A charge that the card's owner disputes.

    `length` and `usd` are the time that was taken meanwhile, and its value.
    """

    dispute_id = models.CharField(primary_key=True, max_length=STRIPE_ID)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="stripe_disputes")
    subscription = models.ForeignKey(
        Subscription, on_delete=models.PROTECT, null=True, blank=True, related_name="stripe_disputes"
    )
    status = models.CharField(max_length=30, help_text="The status at Stripe.")
    cents = models.PositiveIntegerField()
    length = models.DurationField(default=timedelta(0))
    usd = models.DecimalField(max_digits=20, decimal_places=10, default=0)
    tier = models.CharField(max_length=20, choices=TierId.choices, blank=True, help_text="The plan that was paid for.")
    period = models.CharField(max_length=8, choices=Period.choices, blank=True)
    tier_snapshot = models.JSONField(null=True, blank=True)
    # The same columns as in Span: the plan that the time was bought for, if it is another one.
    home_tier = models.CharField(max_length=20, choices=TierId.choices, null=True, blank=True)
    home_period = models.CharField(max_length=8, choices=Period.choices, null=True, blank=True)
    home_snapshot = models.JSONField(null=True, blank=True)
    home_length = models.DurationField(null=True, blank=True)
    passed = models.JSONField(null=True, blank=True)
    is_taken = models.BooleanField(default=False, help_text="The paid time is on hold until the bank decides.")
    seen_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-seen_at", "-dispute_id")

    def __str__(self) -> str:
        return f"{self.status}, {self.dispute_id}"


class StripeRefund(models.Model):
    """A refund through Stripe that an operator asked for.

    `refund_at` is when Stripe is asked next; null once it is done.
    """

    payment = models.OneToOneField(Payment, on_delete=models.PROTECT, primary_key=True, related_name="stripe_refund")
    payment_intent = models.CharField(max_length=STRIPE_ID)
    refund_at = models.DateTimeField(null=True, blank=True)
    refunded_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=ERROR, blank=True)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=500)
    asked_at = models.DateTimeField()

    class Meta:
        ordering = ("-asked_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["refund_at"], name="stripe_refund_due", condition=Q(refund_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"of {self.payment_id}"


class StripeEvent(models.Model):
    """The inbox of Stripe's events, each one once by its id. Their content is not stored: it is read from Stripe again.

    `due_at` is when the event is handled next; null once that is done.
    """

    event_id = models.CharField(primary_key=True, max_length=STRIPE_ID)
    type = models.CharField(max_length=80)
    object_id = models.CharField(max_length=STRIPE_ID)
    created_at = models.DateTimeField(help_text="The time that Stripe gives.")
    received_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=ERROR, blank=True)
    stray = models.CharField(
        max_length=200, blank=True, help_text="Why it matches nothing here. An operator checks it at Stripe."
    )

    class Meta:
        ordering = ("-received_at", "-event_id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], name="stripe_event_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["received_at"], name="stripe_event_received"),
        ]

    def __str__(self) -> str:
        return f"{self.type}, {self.object_id}"


class StripeFeed(models.Model):
    """Up to when Stripe's list of events was read. One row for each secret key, identified by its fingerprint."""

    key = models.CharField(primary_key=True, max_length=16)
    read_to = models.DateTimeField()

    def __str__(self) -> str:
        return f"up to {self.read_to:%Y-%m-%d %H:%M}"

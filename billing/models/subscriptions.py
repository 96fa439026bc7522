"""A paid term for one agent."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models import Agent
from billing.vocabulary import LICENSED, Period, Provider, SubscriptionStatus
from catalog.vocabulary import TierId
from config.crypto import EncryptedText
from config.ids import new_id

LIVE = (SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED)
_LIVE = Q(status__in=LIVE)


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def live(self) -> SubscriptionQuerySet:
        return self.filter(_LIVE)

    def paid(self) -> SubscriptionQuerySet:
        """Live and bought. An internal subscription may run beside it, and has priority over it."""
        return self.live().exclude(provider=Provider.INTERNAL)

    def unanswered(self) -> SubscriptionQuerySet:
        """Licences that are not known to be unpaid: live ones, and those that expired because the provider gave no
        answer.
        """
        return self.filter(_LIVE | Q(unknown_since__isnull=False), provider__in=LICENSED)


class Subscription(models.Model):
    """A paid term for one agent (docs/spec.md: Subscription). Only billing/subscriptions.py writes these."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "sub"), editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="subscriptions")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="subscriptions")
    tier = models.CharField(max_length=20, choices=TierId.choices)
    period = models.CharField(max_length=8, choices=Period.choices)
    status = models.CharField(max_length=8, choices=SubscriptionStatus.choices, default=SubscriptionStatus.ACTIVE)
    created_at = models.DateTimeField()
    price_usd = models.DecimalField(max_digits=10, decimal_places=2)
    current_period_end = models.DateTimeField()
    provider = models.CharField(max_length=20, choices=Provider.choices, null=True)
    license_key = EncryptedText(null=True, blank=True)
    canceled_at = models.DateTimeField(null=True, blank=True)
    tier_snapshot = models.JSONField(null=True, blank=True)
    expired_at = models.DateTimeField(null=True, blank=True)

    anchor_day = models.PositiveSmallIntegerField(help_text="The day of the month on which periods end.")
    counted_at = models.DateTimeField(
        help_text="When currentPeriodEnd was last set. It does not include suspensions after this time."
    )

    brought_by = models.JSONField(
        null=True, blank=True, help_text="The payments that led to its plan, with those of earlier subscriptions."
    )

    parked_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the agent was deleted. The rest of the paid time can be moved to another agent.",
    )

    reminded_at = models.DateTimeField(
        null=True, blank=True, help_text="When the owner was last told that it ends and is not renewed."
    )

    # Fields of a licence. The provider says until when it is paid; `extra` is the time bought beside it.
    license_fingerprint = models.CharField(max_length=64, blank=True)
    external_ref = models.CharField(max_length=120, blank=True, help_text="The provider's id of the purchase.")
    instance = models.CharField(max_length=120, blank=True, help_text="The provider's id of the activation.")
    activation_asked_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when its provider is being asked for an activation."
    )
    extra = models.DurationField(default=timedelta(0))
    card_ref = models.CharField(
        max_length=120,
        blank=True,
        db_default="",
        help_text="The provider's id of the subscription that charges the card.",
    )
    stop_card_at = models.DateTimeField(
        null=True, blank=True, help_text="When the provider is asked to stop charging the card. Null: not needed."
    )
    check_at = models.DateTimeField(null=True, blank=True, help_text="When the provider is asked again.")
    paid_seen_at = models.DateTimeField(
        null=True, blank=True, help_text="When the provider last confirmed that it is paid."
    )
    cancels_there = models.BooleanField(default=False, help_text="The provider reported that it will not renew.")
    unknown_since = models.DateTimeField(null=True, blank=True, help_text="Since when the provider does not answer.")

    objects: ClassVar[SubscriptionQuerySet] = SubscriptionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ("-created_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["agent", "-created_at", "-id"], name="subscription_agent"),
            models.Index(fields=["user", "-created_at", "-id"], name="subscription_user"),
            models.Index(fields=["license_fingerprint"], name="subscription_key", condition=~Q(license_fingerprint="")),
            models.Index(fields=["external_ref"], name="subscription_ref", condition=~Q(external_ref="")),
            models.Index(fields=["card_ref"], name="subscription_card", condition=~Q(card_ref="")),
            models.Index(
                fields=["stop_card_at"], name="subscription_stop_card", condition=Q(stop_card_at__isnull=False)
            ),
            models.Index(fields=["check_at"], name="subscription_due", condition=Q(check_at__isnull=False)),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["agent"],
                condition=_LIVE & (Q(provider__isnull=True) | ~Q(provider=Provider.INTERNAL)),
                name="subscription_one_paid",
            ),
            models.UniqueConstraint(
                fields=["agent"], condition=_LIVE & Q(provider=Provider.INTERNAL), name="subscription_one_internal"
            ),
            models.UniqueConstraint(
                fields=["provider", "license_fingerprint"],
                condition=_LIVE & ~Q(license_fingerprint=""),
                name="subscription_one_key",
            ),
            models.UniqueConstraint(
                fields=["provider", "external_ref"],
                condition=_LIVE & ~Q(external_ref=""),
                name="subscription_one_purchase",
            ),
            models.CheckConstraint(
                condition=Q(status=SubscriptionStatus.EXPIRED, expired_at__isnull=False)
                | (_LIVE & Q(expired_at__isnull=True)),
                name="subscription_expired_when",
            ),
            models.CheckConstraint(
                condition=~Q(status=SubscriptionStatus.CANCELED) | Q(canceled_at__isnull=False),
                name="subscription_canceled_when",
            ),
            models.CheckConstraint(condition=Q(price_usd__gte=0), name="subscription_price"),
            models.CheckConstraint(condition=Q(anchor_day__range=(1, 31)), name="subscription_anchor"),
        ]

    def __str__(self) -> str:
        return f"{self.tier}, {self.period}, {self.status} ({self.id})"

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def is_internal(self) -> bool:
        return self.provider == Provider.INTERNAL

    @property
    def is_licensed(self) -> bool:
        """Whether the provider says when it ends, and not our clock."""
        return self.provider in LICENSED

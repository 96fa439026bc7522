"""The hook of an agent, its events, and the deliveries of the events."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import F, Q

from config.crypto import EncryptedText
from config.ids import is_id, new_id
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from agents.models import Agent


class State(models.TextChoices):
    """The state of a delivery. Only `pending` deliveries are sent."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELED = "canceled"


class Problem(models.TextChoices):
    """Why an attempt got no answer. The owner sees only these words: no address, no text of an exception."""

    TIMEOUT = "timeout"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    ADDRESS_REFUSED = "address refused"
    PROTOCOL = "protocol"
    INTERNAL = "internal"
    CANCELED = "canceled"


class Hook(models.Model):
    """Where an agent's events go, and how the latest delivery ended (docs/spec.md: Agent, its four webhook fields)."""

    agent: models.OneToOneField[Agent, Agent] = models.OneToOneField(
        "agents.Agent", on_delete=models.CASCADE, related_name="hook"
    )
    url = models.TextField()
    authority = models.CharField(
        max_length=262, help_text="Host and port. The number of simultaneous deliveries is limited per host."
    )
    secret = EncryptedText()
    previous_secret = EncryptedText(null=True, blank=True, help_text="It signs together with the new one for 24 hours.")
    created_at = models.DateTimeField()
    rotated_at = models.DateTimeField(null=True, blank=True)
    last_status = models.CharField(max_length=40, null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    last_event = models.CharField(max_length=20, null=True, blank=True)
    slow = models.BooleanField(
        default=False, help_text="The last attempt timed out. Slow receivers share a few places in the sender."
    )

    def __str__(self) -> str:
        return f"hook of {self.agent_id}"

    def __repr__(self) -> str:
        return f"<Hook {self.agent_id} {self.authority}>"


class EventQuerySet(models.QuerySet["Event"]):
    def oldest_first(self) -> EventQuerySet:
        return self.order_by("created_at", "id")

    def later_than(self, event: Event) -> EventQuerySet:
        same_moment = Q(created_at=event.created_at, id__lte=event.pk)
        return self.filter(created_at__gte=event.created_at).exclude(same_moment)

    def newest_first(self) -> EventQuerySet:
        return self.order_by("-created_at", "-id")

    def earlier_than(self, event: Event) -> EventQuerySet:
        same_moment = Q(created_at=event.created_at, id__gte=event.pk)
        return self.filter(created_at__lte=event.created_at).exclude(same_moment)

    def of_agent(self, agent: Agent, event_id: str) -> Event | None:
        """The agent's event with this id; None for events of other agents and for invalid ids."""
        return self.filter(agent=agent, pk=event_id).first() if is_id("evt", event_id) else None


class Event(models.Model):
    """Something that happened to an agent, serialised once. Kept even if the agent has no hook."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "evt"), editable=False)
    agent: models.ForeignKey[Agent, Agent] = models.ForeignKey(
        "agents.Agent", on_delete=models.CASCADE, related_name="events", db_index=False
    )
    type = models.CharField(max_length=20, choices=EventType.choices)
    body = models.TextField(help_text="The exact text that is signed and sent.")
    created_at = models.DateTimeField()  # no two events of an agent have the same
    # Set when the account first reads its events (webhooks/account_log.py): its order over all of its agents.
    account = models.CharField(max_length=40, blank=True, default="", db_default="")
    place = models.BigIntegerField(null=True, blank=True)

    objects: ClassVar[EventQuerySet] = EventQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # An agent's event log, oldest first.
            models.Index(fields=["agent", "created_at", "id"], name="event_log"),
            # The purge, and the operators' list.
            models.Index(fields=["created_at"], name="event_age"),
            models.Index(fields=["type", "-created_at", "-id"], name="event_type"),
            # An account's event log, and the events that have no place in it yet.
            models.Index(fields=["account", "place"], name="event_place", condition=Q(place__isnull=False)),
            models.Index(fields=["agent"], name="event_unplaced", condition=Q(place__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.type} ({self.id})"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def pending(self) -> DeliveryQuerySet:
        return self.filter(state=State.PENDING)

    def kept(self, *, since: datetime) -> DeliveryQuerySet:
        """Without deliveries that ended before `since` and only wait to be purged."""
        return self.filter(Q(finished_at__isnull=True) | Q(finished_at__gte=since))

    def newest_first(self) -> DeliveryQuerySet:
        return self.order_by("-created_at", "-event")

    def earlier_than(self, event: Event) -> DeliveryQuerySet:
        same_moment = Q(created_at=event.created_at, event_id__gte=event.pk)
        return self.filter(created_at__lte=event.created_at).exclude(same_moment)


class Delivery(models.Model):
    """The delivery of one event to one hook: a row of the outbox. Only webhooks/deliveries.py changes its state."""

    event = models.OneToOneField(Event, primary_key=True, on_delete=models.CASCADE, related_name="delivery")
    agent: models.ForeignKey[Agent, Agent] = models.ForeignKey(
        "agents.Agent", on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    is_test = models.BooleanField(default=False)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Attempts that have an outcome.")
    claims = models.PositiveSmallIntegerField(default=0, help_text="How many times a sender took it.")
    next_attempt_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_token = models.CharField(max_length=32, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=20, choices=Problem.choices, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    resent_by = models.CharField(
        max_length=80, blank=True, help_text="The operator or owner who last asked to send it again."
    )
    resent_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[DeliveryQuerySet] = DeliveryQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            # The claim: the next due delivery of each agent, tests first.
            models.Index(
                "agent",
                F("is_test").desc(),
                "next_attempt_at",
                name="delivery_next",
                condition=Q(state="pending"),
            ),
            # When is the next delivery due, and when does a lost lease end?
            models.Index(
                fields=["next_attempt_at"], name="delivery_due", condition=Q(state="pending", lease_until=None)
            ),
            models.Index(
                fields=["lease_until"], name="delivery_leased", condition=Q(state="pending", lease_until__isnull=False)
            ),
            # An agent's delivery log, newest first, and the purge.
            models.Index(fields=["agent", "-created_at", "-event"], name="delivery_log"),
            models.Index(fields=["finished_at"], name="delivery_ended", condition=Q(finished_at__isnull=False)),
            # The operators' list, newest first, and what fails in it.
            models.Index(fields=["-created_at", "-event"], name="delivery_newest"),
            models.Index(
                fields=["state", "-created_at", "-event"],
                name="delivery_unsent",
                condition=Q(state__in=["failed", "canceled"]),
            ),
            models.Index(fields=["error", "-created_at", "-event"], name="delivery_error", condition=~Q(error="")),
        ]

    def __str__(self) -> str:
        return f"{self.event_id}: {self.state}"

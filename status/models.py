"""The platform's own records: when each periodic job last succeeded, and incidents."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from config.ids import new_id
from status.announcements.models import Announcement, AnnouncementMail, AnnouncementText

__all__ = [
    "Announcement",
    "AnnouncementMail",
    "AnnouncementText",
    "DailyFact",
    "Incident",
    "IncidentStatus",
    "IncidentUpdate",
    "Loop",
]


class Loop(models.Model):
    """One periodic job of `config/celery.py: BEAT` and its last success."""

    name = models.CharField(primary_key=True, max_length=80)
    succeeded_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class IncidentStatus(models.TextChoices):
    INVESTIGATING = "investigating"
    IDENTIFIED = "identified"
    MONITORING = "monitoring"
    RESOLVED = "resolved"


class Incident(models.Model):
    """A message to customers, by an operator or by itself (status/watch).

    While it is open, its components are shown as degraded at best.
    """

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "inc"), editable=False)
    title = models.CharField(max_length=200)
    status = models.CharField(max_length=13, choices=IncidentStatus.choices, default=IncidentStatus.INVESTIGATING)
    started_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    components = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    opened_for = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The part for which it opened by itself.",
    )

    class Meta:
        ordering = ("-started_at", "-id")
        constraints = [
            # However many processes look at the platform, a part has one open incident.
            models.UniqueConstraint(
                fields=["opened_for"],
                condition=~models.Q(opened_for="") & models.Q(resolved_at__isnull=True),
                name="incident_one_open_for_each_part",
            ),
            # `resolved` and its time are set together, so that they never contradict each other.
            models.CheckConstraint(
                condition=models.Q(status="resolved", resolved_at__isnull=False)
                | (~models.Q(status="resolved") & models.Q(resolved_at__isnull=True)),
                name="incident_resolved_with_time",
                violation_error_message="resolvedAt is set when, and only when, the status is resolved",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class IncidentUpdate(models.Model):
    """What customers were told about an incident at one moment.

    Updates are only added, so that readers see the history.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="updates")
    at = models.DateTimeField(default=timezone.now)
    status = models.CharField(max_length=13, choices=IncidentStatus.choices)
    text = models.TextField(max_length=4_000, blank=True)
    automatic = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        ordering = ("-at", "-id")

    def __str__(self) -> str:
        return f"{self.status} {self.at:%Y-%m-%d %H:%M}"


class DailyFact(models.Model):
    """One figure of one day, for the overview of the console. Today's row holds what was measured last."""

    day = models.DateField()
    name = models.CharField(max_length=40)
    key = models.CharField(max_length=80, blank=True, help_text="For example the engine, if there is one figure each.")
    value = models.DecimalField(max_digits=24, decimal_places=2)
    measured_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["day", "name", "key"], name="daily_fact")]

    def __str__(self) -> str:
        return f"{self.name} {self.key} {self.day}"


# A half minute is good if a web process took its sample, the database answered, and web failed one request in a hundred
# at most (docs/reference/slos.md).
_BAD = Q(down__contains=["database"]) | Q(requests__lt=F("failed") * 100)


class HealthSampleQuerySet(models.QuerySet["HealthSample"]):
    def bad(self) -> HealthSampleQuerySet:
        return self.filter(_BAD)

    def good(self) -> HealthSampleQuerySet:
        return self.filter(~_BAD)


class HealthSample(models.Model):
    """What was down in one half minute, and how many requests web answered and failed in it (status/watch)."""

    at = models.DateTimeField(primary_key=True)
    down = ArrayField(models.CharField(max_length=80), default=list)
    requests = models.PositiveBigIntegerField(default=0)
    failed = models.PositiveBigIntegerField(default=0)

    objects: ClassVar[HealthSampleQuerySet] = HealthSampleQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name = "half minute"

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"

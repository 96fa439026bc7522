"""Who publishes personas, and which personas operators took down."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from catalog.fields import Paragraphs
from config.ids import new_id

NAME_LENGTH = 60
REASON_LENGTH = 2_000
ACTOR_LENGTH = 80


class Author(models.Model):
    """A person who writes personas. The row is created with their first persona."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="author"
    )
    name = models.CharField(
        max_length=NAME_LENGTH, help_text="The name that is shown with each of the author's personas."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    banned_at = models.DateTimeField(null=True, blank=True, editable=False)
    banned_by = models.CharField(max_length=ACTOR_LENGTH, blank=True, editable=False)
    ban_reason = Paragraphs(blank=True, editable=False, max_length=REASON_LENGTH)

    class Meta:
        ordering: ClassVar = ["-created_at", "user"]

    def __str__(self) -> str:
        return self.name

    @property
    def banned(self) -> bool:
        return self.banned_at is not None


class Takedown(models.Model):
    """A persona that an operator unpublished. Kept for good, even if the persona is deleted."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "tkd"), editable=False)
    persona = models.ForeignKey(
        "catalog.Persona", on_delete=models.SET_NULL, null=True, blank=True, related_name="takedowns"
    )
    slug = models.CharField(max_length=80, help_text="The persona's id.")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="takedowns")
    reason = Paragraphs(max_length=REASON_LENGTH, help_text="The text that was mailed to the author.")
    taken_down_at = models.DateTimeField(default=timezone.now)
    taken_down_by = models.CharField(max_length=ACTOR_LENGTH)

    class Meta:
        ordering: ClassVar = ["-taken_down_at", "-id"]

    def __str__(self) -> str:
        return f"{self.slug} on {self.taken_down_at:%Y-%m-%d}"


def in_queue() -> Q:
    """Published personas that no moderator has passed since they were published or changed."""
    return Q(status="published", reviewed_at__isnull=True)

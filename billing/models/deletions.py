"""Accounts whose owners asked for their deletion."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.ids import new_id


class DeletionStage(models.TextChoices):
    ASKED = "asked"  # the owner may still call it off
    CLOSING = "closing"  # nobody can sign in any more; agents, backups and cards are ending
    DONE = "done"
    CALLED_OFF = "called_off"


OPEN = (DeletionStage.ASKED, DeletionStage.CLOSING)


class AccountDeletion(models.Model):
    """One request for a deletion. Only billing/leaving/closing.py writes these. `due_at` is when a worker continues."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "del"), editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="deletions")
    stage = models.CharField(max_length=10, choices=DeletionStage.choices, default=DeletionStage.ASKED)
    lang = models.CharField(max_length=8)
    asked_at = models.DateTimeField()
    closes_at = models.DateTimeField(help_text="Until when the owner can cancel the deletion.")
    wound_down_at = models.DateTimeField(
        null=True, blank=True, help_text="When its agents were paused and its renewals cancelled."
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True, help_text="When the deletion was finished or cancelled.")
    due_at = models.DateTimeField(null=True, blank=True)
    waits_for = models.CharField(max_length=200, blank=True, db_default="", help_text="What the deletion waits for.")

    class Meta:
        ordering = ("-asked_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], name="deletion_due", condition=Q(due_at__isnull=False)),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user"], condition=Q(done_at__isnull=True), name="deletion_one_open"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.stage}"

"""Files with a person's data. A worker makes them."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.ids import new_id


class ExportState(models.TextChoices):
    ASKED = "asked"
    MADE = "made"
    FAILED = "failed"


class DataExport(models.Model):
    """One request for an export.

    Only billing/leaving/exports.py writes these. `due_at` is when a worker takes it next.
    """

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "exp"), editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="data_exports")
    state = models.CharField(max_length=6, choices=ExportState.choices, default=ExportState.ASKED)
    lang = models.CharField(max_length=8)
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField(null=True, blank=True)
    forget_at = models.DateTimeField(help_text="When the file and this row are deleted.")
    size = models.PositiveIntegerField(default=0)
    file = models.BinaryField(null=True, editable=False)

    class Meta:
        ordering = ("-asked_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], name="export_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["forget_at"], name="export_over"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user"], condition=Q(state="asked"), name="export_one_open"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.state}"

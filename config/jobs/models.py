"""The tables of jobs and their rows."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models

from config.ids import new_id

REASON_LENGTH = MESSAGE_LENGTH = 500


class JobState(models.TextChoices):
    DRAFT = "draft"
    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"


class JobRowState(models.TextChoices):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Job(models.Model):
    """A step of operators on many rows. Only config/jobs writes these rows."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "job"), editable=False)
    kind = models.CharField(max_length=120, help_text="The list and the step: agents.agent.pause_agents.")
    state = models.CharField(max_length=7, choices=JobState.choices, default=JobState.DRAFT)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", help_text="Who last started it."
    )
    chosen = models.CharField(max_length=500, blank=True, help_text="How the rows were chosen.")
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    fields = models.JSONField(default=dict, help_text="What the operator typed: lists of texts by the field's name.")
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    pace = models.PositiveIntegerField("rows per minute", help_text="At most so many rows are begun in a minute.")
    note = models.CharField(max_length=MESSAGE_LENGTH, blank=True, help_text="Why it stopped by itself.")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField(help_text="When its state last changed.")
    next_at = models.DateTimeField(help_text="When its next row may begin.")

    class Meta:
        ordering = ("-created_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at", "-id"], name="job_newest"),
            models.Index(fields=["next_at"], condition=models.Q(state="running"), name="job_due"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def left(self) -> int:
        return self.total - self.done - self.failed - self.skipped


class JobRow(models.Model):
    """One row of a job, and what came of it."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="rows")
    object_id = models.CharField(max_length=255)
    state = models.CharField(max_length=7, choices=JobRowState.choices, default=JobRowState.PENDING)
    tries = models.PositiveSmallIntegerField(default=0, help_text="How often a worker began it.")
    message = models.CharField(max_length=MESSAGE_LENGTH, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["job", "object_id"], name="job_row_once")
        ]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["job", "state", "id"], name="job_row_state")]

    def __str__(self) -> str:
        return self.object_id

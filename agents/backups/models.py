"""An agent's repository and its backups: those that can be restored, and the one that is being made."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from config.crypto import EncryptedText
from config.ids import new_id


class Kind(models.TextChoices):
    """Why a backup was made."""

    ASKED = "asked"
    NIGHTLY = "nightly"
    REBUILD = "rebuild"  # before a rebuild or a restore
    STOP = "stop"  # before the agent is stopped
    FINAL = "final"  # before the agent is deleted


class Stage(models.TextChoices):
    WANTED = "wanted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    REMOVED = "removed"  # deleted by its owner; a worker still has to remove it from the store


OPEN = (Stage.WANTED, Stage.RUNNING)


class Repository(models.Model):
    """The place of all backups of one agent. Only restic gets its password."""

    agent = models.OneToOneField("agents.Agent", on_delete=models.PROTECT, primary_key=True, related_name="repository")
    password = EncryptedText()
    credential = EncryptedText(
        null=True, blank=True, help_text="The credential with which a pod reads the backups during a restore."
    )
    credential_for = models.CharField(max_length=60, blank=True, help_text="The restore that the credential is for.")
    made_at = models.DateTimeField(null=True, blank=True, help_text="When it was created in the store.")

    failures = models.PositiveIntegerField(default=0, help_text="Number of failed backups since the last good one.")
    failure = models.TextField(blank=True, help_text="Why the last backup failed.")
    failed_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="When it is removed from the store, because its agent is deleted."
    )

    # The weekly drill (agents/backups/drills.py).
    drill_due_at = models.DateTimeField(null=True, blank=True, db_default=Now())
    drilled_at = models.DateTimeField(null=True, blank=True, help_text="When the last drill ended.")
    drilled_backup = models.CharField(
        max_length=60, blank=True, db_default="", help_text="The backup that was used in the last drill."
    )
    drill_said = models.TextField(blank=True, db_default="", help_text="What the last drill checked without a problem.")
    drill_failure = models.TextField(blank=True, db_default="", help_text="Why the last drill failed.")

    class Meta:
        indexes = [
            models.Index(fields=["drill_due_at"], name="repository_drill_due", condition=Q(drill_due_at__isnull=False)),
            models.Index(fields=["expires_at"], name="repository_expires", condition=Q(expires_at__isnull=False)),
            models.Index(fields=["agent"], name="repository_failing", condition=Q(failures__gt=0)),
        ]
        verbose_name_plural = "repositories"

    def __str__(self) -> str:
        return f"repository of {self.agent_id}"


class BackupQuerySet(models.QuerySet["Backup"]):
    def there(self) -> BackupQuerySet:
        """Backups that can be restored, the newest first."""
        return self.filter(stage=Stage.DONE).order_by("-taken_at", "-id")

    def due(self, now: datetime) -> BackupQuerySet:
        """Backups with a step due. Uses the partial index `backup_due`."""
        return self.filter(look_at__lte=now).exclude(stage=Stage.WANTED).order_by("look_at")

    def waiting(self) -> BackupQuerySet:
        """Backups that have no place yet, the oldest first. Uses the partial index `backup_waiting`."""
        return self.filter(stage=Stage.WANTED).order_by("asked_at", "id")


class Backup(models.Model):
    """One backup of an agent's data: a snapshot in its repository, known to owners by its name."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "bkp"), editable=False)
    agent = models.ForeignKey("agents.Agent", on_delete=models.PROTECT, related_name="backups")
    name = models.CharField(max_length=60)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    namespace = models.CharField(max_length=63, help_text="The pod that makes it.")
    generation = models.PositiveIntegerField(help_text="The agent's generation when the backup was requested.")
    actor = models.CharField(max_length=80)
    stage = models.CharField(max_length=8, choices=Stage.choices, default=Stage.WANTED)
    asked_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True, help_text="When restic began to read the data.")
    ended_at = models.DateTimeField(null=True, blank=True)
    look_at = models.DateTimeField(
        null=True, blank=True, help_text="When the next step is due. Null: the backup waits for its turn, or has ended."
    )
    misses = models.PositiveIntegerField(default=0, help_text="How many times in a row its pod did not answer.")
    credential = EncryptedText(null=True, blank=True, help_text="The credential with which the pod writes the backup.")
    snapshot = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0)
    broken = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Number of databases that were locked or damaged during the backup."
    )
    note = models.TextField(blank=True, help_text="Why it failed, or what is wrong with it.")

    objects: ClassVar[BackupQuerySet] = BackupQuerySet.as_manager()  # type: ignore[assignment]  # a manager with all its methods

    class Meta:
        indexes = [
            models.Index(fields=["agent", "-taken_at", "-id"], name="backup_there", condition=Q(stage="done")),
            # The operators' list, and the failed ones in it.
            models.Index(fields=["-asked_at", "-id"], name="backup_newest"),
            models.Index(fields=["-asked_at", "-id"], name="backup_failed", condition=Q(stage="failed")),
            models.Index(fields=["look_at"], name="backup_due", condition=Q(look_at__isnull=False)),
            models.Index(fields=["asked_at", "id"], name="backup_waiting", condition=Q(stage="wanted")),
            models.Index(fields=["taken_at"], name="backup_running", condition=Q(stage="running")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["agent", "name"], name="backup_name"),
            # Only one is made at a time: asking again joins it.
            models.UniqueConstraint(
                fields=["agent"], name="backup_open_once", condition=Q(stage__in=["wanted", "running"])
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Backup {self.id} {self.stage}>"

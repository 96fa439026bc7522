"""The rows of the audit log."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import OpClass
from django.db import models


class AuditEntry(models.Model):
    """One thing that a person did in the console, all as text: the row outlives the person and the object.

    PostgreSQL refuses to change or remove a row. The one exception: when a customer's account is erased, the name of
    the object, the reason and the changes are emptied in rows that name the customer (accounts/personal.py).
    """

    at = models.DateTimeField()
    who = models.CharField(max_length=254, blank=True, help_text="Empty if nobody was signed in.")
    who_id = models.CharField("user id", max_length=40, blank=True)
    address = models.CharField(max_length=64, blank=True)
    verb = models.CharField("what", max_length=120)
    kind = models.CharField("kind of object", max_length=80, blank=True)
    object_id = models.CharField(max_length=255, blank=True)
    label = models.CharField("object", max_length=200, blank=True)
    reason = models.TextField(blank=True)
    changes = models.JSONField(default=list, help_text="Lists of three texts: the field's name, the old and new value.")

    class Meta:
        verbose_name = "audit log entry"
        verbose_name_plural = "audit log"
        ordering = ("-at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-at", "-id"], name="audit_newest"),
            models.Index(fields=["verb", "-at", "-id"], name="audit_verb"),
            models.Index(fields=["who", "-at"], name="audit_who"),
            models.Index(fields=["who_id", "-at"], name="audit_who_id"),
            models.Index(fields=["address", "-at"], name="audit_address"),
            models.Index(fields=["object_id", "-at"], name="audit_object_id"),
            models.Index(OpClass("label", "varchar_pattern_ops"), name="audit_label"),
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.at:%Y-%m-%d %H:%M}", self.who or "nobody", self.verb, self.label)))

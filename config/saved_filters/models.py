"""The table of saved filters."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models

from config.ids import new_id

NAME_LENGTH = 60
QUERY_LENGTH = 2_000


class SavedFilter(models.Model):
    """A list's filters and search under a name. It is only an address: what it shows, the list itself decides."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "flt"), editable=False)
    listed = models.CharField("list", max_length=120, help_text="The list's model: agents.agent.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=NAME_LENGTH)
    query = models.CharField(max_length=QUERY_LENGTH, blank=True)
    moving = models.JSONField(
        default=dict, help_text="Ranges of dates that follow the clock, by column: at is “Last 24 hours”."
    )
    is_shared = models.BooleanField("shared with colleagues", default=False)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("name", "id")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["owner", "listed", "name"], name="saved_filter_name")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["listed", "name"], condition=models.Q(is_shared=True), name="saved_filter_shared")
        ]

    def __str__(self) -> str:
        return self.name

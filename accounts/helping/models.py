"""Notes of operators about people, and the looks of operators at people's pages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from config.ids import new_id

if TYPE_CHECKING:
    from accounts.models import User

ID_LENGTH = 40
REASON_LENGTH = 500
PLACE_LENGTH = 200


class PersonNote(models.Model):
    """What an operator wrote down about a person. Notes are added and never changed; PostgreSQL refuses a change.

    They are deleted with the account, and the person gets them in the export of their data.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "nte"), editable=False)
    user: models.ForeignKey[User, User] = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notes", db_index=False
    )
    author = models.CharField(max_length=254, help_text="The operator's e-mail address when it was written.")
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        verbose_name = "note about a person"
        verbose_name_plural = "notes about people"
        ordering = ("-at", "-id")
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["user", "-at", "-id"], name="note_newest")]

    def __str__(self) -> str:
        return f"{self.author} at {self.at:%Y-%m-%d %H:%M}"


class StaffLook(models.Model):
    """An operator's look at a person's pages as the person sees them. Only accounts/helping/looks.py writes it."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "lok"), editable=False)
    user: models.ForeignKey[User, User] = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="looks", db_index=False
    )
    operator: models.ForeignKey[User, User] = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    console = models.CharField(
        max_length=64, blank=True, editable=False, help_text="The key of the operator's session in the console."
    )
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    began_at = models.DateTimeField()
    ends_at = models.DateTimeField(help_text="When it ends by itself.")
    ended_at = models.DateTimeField(null=True, blank=True)
    places = ArrayField(
        models.CharField(max_length=PLACE_LENGTH), default=list, help_text="The pages that were looked at."
    )

    class Meta:
        verbose_name = "look at an account"
        verbose_name_plural = "looks at accounts"
        ordering = ("-began_at", "-id")
        permissions = (("see_as_person", "Can see people's pages as they see them"),)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["user", "-began_at", "-id"], name="look_newest"),
            models.Index(fields=["ends_at"], name="look_open", condition=models.Q(ended_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.operator_id} at {self.user_id}, {self.began_at:%Y-%m-%d %H:%M}"

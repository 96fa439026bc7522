"""Announcements, their translations, and who has got which one by mail."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from config.ids import new_id

TITLE_LENGTH, TEXT_LENGTH = 120, 8_000
MARKDOWN = "Markdown: paragraphs, lists, links, *emphasis*. HTML is shown as text."


class Announcement(models.Model):
    """News of operators, in English. Translations are rows of AnnouncementText."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "ann"), editable=False)
    title = models.CharField(max_length=TITLE_LENGTH, help_text="In English. It is the subject of the mail too.")
    text = models.TextField(max_length=TEXT_LENGTH, help_text=f"In English. {MARKDOWN}")
    shown_from = models.DateTimeField(null=True, blank=True, help_text="The banner is shown from this time, in UTC.")
    shown_until = models.DateTimeField(null=True, blank=True, help_text="And until this time. Both empty: no banner.")
    on_status_page = models.BooleanField(default=True, help_text="Show the banner on the public status page too.")
    may_be_muted = models.BooleanField(
        "optional news",
        default=True,
        help_text="Its mail does not go to people who turned off news. Untick only for what people would lose money or"
        " data without.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created_at", "-id")
        permissions = (("mail_announcement", "Can mail announcements to people"),)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=models.Q(shown_from__isnull=True, shown_until__isnull=True)
                | models.Q(shown_until__gt=models.F("shown_from")),
                name="announcement_shown_between",
                violation_error_message="a banner needs both times, the second after the first",
            )
        ]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["shown_until"], name="announcement_shown")]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        if (self.shown_from is None) != (self.shown_until is None):
            raise ValidationError("a banner needs both times, the second after the first")


class AnnouncementText(models.Model):
    """An announcement in another language."""

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="texts")
    lang = models.CharField("language", max_length=10)
    title = models.CharField(max_length=TITLE_LENGTH)
    text = models.TextField(max_length=TEXT_LENGTH, help_text=MARKDOWN)

    class Meta:
        verbose_name = "translation"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["announcement", "lang"], name="announcement_text_once")
        ]

    def __str__(self) -> str:
        return self.lang


class AnnouncementMail(models.Model):
    """An announcement was mailed to this person: nobody gets it twice, whatever jobs there are."""

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="mails")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["announcement", "user"], name="announcement_mailed_once")
        ]

    def __str__(self) -> str:
        return f"{self.announcement_id} to {self.user_id}"

"""The step that mails an announcement to a person. The job of an announcement does it for many."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet

from accounts import letters, mail_choices
from accounts.models import User
from config.admin_steps import Given, Logged, ReasonForm, Step
from status.announcements import groups, wording
from status.announcements.models import Announcement, AnnouncementMail


class SendForm(ReasonForm):
    field_order = ("announcement", "reason")

    announcement = forms.ModelChoiceField(Announcement.objects.all())


class SendAnnouncement(Step[User]):
    name, title, button, done = "send_announcement", "Mail an announcement", "Mail it", "Mailed"
    model = User
    permission = "mail"
    bulk, pace = True, 60
    form = SendForm
    warnings = (
        "Each person gets one mail, in their language if there is a translation, otherwise in English.",
        "Who got this announcement before, or turned such mails off, does not get it.",
    )

    def among(self, chosen: QuerySet[Any]) -> QuerySet[Any]:
        return groups.people() & chosen

    def shown(self, row: User) -> dict[str, str]:
        return {"account": row.email, "language": row.lang, "since": f"{row.created_at:%Y-%m-%d}"}

    def take(self, row: User, *, given: Given) -> Logged | None:
        """The letter and the note of it are of one transaction. The job is recorded, not each of its letters."""
        announcement: Announcement = given.fields["announcement"]
        once = {"announcement": announcement, "user": row}
        if not AnnouncementMail.objects.get_or_create(**once, defaults={"at": given.now})[1]:
            given.say("Was mailed before.")
            return []
        mail = wording.mail(announcement, lang=mail_choices.language(row, otherwise=row.lang))
        if letters.carry(row.pk, mail) is None:
            AnnouncementMail.objects.filter(**once).delete()
            given.say("Not mailed: the person turned such mails off.")
        return []

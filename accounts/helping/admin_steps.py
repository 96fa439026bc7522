"""Steps of a person's page: add a note, see the pages as the person sees them."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponseRedirect

from accounts.helping import looks, notes
from accounts.models import User
from config.admin_steps import Given, Logged, Step, in_words

ACCOUNT = "/account"
COOKIE_KEPT = 24 * 3_600  # seconds; longer than a look, so that a page says that it has ended


class NoteForm(forms.Form):
    reason = forms.CharField(
        max_length=notes.NOTE_LENGTH,
        validators=[in_words],
        label="Note",
        widget=forms.Textarea(attrs={"rows": 4, "cols": 80}),
        help_text="Other operators see it, and the person gets it in the export of their data. Nobody can change it.",
    )


class PersonStep(Step[User]):
    model = User
    alone = True
    material: ClassVar[tuple[str, ...]] = ("account",)

    def among(self, chosen: QuerySet[User]) -> QuerySet[User]:
        return chosen.filter(closed_at=None)

    def shown(self, row: User) -> dict[str, str]:
        return {
            "id": row.pk,
            "account": row.email,
            "active": "yes" if row.is_active else "no",
            "staff": "yes" if row.is_staff or row.is_superuser else "no",
        }


class AddNote(PersonStep):
    name, title, button, done = "add_note", "Add a note", "Add the note", "Note added"
    permission = "note"
    form = NoteForm

    def take(self, row: User, *, given: Given) -> Logged | None:
        notes.add(row, text=given.reason, author=given.user, now=given.now)
        return None


class SeeAsPerson(PersonStep):
    name, title, button, done = "see_as_person", "See as they see", "See as they see", "Begun"
    permission = "look"
    material = ("account", "staff")
    warnings = (
        "You see the person's account pages for fifteen minutes at most, in this browser. You can change nothing, and"
        " no secret is shown.",
        "Conversations, memory and downloads stay closed.",
        "The audit log has your name, the reason and each page that you look at. The person sees in the list of"
        " sign-ins that support looked at the account, and when.",
        "If you are signed in here with an account of your own, you see it again after the end.",
    )

    def among(self, chosen: QuerySet[User]) -> QuerySet[User]:
        return super().among(chosen).filter(is_staff=False, is_superuser=False)

    def take(self, row: User, *, given: Given) -> Logged | None:
        request: Any = given.request  # there is one: this step is never a job
        console = request.session.session_key
        _look, token = looks.begin(row, operator=given.user, console=console, reason=given.reason, now=given.now)
        answer = HttpResponseRedirect(ACCOUNT)
        answer.set_cookie(
            settings.LOOK_COOKIE_NAME,
            token,
            max_age=COOKIE_KEPT,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Strict",
        )
        given.answers.append(answer)
        return None

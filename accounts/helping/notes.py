"""Notes of operators about a person."""

from __future__ import annotations

from datetime import datetime

from accounts.helping.models import PersonNote
from accounts.models import User

NOTE_LENGTH = 2_000


def add(user: User, *, text: str, author: User, now: datetime) -> PersonNote:
    return PersonNote.objects.create(user=user, text=text, author=author.email, at=now)


def of(user: User, *, most: int) -> list[PersonNote]:
    """The notes about this person, newest first."""
    return list(PersonNote.objects.filter(user=user)[:most])

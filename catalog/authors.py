"""Authors: the display name under which a person's personas appear, and whether they may write at all."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django.db import transaction

from catalog import version
from catalog.files import HOUSE_AUTHOR
from catalog.models import Author, Persona
from catalog.vocabulary import PersonaStatus
from config.errors import BadRequest, Forbidden

SHOWN_CHARACTERS = 6


class Banned(Forbidden):
    def __init__(self) -> None:
        super().__init__(
            "this account may no longer write or publish personas, as its owner was told by e-mail;"
            " reading, unpublishing and deleting them still work"
        )


class ReservedName(BadRequest):
    def __init__(self) -> None:
        super().__init__(f"name: {HOUSE_AUTHOR} is the author of the built-in personas; choose another")


def of(user_id: str) -> Author:
    """The author that this user is, or will be with their first persona. Never anything of their e-mail address."""
    known = Author.objects.filter(pk=user_id).first()
    return known or Author(user_id=user_id, name=f"Author {user_id[-SHOWN_CHARACTERS:]}")


def held(user_id: str) -> Author:
    """The author's row, made where it is missing, locked: an author's writes come one after the other.

    Whoever also locks a persona locks its author first.
    """
    if found := Author.objects.select_for_update().filter(pk=user_id).first():
        return found
    Author.objects.bulk_create([of(user_id)], ignore_conflicts=True)
    return Author.objects.select_for_update().get(pk=user_id)


def allowed(user_id: str) -> None:
    """Tell a banned author early, before work that `writing` would make vain. Raises Banned."""
    if of(user_id).banned:
        raise Banned


def writing(user_id: str) -> Author:
    """The same for what a banned author may not do. Raises Banned."""
    author = held(user_id)
    if author.banned:
        raise Banned
    return author


@transaction.atomic
def rename(user_id: str, *, name: str, now: datetime) -> Author:
    """Show this name with all their personas; published ones go back to the moderators. Raises Banned, ReservedName."""
    if _folded(name).startswith(_folded(HOUSE_AUTHOR)):
        raise ReservedName
    author = writing(user_id)
    if author.name == name:
        return author
    author.name = name
    author.save(update_fields=["name"])
    own = Persona.objects.filter(owner_id=user_id)
    own.hold()
    own.update(author=name, updated_at=now)
    if own.filter(status=PersonaStatus.PUBLISHED).update(reviewed_at=None):
        version.bump()
    return author


def _folded(name: str) -> str:
    """Letters and digits alone, however they are written."""
    return "".join(character for character in unicodedata.normalize("NFKC", name).casefold() if character.isalnum())

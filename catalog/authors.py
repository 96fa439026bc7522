"""Authors: the display name under which a person's personas appear, and whether they may write at all."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

from django.db import transaction

from catalog import version
from catalog.files import HOUSE_AUTHOR
from catalog.models import Author, Persona
from catalog.vocabulary import PersonaStatus
from config.errors import BadRequest, Forbidden

SHOWN_CHARACTERS = 6
# Of Unicode's characters: categories, the scripts that are written among others, and names such as "NEGATIVE CIRCLED
# LATIN CAPITAL LETTER A", "LATIN LETTER SMALL CAPITAL A", "LATIN SMALL LETTER A WITH STROKE".
LETTERS = {"Lu", "Ll", "Lt", "Lo"}
EASTERN = {"BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA"}
LETTER = re.compile(r" LETTER (?:SMALL CAPITAL |SCRIPT )?([A-Z])(?: WITH .*)?$")


class Banned(Forbidden):
    def __init__(self) -> None:
        super().__init__(
            "this account may no longer write or publish personas, as its owner was told by e-mail;"
            " reading, unpublishing and deleting them still work"
        )


class ReservedName(BadRequest):
    def __init__(self) -> None:
        super().__init__(f"name: {HOUSE_AUTHOR} is the author of the built-in personas; choose a name without it")


class MixedScripts(BadRequest):
    def __init__(self, word: str) -> None:
        super().__init__(f"name: {word!r} has letters of several scripts and could show as another; use those of one")


def of(user_id: str) -> Author:
    """The author that this user is, or will be with their first persona. Never anything of their e-mail address."""
    known = Author.objects.filter(pk=user_id).first()
    return known or Author(user_id=user_id, name=unnamed(user_id))


def unnamed(user_id: str) -> str:
    """The name of an author who has chosen none, or is gone."""
    return f"Author {user_id[-SHOWN_CHARACTERS:]}"


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
    """Show this name with all their personas; published ones go back to the moderators.

    Raises Banned, MixedScripts, ReservedName.
    """
    _check(name)
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


def _check(name: str) -> None:
    """No name shows as ours or, by letters that look alike, as another."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    if HOUSE_AUTHOR.casefold() in "".join(filter(str.isalnum, map(_spelled, plain))).casefold():
        raise ReservedName
    for word in re.findall(r"[^\W_]+", plain):
        if len(_scripts(word) - EASTERN) > 1:
            raise MixedScripts(word)


def _spelled(character: str) -> str:
    """The letter that it is a picture or a variant of."""
    found = LETTER.search(unicodedata.name(character, ""))
    return found[1] if found else character


def _scripts(word: str) -> set[str]:
    """With which the names of its letters begin."""
    return {unicodedata.name(each, "").partition(" ")[0] for each in word if unicodedata.category(each) in LETTERS}

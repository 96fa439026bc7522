"""Authors: the display name of a person who writes personas, and whether they may write at all."""

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
# Unicode categories of letters, scripts that are normally mixed in one text, and a pattern for names such as "NEGATIVE
# CIRCLED LATIN CAPITAL LETTER A", "LATIN LETTER SMALL CAPITAL A", "LATIN SMALL LETTER A WITH STROKE".
LETTERS = {"Lu", "Ll", "Lt", "Lo"}
EASTERN = {"BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA"}
LETTER = re.compile(r" LETTER (?:SMALL CAPITAL |SCRIPT )?([A-Z])(?: WITH .*)?$")


class Banned(Forbidden):
    message = (
        "this account may no longer write or publish personas, as its owner was told by e-mail;"
        " reading, unpublishing and deleting them still work"
    )


class ReservedName(BadRequest):
    message = f"name: {HOUSE_AUTHOR} is the author of the built-in personas; choose a name without it"


class MixedScripts(BadRequest):
    def __init__(self, word: str) -> None:
        super().__init__(
            f"name: {word!r} mixes letters of several scripts and could be read as another name; use one script"
        )


def of(user_id: str) -> Author:
    """The user's author row, or the one that their first persona will create.

    The name contains nothing of their e-mail.
    """
    known = Author.objects.filter(pk=user_id).first()
    return known or Author(user_id=user_id, name=unnamed(user_id))


def unnamed(user_id: str) -> str:
    """The name of an author who has chosen no name, or who is gone."""
    return f"Author {user_id[-SHOWN_CHARACTERS:]}"


def held(user_id: str) -> Author:
    """Lock the author's row, and create it if needed, so that an author's writes run one after the other.

    Code that also locks a persona locks its author first.
    """
    if found := Author.objects.select_for_update().filter(pk=user_id).first():
        return found
    Author.objects.bulk_create([of(user_id)], ignore_conflicts=True)
    return Author.objects.select_for_update().get(pk=user_id)


def allowed(user_id: str) -> None:
    """Refuse a banned author early, before work that `writing` would refuse in the end. Raises Banned."""
    if of(user_id).banned:
        raise Banned


def writing(user_id: str) -> Author:
    """Lock the author's row for a write. Raises Banned."""
    author = held(user_id)
    if author.banned:
        raise Banned
    return author


@transaction.atomic
def rename(user_id: str, *, name: str, now: datetime) -> Author:
    """Show this name with all personas of the author. Published personas return to the moderators.

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
    """Refuse a name that looks like ours, or that could look like another name because it mixes scripts."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    if HOUSE_AUTHOR.casefold() in "".join(filter(str.isalnum, map(_spelled, plain))).casefold():
        raise ReservedName
    for word in re.findall(r"[^\W_]+", plain):
        if len(_scripts(word) - EASTERN) > 1:
            raise MixedScripts(word)


def _spelled(character: str) -> str:
    """The Latin letter of which the character is a picture or a variant; else the character itself."""
    found = LETTER.search(unicodedata.name(character, ""))
    return found[1] if found else character


def _scripts(word: str) -> set[str]:
    """The scripts of the word's letters: the first word of each letter's Unicode name."""
    return {unicodedata.name(each, "").partition(" ")[0] for each in word if unicodedata.category(each) in LETTERS}

"""Mails to people, for apps that do not know accounts: what is written here, accounts keeps and delivers.

A mail is `templates/emails/<name>.<language>.txt`; its first line is the subject. The HTML is made from the text, so
what a mail quotes is escaped in one place.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.template import TemplateDoesNotExist
from django.template.loader import get_template, render_to_string

SUBJECT = "Subject: "
FALLBACK = "en"
LINE_LENGTH = 200

# What ends a line, and what turns the text after it around.
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
_TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail in the reader's language, not yet written to anybody."""

    subject: str
    text: str
    html: str
    lang: str
    name: str = ""  # of its template


Writer = Callable[[str, Mail], object]
_writers: list[Writer] = []


def carried_by(writer: Writer) -> None:
    """Name who writes mails down and delivers them; done once, when applications start."""
    _writers[:] = [writer]


def write(user_id: str, mail: Mail) -> None:
    """Have the mail delivered to this user once the current transaction commits, and not if it does not."""
    (writer,) = _writers
    writer(user_id, mail)


def rendered(name: str, /, *, lang: str, **context: object) -> Mail:
    """The mail of this name, in English where it is not in this language."""
    language = _language(name, lang)
    text = render_to_string(_path(name, language), {**context, "base_url": settings.BASE_URL})
    subject, _, body = text.partition("\n")
    subject, body = one_line(subject.removeprefix(SUBJECT)), body.strip() + "\n"
    html = render_to_string("emails/letter.html", {"subject": subject, "text": body.strip(), "lang": language})
    return Mail(subject, body, html, language, name)


def one_line(text: str, *, at_most: int = LINE_LENGTH) -> str:
    """Of what somebody wrote, what can stand in a line of ours: a subject, a sentence."""
    seen = ("" if character in _TURNING else _seen(character) for character in text)
    line = " ".join("".join(seen).split())
    return line if len(line) <= at_most else line[: at_most - 1] + "…"


def _seen(character: str) -> str:
    return " " if unicodedata.category(character) in _UNSEEN else character


def _language(name: str, lang: str) -> str:
    try:
        get_template(_path(name, lang))
    except TemplateDoesNotExist:
        return FALLBACK
    return lang


def _path(name: str, language: str) -> str:
    return f"emails/{name}.{language}.txt"

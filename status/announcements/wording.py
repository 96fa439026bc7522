"""An announcement in a reader's language, as text, as HTML and as a mail."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from catalog import markdown
from config import outgoing_mail
from config.outgoing_mail import Mail
from status.announcements.models import Announcement

ENGLISH = "en"
NEWS, NOTICE = "announcement", "notice"


@dataclass(frozen=True, slots=True)
class Wording:
    lang: str
    title: str
    text: str

    @property
    def html(self) -> SafeString:
        return markdown.to_html(self.text)


def wordings(announcement: Announcement) -> dict[str, Wording]:
    """Its texts by language. English is always there."""
    english = Wording(ENGLISH, announcement.title, announcement.text)
    others = {one.lang: Wording(one.lang, one.title, one.text) for one in announcement.texts.all()}
    return {ENGLISH: english, **others}


def in_language(announcement: Announcement, lang: str) -> Wording:
    known = wordings(announcement)
    return known.get(lang, known[ENGLISH])


def name_of_mail(announcement: Announcement) -> str:
    """News may be turned off by the reader, a notice may not."""
    return NEWS if announcement.may_be_muted else NOTICE


def mail(announcement: Announcement, *, lang: str) -> Mail:
    """The mail, wholly in one language: the reader's if there is a translation, otherwise English."""
    told = in_language(announcement, lang)
    return outgoing_mail.rendered(
        name_of_mail(announcement), lang=told.lang, rich=told.html, title=told.title, text=told.text
    )

"""The languages of the pages, which one a visitor gets, and the address of a page in each."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.urls.converters import StringConverter
from django.utils.translation.trans_real import parse_accept_lang_header

from catalog.vocabulary import Lang


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    code: str  # BCP 47: in addresses, `lang` and `hreflang`
    label: str  # in itself
    texts: Lang | None  # whose localizations of personas it shows; English is the persona itself
    locale: str  # Open Graph


ENGLISH = Language(code="en", label="English", texts=None, locale="en_US")
LANGUAGES = {
    language.code: language
    for language in (
        ENGLISH,
        Language(code="ru", label=Lang.RU.label, texts=Lang.RU, locale="ru_RU"),
        Language(code="es", label=Lang.ES.label, texts=Lang.ES, locale="es_LA"),
        Language(code="pt", label=Lang.PT.label, texts=Lang.PT, locale="pt_BR"),
        Language(code="tr", label=Lang.TR.label, texts=Lang.TR, locale="tr_TR"),
        Language(code="id", label=Lang.IND.label, texts=Lang.IND, locale="id_ID"),
    )
}
WIRE = {language.texts or "en": language for language in LANGUAGES.values()}  # by the API's word for it


class LanguageConverter(StringConverter):
    """The first word of a page's path."""

    regex = "|".join(LANGUAGES)

    def to_python(self, value: str) -> Language:  # type: ignore[override]  # a word of the path becomes more than text
        return LANGUAGES[value]

    def to_url(self, value: Language) -> str:  # type: ignore[override]
        return value.code


def preferred(accept_language: str) -> Language:
    """The first language of the header that we have, by its weight; else English. A weight of 0 refuses one."""
    for tag, weight in parse_accept_lang_header(accept_language.lower()):
        if weight and (language := LANGUAGES.get(tag.partition("-")[0])):
            return language
    return ENGLISH


def asked(word: str) -> Language | None:
    """The language that `?lang=` names, by its code or by the API's word."""
    return LANGUAGES.get(word) or WIRE.get(word)


def address(path: str, language: Language | None = None, **query: str) -> str:
    """The full address of a page: in this language, or the one that answers in each visitor's own."""
    prefix = f"{language.code}/" if language else ""
    return f"{settings.BASE_URL}/{prefix}{path}{'?' if query else ''}{urlencode(query)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate:
    """The same page for other readers."""

    hreflang: str
    label: str
    locale: str
    href: str


def alternates(path: str, **query: str) -> list[Alternate]:
    """The page in each language."""
    return [
        Alternate(hreflang=one.code, label=one.label, locale=one.locale, href=address(path, one, **query))
        for one in LANGUAGES.values()
    ]

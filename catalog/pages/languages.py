"""The languages of the pages, the choice of a visitor's language, and the address of a page in each language."""

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
    label: str  # its own name for itself
    texts: Lang | None  # the localization of personas that it shows; None is the persona's own English
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
WIRE = {language.texts or "en": language for language in LANGUAGES.values()}  # by the language code of the API


class LanguageConverter(StringConverter):
    """The language at the start of a page's path."""

    regex = "|".join(LANGUAGES)

    def to_python(self, value: str) -> Language:  # type: ignore[override]  # returns more than a text
        return LANGUAGES[value]

    def to_url(self, value: Language) -> str:  # type: ignore[override]
        return value.code


def preferred(accept_language: str) -> Language:
    """The best language of an Accept-Language header that we have, else English. A weight of 0 refuses a language."""
    for tag, weight in parse_accept_lang_header(accept_language.lower()):
        if weight and (language := LANGUAGES.get(tag.partition("-")[0])):
            return language
    return ENGLISH


def asked(word: str) -> Language | None:
    """The language that `?lang=` names, by our code or by the API's code."""
    return LANGUAGES.get(word) or WIRE.get(word)


def address(path: str, language: Language | None = None, **query: str) -> str:
    """The full address of a page in this language; without a language, the address that answers in the visitor's."""
    prefix = f"{language.code}/" if language else ""
    return f"{settings.BASE_URL}/{prefix}{path}{'?' if query else ''}{urlencode(query)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate:
    """The address of the same page in another language."""

    hreflang: str
    label: str
    locale: str
    href: str


def alternates(path: str, **query: str) -> list[Alternate]:
    """The addresses of the page in each language."""
    return [
        Alternate(hreflang=one.code, label=one.label, locale=one.locale, href=address(path, one, **query))
        for one in LANGUAGES.values()
    ]

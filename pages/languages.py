"""The languages of the pages, the choice of a person's language, and the address of a page in each language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.http import HttpResponse
from django.urls.converters import StringConverter
from django.utils.translation import get_language_from_request
from django.utils.translation.trans_real import parse_accept_lang_header

from accounts.models import User
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
CHOICE_SECONDS = 365 * 86_400


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


def of_person(request: Any, person: User | None) -> Language:
    """The language that the person chose here, or else the one from their sign-in, or else the browser's."""
    kept = (request.COOKIES.get(settings.LANG_COOKIE_NAME, ""), person.lang if person else "")
    chosen = next((LANGUAGES[code] for code in kept if code in LANGUAGES), None)
    return chosen or preferred(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))


def of_letters(request: Any) -> str:
    """The language of mails to a person whose account does not exist yet."""
    chosen = request.COOKIES.get(settings.LANG_COOKIE_NAME, "")
    return chosen if chosen in LANGUAGES else get_language_from_request(request)


def remember(response: HttpResponse, language: Language) -> None:
    """Keep the choice in a cookie. Only the pages of an account read it."""
    response.set_cookie(
        settings.LANG_COOKIE_NAME,
        language.code,
        max_age=CHOICE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


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
    """The addresses of a public page in each language."""
    return [_alternate(one, address(path, one, **query)) for one in LANGUAGES.values()]


def choices(place: str) -> list[Alternate]:
    """Links from a page of an account to the same page with `?lang=`, for the menu."""
    path, _, query = place.partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name != "lang"]
    return [_alternate(one, f"{path}?{urlencode([*kept, ('lang', one.code)])}") for one in LANGUAGES.values()]


def _alternate(language: Language, href: str) -> Alternate:
    return Alternate(hreflang=language.code, label=language.label, locale=language.locale, href=href)

"""The languages of the account's pages, and which one is used for a person."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import get_language_from_request
from django.utils.translation.trans_real import parse_accept_lang_header

from accounts.models import User
from catalog.pages import languages
from catalog.pages.languages import ENGLISH, Alternate, Language

LANGUAGES = languages.LANGUAGES
CHOICE_SECONDS = 365 * 86_400


def asked(request: Any) -> Language | None:
    """The language in `?lang=`, or None."""
    return LANGUAGES.get(request.GET.get("lang", ""))


def of(request: Any, person: User | None) -> Language:
    """The language that the person chose here, or else the one from their sign-in, or else the browser's."""
    kept = (request.COOKIES.get(settings.LANG_COOKIE_NAME, ""), person.lang if person else "")
    return next((LANGUAGES[code] for code in kept if code in LANGUAGES), None) or _preferred(request)


def of_letters(request: Any) -> str:
    """The language of mails to a person whose account does not exist yet."""
    chosen = request.COOKIES.get(settings.LANG_COOKIE_NAME, "")
    return chosen if chosen in LANGUAGES else get_language_from_request(request)


def remember(response: HttpResponse, language: Language) -> None:
    response.set_cookie(
        settings.LANG_COOKIE_NAME,
        language.code,
        max_age=CHOICE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def alternates(place: str) -> list[Alternate]:
    """Links to this page in each language, for the menu."""
    path, _, query = place.partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name != "lang"]
    return [
        Alternate(
            hreflang=one.code,
            label=one.label,
            locale=one.locale,
            href=f"{path}?{urlencode([*kept, ('lang', one.code)])}",
        )
        for one in LANGUAGES.values()
    ]


def _preferred(request: Any) -> Language:
    for tag, weight in parse_accept_lang_header(request.META.get("HTTP_ACCEPT_LANGUAGE", "").lower()):
        if weight and (language := LANGUAGES.get(tag.partition("-")[0])):
            return language
    return ENGLISH

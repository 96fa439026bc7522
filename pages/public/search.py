"""/search?q="""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, HttpResponseRedirect
from django.utils.translation import gettext
from rest_framework.request import Request

from catalog import search
from catalog.search_places import ForeignCursor
from catalog.vocabulary import ArticleLang
from pages import languages
from pages.languages import Language, address, alternates
from pages.public.base import PublicPageViewSet, answer, framed, preferred, varies
from pages.public.printing import printed
from pages.public.reading import cards

PATH = "search"
ON_A_PAGE = 24


class SearchViewSet(PublicPageViewSet):
    def list(self, request: Request, lang: Language | None = None) -> HttpResponseBase:
        typed = request.query_params.get("q", "").replace("\0", " ").strip()[: search.LONGEST_QUERY]
        if wanted := languages.asked(request.query_params.get("lang", "")):
            return HttpResponseRedirect(address(PATH, wanted, q=typed))
        language, cursor = lang or preferred(request), request.query_params.get("cursor")
        text = framed("search.html", lambda language: _content(typed, cursor, language), PATH, language)
        return answer(request, printed(text), {"Content-Language": language.code, "Vary": varies(lang)})


def _content(typed: str, cursor: str | None, language: Language) -> dict[str, Any]:
    found = _find(typed, cursor, language) if typed else search.SearchPage([], None)
    return {
        "title": gettext("Search"),
        "typed": typed,
        "alternates": alternates(PATH, q=typed),
        "cards": cards(found.personas, language),
        "after": address(PATH, language, q=typed, cursor=found.cursor) if found.cursor else None,
    }


def _find(typed: str, cursor: str | None, language: Language) -> search.SearchPage:
    """Search in the visitor's language. If that finds nothing, search in English, which every persona has."""
    asked = [language.texts or ArticleLang.EN, ArticleLang.EN]
    pages = (_page(typed, cursor, lang) for lang in dict.fromkeys(map(str, asked)))
    return next((page for page in pages if page.personas), search.SearchPage([], None))


def _page(typed: str, cursor: str | None, lang: str) -> search.SearchPage:
    try:
        return search.find(search.PersonaQuery(q=typed, lang=lang, limit=ON_A_PAGE, cursor=cursor))
    except ForeignCursor:  # from the search in the other language, or mistyped
        return search.SearchPage([], None)

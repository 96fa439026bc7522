"""`/directory`: the agents of `GET /a2a-catalog` as a page for people, in the languages of the other public pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, HttpResponseRedirect
from rest_framework.request import Request

from agents.talking import a2a_catalog
from config.paging import MAX_CURSOR, UnknownCursor
from pages import languages
from pages.languages import Language, address, alternates
from pages.public.base import PublicPageViewSet, answer, framed, preferred, varies
from pages.public.printing import printed

PATH = "directory"
ON_A_PAGE = 24


class DirectoryViewSet(PublicPageViewSet):
    def list(self, request: Request, lang: Language | None = None) -> HttpResponseBase:
        typed = request.query_params.get("q", "").replace("\0", " ").strip()[: a2a_catalog.MAX_WORDS_CHARACTERS]
        if wanted := languages.asked(request.query_params.get("lang", "")):
            return HttpResponseRedirect(address(PATH, wanted, q=typed))
        language, cursor = lang or preferred(request), request.query_params.get("cursor")
        page = _page(typed, cursor)
        text = framed("directory.html", lambda language: _content(typed, page, language), PATH, language)
        return answer(request, printed(text), {"Content-Language": language.code, "Vary": varies(lang)})


def _content(typed: str, page: a2a_catalog.AgentPage, language: Language) -> dict[str, Any]:
    return {
        "typed": typed,
        "here": address(PATH, language),
        "longest": a2a_catalog.MAX_WORDS_CHARACTERS,
        "alternates": alternates(PATH, q=typed),
        "agents": page.agents,
        "after": address(PATH, language, q=typed, cursor=page.cursor) if page.cursor else None,
    }


def _page(typed: str, cursor: str | None) -> a2a_catalog.AgentPage:
    """The page of agents. A mistyped cursor gives a page without agents, not an error."""
    try:
        return a2a_catalog.page(q=typed, limit=ON_A_PAGE, cursor=cursor[:MAX_CURSOR] if cursor else None)
    except UnknownCursor:
        return a2a_catalog.AgentPage([], {}, None, None)

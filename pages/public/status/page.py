"""/status/page"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from pages import languages
from pages.languages import Language, address
from pages.public.base import PublicPageViewSet, answer, framed, preferred, varies
from pages.public.printing import printed
from pages.public.status import keeping, report
from pages.public.status.words import OVERALL
from status.announcements import banners

PATH = "status/page"
FEED = "status/feed.atom"


class PageOfStatusViewSet(PublicPageViewSet):
    def retrieve(self, request: Request, lang: Language | None = None) -> HttpResponseBase:
        """Answers even while the database is down, with the last data."""
        if wanted := languages.asked(request.query_params.get("lang", "")):
            return HttpResponseRedirect(address(PATH, wanted))
        language = lang or preferred(request)
        made = keeping.shortly(
            f"{PATH} {language.code}", lambda: printed(framed("status.html", _content, PATH, language))
        )
        return answer(request, made, {"Content-Language": language.code, "Vary": varies(lang)})


def _content(language: Language) -> dict[str, Any]:
    found = report.now(at=timezone.now())
    told = report.shown_incidents(found)
    return {
        "title": gettext("Status"),
        "overall": found.platform.status,
        "says": OVERALL[found.platform.status],
        "at": found.at,
        "lines": report.lines(found),
        "known": found.incidents is not None,
        "open": report.still_open(told),
        "over": report.lately_over(told, at=found.at),
        "past_days": report.PAST_DAYS,
        "feed": address(FEED, language),
        "banners": banners.now(language.code, status_page=True),
    }

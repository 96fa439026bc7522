"""What the pages share: the visitor's language, the frame around the content, conditional answers, error pages.

A page has one address per language, e.g. `/ru/p/exam-coach`. Without the language in the address it answers in the
visitor's language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils import translation
from rest_framework.request import Request

from catalog.views import conditions
from catalog.views.base import CACHING
from config.api import ApiViewSet
from config.operator_settings import operator_settings
from config.requests import request_id
from pages import frame, languages
from pages.languages import Language, address, alternates
from pages.public.printing import Printed, press

Context = Mapping[str, Any]

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TOLD = {400, 403, 404, 413, 429, 500, 503}  # errors that get a page


class PublicPageViewSet(ApiViewSet):
    """A public page: no credential, no cookie, not part of the API's description."""

    authentication_classes = ()
    permission_classes = ()
    schema = None

    def page(
        self, request: Request, lang: Language | None, template: str, context: Callable[[Language], Context], path: str
    ) -> HttpResponseBase:
        """The page at `path`, in the language of the address, else in the visitor's.

        `?lang=` redirects to that language.
        """
        if wanted := languages.asked(request.query_params.get("lang", "")):
            query = {name: str(value) for name, value in request.GET.items() if name != "lang"}
            return HttpResponseRedirect(address(path, wanted, **query))
        language = lang or preferred(request)
        made = press.get(f"{language.code} {path}", lambda: framed(template, context, path, language))
        return answer(request, made, {"Content-Language": language.code, "Vary": varies(lang)})

    def handle_exception(self, exc: Exception) -> Any:
        """An error page with the status and headers that the API would send."""
        refusal = super().handle_exception(exc)
        if refusal.status_code not in TOLD:
            return refusal
        language = self.kwargs.get("lang") or preferred(self.request)
        return failed(refusal.status_code, refusal.headers.get("Retry-After"), language)


def framed(template: str, context: Callable[[Language], Context], path: str, language: Language) -> str:
    """Render the whole page in this language."""
    around = {
        **frame.around(language, alternates(path)),
        "search": address("search", language),
        "canonical": address(path, language),
        "anybody": address(path),
        "card_image": address(static("catalog/card.png").removeprefix("/")),
    }
    with translation.override(language.code):
        return render_to_string(f"pages/{template}", {**around, **context(language)})


def answer(
    request: Request, page: Printed, headers: Mapping[str, str], *, kind: str = "text/html; charset=utf-8"
) -> HttpResponse:
    """The page in the encoding that the visitor prefers, or 304 if they have it already."""
    zipped = conditions.prefers_gzip(request.META.get("HTTP_ACCEPT_ENCODING", ""))
    tag = page.etags[zipped]
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": CACHING, "Vary": "Accept-Encoding", **headers}
    if known := conditions.matching(request.META.get("HTTP_IF_NONE_MATCH", ""), (tag, *page.etags)):
        return HttpResponse(status=304, headers={**headers, "ETag": known})
    headers |= {"ETag": tag} | ({"Content-Encoding": "gzip"} if zipped else {})
    return HttpResponse(page.compressed if zipped else page.body, content_type=kind, headers=headers)


def failed(status: int, retry_after: str | None, language: Language, *, stale: bool = False) -> HttpResponse:
    """An error page. `stale`: the form came from a page that was too old, or the request had no cookie."""
    told = {
        "status": status,
        "stale": stale,
        "request_id": request_id.get(),
        "support": operator_settings.SUPPORT_EMAIL,
    }
    text = framed("failed.html", lambda _: told, "", language)
    headers = {
        "Content-Language": language.code,
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-store",
        "Vary": "Accept-Language",
        **({"Retry-After": retry_after} if retry_after else {}),
    }
    return HttpResponse(text, status=status, headers=headers)


def varies(lang: Language | None) -> str:
    return "Accept-Encoding" if lang else "Accept-Encoding, Accept-Language"


def preferred(request: Any) -> Language:
    return languages.preferred(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))

"""Common parts of the account's pages: the person, the language, the page frame, and error pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils import translation
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import FormParser
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.request import Request

from accounts.authentication import caller
from accounts.models import User
from config.api import ApiViewSet
from config.errors import BadRequest
from config.requests import request_id
from pages import frame, languages
from pages.account import looking, sign_in_links, visitors
from pages.account.looking import LookAuthentication, Looking, LookRefused
from pages.account.visitors import CookieAuthentication
from pages.languages import ENGLISH, LANGUAGES, Language
from status.announcements import banners

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
# Fields with texts that a person wrote, without secrets. They are shown again if the session has ended before the form
# was sent.
WRITTEN = (
    "name",
    "extra_soul",
    "domain",
    "url",
    "command",
    "args",
    "address",
    "author",
    "tagline",
    "summary",
    "soul",
    "does",
    "skills",
    "tags",
    "disclaimer",
    "title",
    "body",
)
KEPT_HEADERS = {"Retry-After", "Allow", "Link"}  # headers of a refusal that are passed on


class SeeOther(HttpResponseRedirect):
    status_code = 303


class FormsAlone(DefaultContentNegotiation):
    """Requests must be forms, and answers are HTML pages, whatever `Accept` says."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class AccountPageViewSet(ApiViewSet):
    """A page for the person who is signed in. Others are sent to the sign-in page and back.

    Every form must contain `{% csrf_token %}`. Pages are not part of the API's description.
    """

    authentication_classes = (CookieAuthentication,)
    permission_classes: tuple[type[BasePermission], ...] = (IsAuthenticated,)
    parser_classes = (FormParser,)
    content_negotiation_class = FormsAlone
    schema = None

    # An operator who looks at the person's pages sees only those that say so themselves (pages/account/looking.py).
    shown_in_look = False
    ends_look = False

    sent: HttpRequest
    person: User | None = None
    language: Language = ENGLISH
    looking: Looking | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Refusals that happen before the page runs are also in the person's language, once it is known."""
        self.looking = looking.of(request, is_page=not self.ends_look)
        with translation.override(self.language.code), looking.only_reading(None if self.ends_look else self.looking):
            return super().dispatch(request, *args, **kwargs)

    def get_authenticators(self) -> list[BaseAuthentication]:
        return [LookAuthentication(self.looking.look)] if self.looking else super().get_authenticators()

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.sent = request
        return super().initialize_request(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        self._speak()
        if self.looking and not self.ends_look:
            looking.refuse(self.looking, self.sent, is_shown=vars(type(self)).get("shown_in_look", False))
        visitors.refuse_forged(self.sent)
        super().perform_authentication(request)
        self.person = caller(request) if request.user.is_authenticated else None
        self._speak()

    def back(self) -> str:
        """The URL to return to after a sign-in or a change of language: this page, or the page with the form that was
        sent.
        """
        return self.sent.get_full_path() if self.sent.method in SAFE_METHODS else sign_in_links.safe(self._came_from())

    def typed(self, name: str) -> str:
        """The value of this form field, or an empty text."""
        return str(self.sent.POST.get(name, ""))

    def page(self, template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponseBase:
        """Render a template of templates/account/ in the person's language.

        If the query has `lang`, remember that language and redirect to the same page.
        """
        if wanted := self._asked():
            return self._chosen(wanted)
        text = render_to_string(f"account/{template}", {**self._frame(), **context})
        headers = {
            "Content-Language": self.language.code,
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-store",
            "Vary": "Cookie, Accept-Language",
        }
        return HttpResponse(text, status=status, headers=headers)

    def go(self, place: str) -> HttpResponse:
        """After a form: redirect to a page, which is then read with GET."""
        return SeeOther(place, headers={"Cache-Control": "no-store"})

    def handle_exception(self, exc: Exception) -> Any:
        """An error page with the status and headers of the API's error."""
        if isinstance(exc, NotAuthenticated):
            if wanted := self._asked():
                return self._chosen(wanted)
            return self._signed_out()
        refusal = super().handle_exception(_known(exc))
        status = refusal.status_code
        looked = exc.message if isinstance(exc, LookRefused) else ""
        told = {"status": status, "request_id": request_id.get(), "looked": looked}
        answer = self.page("failed.html", told, status=status)
        for name in KEPT_HEADERS & set(refusal.headers):
            answer[name] = refusal.headers[name]
        return answer

    def _signed_out(self) -> HttpResponseBase:
        """Send the person to the sign-in and back.

        Texts that were typed are not saved; they are shown, so they can be copied.
        """
        door = sign_in_links.sign_in(self.back())
        written = [self.typed(name) for name in WRITTEN if self.typed(name).strip()]
        if written:
            return self._forgetting(self.page("signed_out.html", {"door": door, "written": written}, status=401))
        return self._forgetting(self.go(door))

    def _forgetting(self, response: HttpResponseBase) -> HttpResponseBase:
        visitors.forget(response)
        return response

    def _came_from(self) -> str:
        """Our page with the form, from the Referer header. Empty if it is another host's."""
        try:
            there = urlsplit(self.sent.headers.get("Referer", ""))
        except ValueError:
            return ""
        place = f"{there.path}?{there.query}" if there.query else there.path
        return place if there.netloc == self.sent.get_host() else ""

    def _asked(self) -> Language | None:
        return LANGUAGES.get(self.sent.GET.get("lang", "")) if self.sent.method in SAFE_METHODS else None

    def _chosen(self, language: Language) -> HttpResponse:
        query = self.request.GET.copy()
        del query["lang"]
        response = HttpResponseRedirect(f"{self.request.path}{'?' if query else ''}{query.urlencode()}")
        response["Cache-Control"] = "no-store"
        languages.remember(response, language)
        return response

    def _speak(self) -> None:
        self.language = languages.of_person(self.sent, self.person)
        translation.activate(self.language.code)

    def _frame(self) -> dict[str, Any]:
        return {
            **frame.around(self.language, languages.choices(self.back())),
            "sheet": frame.stamped("billing/account.css"),
            "script": frame.stamped("billing/account.js"),
            "person": self.person,
            "looking": self.looking.banner if self.looking else None,
            "banners": banners.now(self.language.code),
            "csrf_token": get_token(self.sent),
        }


def _known(exc: Exception) -> Exception:
    """Django's own errors about the request, such as a form with too many fields, become BadRequest."""
    return BadRequest("the form is malformed") if isinstance(exc, SuspiciousOperation) else exc

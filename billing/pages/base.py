"""What the account's pages share: who looks, in which language, the frame around the content, refusals as pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils import translation
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import FormParser
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.request import Request

from accounts.authentication import caller
from accounts.models import User
from agents.views.base import AgentViewSet
from billing.pages import doors, languages, sections, visitors
from billing.pages.visitors import CookieAuthentication
from catalog.pages.base import STYLE, stamped
from catalog.pages.languages import ENGLISH, Language, address
from config.api import ApiViewSet
from config.errors import BadRequest
from config.requests import request_id

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
# Fields that hold what a person wrote, and no secret: shown again where a form came too late to be taken.
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
KEPT_HEADERS = {"Retry-After", "Allow", "Link"}  # of a refusal


class SeeOther(HttpResponseRedirect):
    status_code = 303


class FormsAlone(DefaultContentNegotiation):
    """What is sent must be a form; what is answered is a page, whatever `Accept` says."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class PageViewSet(ApiViewSet):
    """A page for the person who is signed in; nobody is sent to the sign-in and back.

    Every form must carry `{% csrf_token %}`. It is no part of the API's description.
    """

    authentication_classes = (CookieAuthentication,)
    permission_classes: tuple[type[BasePermission], ...] = (IsAuthenticated,)
    parser_classes = (FormParser,)
    content_negotiation_class = FormsAlone
    schema = None

    sent: HttpRequest
    person: User | None = None
    language: Language = ENGLISH

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """What is said on the way to the page is said in the person's language, once it is known."""
        with translation.override(self.language.code):
            return super().dispatch(request, *args, **kwargs)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.sent = request
        return super().initialize_request(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        self._speak()
        visitors.refuse_forged(self.sent)
        super().perform_authentication(request)
        self.person = caller(request) if request.user.is_authenticated else None
        self._speak()

    def back(self) -> str:
        """The address of this page, or where what was sent can be sent again: after signing in, in another language."""
        return self.sent.get_full_path() if self.sent.method in SAFE_METHODS else doors.safe(self._came_from())

    def typed(self, name: str) -> str:
        """What was sent in this field of the form."""
        return str(self.sent.POST.get(name, ""))

    def page(self, template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponseBase:
        """The template of templates/account/ in the person's language; a choice of it is kept and leads here again."""
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
        """After a form: the page to look at, by GET."""
        return SeeOther(place, headers={"Cache-Control": "no-store"})

    def handle_exception(self, exc: Exception) -> Any:
        """The API's statuses and headers, told to a person."""
        if isinstance(exc, NotAuthenticated):
            if wanted := self._asked():
                return self._chosen(wanted)
            return self._signed_out()
        refusal = super().handle_exception(_known(exc))
        status = refusal.status_code
        answer = self.page("failed.html", {"status": status, "request_id": request_id.get()}, status=status)
        for name in KEPT_HEADERS & set(refusal.headers):
            answer[name] = refusal.headers[name]
        return answer

    def _signed_out(self) -> HttpResponseBase:
        """The way to the sign-in and back. What was written is not saved, and is shown, to be copied."""
        door = doors.sign_in(self.back())
        written = [self.typed(name) for name in WRITTEN if self.typed(name).strip()]
        if written:
            return self._forgetting(self.page("signed_out.html", {"door": door, "written": written}, status=401))
        return self._forgetting(self.go(door))

    def _forgetting(self, response: HttpResponseBase) -> HttpResponseBase:
        visitors.forget(response)
        return response

    def _came_from(self) -> str:
        """The page of ours that the form stands on, as the browser says."""
        try:
            there = urlsplit(self.sent.headers.get("Referer", ""))
        except ValueError:
            return ""
        place = f"{there.path}?{there.query}" if there.query else there.path
        return place if there.netloc == self.sent.get_host() else ""

    def _asked(self) -> Language | None:
        return languages.asked(self.sent) if self.sent.method in SAFE_METHODS else None

    def _chosen(self, language: Language) -> HttpResponse:
        query = self.request.GET.copy()
        del query["lang"]
        response = HttpResponseRedirect(f"{self.request.path}{'?' if query else ''}{query.urlencode()}")
        response["Cache-Control"] = "no-store"
        languages.remember(response, language)
        return response

    def _speak(self) -> None:
        self.language = languages.of(self.sent, self.person)
        translation.activate(self.language.code)

    def _frame(self) -> dict[str, Any]:
        return {
            "language": self.language,
            "home": address("", self.language),
            "alternates": languages.alternates(self.back()),
            "style": stamped(STYLE),
            "sheet": stamped("billing/account.css"),
            "script": stamped("billing/account.js"),
            "icon": static("catalog/icon.svg"),
            "person": self.person,
            "csrf_token": get_token(self.sent),
        }


class AgentPageViewSet(PageViewSet, AgentViewSet):
    """A page about one agent: `own_agent(id)` is the API's."""

    def page(self, template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponseBase:
        """With the navigation between the agent's pages, where it is about one."""
        agent = context.get("agent")
        there = {"sections": sections.of(agent, here=self.sent.path)} if agent else {}
        return super().page(template, {**there, **context}, status=status)


def _known(exc: Exception) -> Exception:
    """Django's own refusals of what came, such as a form with too many fields."""
    return BadRequest("the form is malformed") if isinstance(exc, SuspiciousOperation) else exc

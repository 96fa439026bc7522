"""Who looks at a page of the account: the person of the session in the cookie, and nobody else's word for it."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import rotate_token
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request

from accounts import sessions
from accounts.authentication import MAX_TOKEN_LENGTH
from accounts.errors import InvalidSession
from accounts.models import Session, User
from config.errors import Forbidden


class Forged(Forbidden):
    def __init__(self) -> None:
        super().__init__("this form was not sent from our page, or the page is too old: open the page again")


class CookieAuthentication(BaseAuthentication):
    """A bearer token is not looked at, and the operators' session is another cookie."""

    def authenticate(self, request: Request) -> tuple[User, Session] | None:
        """What signs nobody in, for whatever reason, is nobody: the page then asks to sign in."""
        token = request.COOKIES.get(settings.ACCOUNT_COOKIE_NAME, "")[:MAX_TOKEN_LENGTH]
        try:
            session = sessions.find(token, now=timezone.now()) if token else None
        except InvalidSession:
            return None
        return (session.user, session) if session else None


def _unanswered(request: HttpRequest) -> HttpResponse:
    """The check is a middleware, and wants something behind it."""
    return HttpResponse()


def refuse_forged(request: HttpRequest) -> None:
    """Raise Forged unless what changes something comes from a form of ours (CSRF)."""
    check = CSRFCheck(_unanswered)
    check.process_request(request)
    if check.process_view(request, _unanswered, (), {}):
        raise Forged


def remember(response: HttpResponse, token: str, request: HttpRequest) -> None:
    """Sign this browser in: the token is out of reach of scripts, and forms of before no longer count."""
    rotate_token(request)
    response.set_cookie(
        settings.ACCOUNT_COOKIE_NAME,
        token,
        max_age=int(sessions.LIFETIME.total_seconds()),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def forget(response: HttpResponseBase) -> None:
    response.set_cookie(
        settings.ACCOUNT_COOKIE_NAME,
        "",
        max_age=0,
        secure=settings.SESSION_COOKIE_SECURE,  # a browser takes a __Host- cookie back only as it was given
        httponly=True,
        samesite="Lax",
    )

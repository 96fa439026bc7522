"""Finds the person who is signed in to the account pages, by the session cookie alone."""

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
from config import log_context
from config.errors import Forbidden


class Forged(Forbidden):
    message = "this form was not sent from our page, or the page is too old: open the page again"


class CookieAuthentication(BaseAuthentication):
    """Authentication by the session cookie. Bearer tokens are ignored; the operators' console has another cookie."""

    def authenticate(self, request: Request) -> tuple[User, Session] | None:
        """The person and the session. None if the cookie is invalid for any reason: the page then asks to sign in."""
        token = request.COOKIES.get(settings.ACCOUNT_COOKIE_NAME, "")[:MAX_TOKEN_LENGTH]
        try:
            session = sessions.find(token, now=timezone.now()) if token else None
        except InvalidSession:
            return None
        if session is None:
            return None
        log_context.note(accountId=session.user_id)
        return session.user, session


def _unanswered(request: HttpRequest) -> HttpResponse:
    """An empty view: Django's CSRF check is a middleware and needs a view behind it."""
    return HttpResponse()


def refuse_forged(request: HttpRequest) -> None:
    """Raise Forged if a request that changes something does not come from one of our forms (CSRF check)."""
    check = CSRFCheck(_unanswered)
    check.process_request(request)
    if check.process_view(request, _unanswered, (), {}):
        raise Forged


def remember(response: HttpResponse, token: str, request: HttpRequest) -> None:
    """Sign this browser in. Scripts cannot read the token, and forms from before the sign-in become invalid."""
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
        secure=settings.SESSION_COOKIE_SECURE,  # a browser removes a __Host- cookie only with the same attributes
        httponly=True,
        samesite="Lax",
    )

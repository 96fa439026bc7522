"""The pages for an operator who looks at them as their person does: read-only, and without secrets.

A page is closed to such a look unless its class says `shown_in_look = True`. The texts here are for operators, whose
console is in English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts import client_address
from accounts.helping import looks
from accounts.models import StaffLook, User
from config import log_context
from config.errors import Forbidden

MASKED = "••••••"
LONGEST_TOKEN = 100
END = "/account/look/end"
# All other statements are refused, whatever they do.
READS = re.compile(r"\s*(?:SELECT|SAVEPOINT|RELEASE SAVEPOINT|ROLLBACK TO SAVEPOINT)\b", re.IGNORECASE)


class LookRefused(Forbidden):
    pass


class ReadOnlyLook(LookRefused):
    message = "You look at this account as its person sees it, and can change nothing. Nothing was done."


class ClosedToLook(LookRefused):
    message = "This page is closed while you look at somebody's account."


class LookEnded(LookRefused):
    message = "Your look at this account has ended. Nothing was done. End it here to go back to the console."


@dataclass(frozen=True, slots=True)
class Looking:
    """`look` is None when it has ended and the browser still has its cookie."""

    look: StaffLook | None

    @property
    def banner(self) -> dict[str, Any]:
        if self.look is None:
            return {"end": END}
        return {"end": END, "person": self.look.user.email, "until": f"{self.look.ends_at:%H:%M}"}


class LookAuthentication(BaseAuthentication):
    def __init__(self, look: StaffLook | None) -> None:
        self._look = look

    def authenticate(self, request: Request) -> tuple[User, StaffLook] | None:
        return (self._look.user, self._look) if self._look else None


def of(request: HttpRequest, *, is_page: bool) -> Looking | None:
    """Whether this browser looks at somebody's account. The page is remembered before it is shown.

    An ended look counts too: its operator must not go on in an account of their own without noticing.
    """
    token = token_of(request)
    if not token:
        return None
    look = looks.find(token, now=timezone.now())
    if look is not None:
        log_context.note(accountId=look.user_id, lookedAtBy=look.operator_id)
        if is_page:
            looks.note_place(look, request.path)
    return Looking(look)


def token_of(request: HttpRequest) -> str:
    return request.COOKIES.get(settings.LOOK_COOKIE_NAME, "")[:LONGEST_TOKEN]


def refuse(looking: Looking, request: HttpRequest, *, is_shown: bool) -> None:
    """Raise LookEnded, ReadOnlyLook or ClosedToLook, unless the look may have this."""
    if looking.look is None:
        raise LookEnded
    if request.method not in SAFE_METHODS:
        raise ReadOnlyLook
    if not is_shown:
        raise ClosedToLook


@contextmanager
def only_reading(looking: Looking | None) -> Iterator[None]:
    """In a look, refuse every statement that writes, whatever a page does."""
    if looking is None:
        yield
        return
    with connection.execute_wrapper(_refuse_writing):
        yield


def _refuse_writing(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    if not READS.match(str(sql)):
        raise ClosedToLook
    return execute(sql, params, many, context)


def end(request: HttpRequest) -> str:
    """End this browser's look. Return the address of its person in the console, or of the account page."""
    address = client_address.of(request.META)
    user_id = looks.close(token_of(request), address=address, now=timezone.now())
    return f"/admin/accounts/user/{user_id.replace('_', '_5F')}/change/" if user_id else "/account"


def forget(response: HttpResponse) -> None:
    response.set_cookie(
        settings.LOOK_COOKIE_NAME,
        "",
        max_age=0,
        secure=settings.SESSION_COOKIE_SECURE,  # a browser removes a __Host- cookie only with the same attributes
        httponly=True,
        samesite="Strict",
    )


def without_query(url: str) -> str:
    """The URL without its query and password, in which some receivers have a token."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASKED
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" + ("?…" if parts.query else "")

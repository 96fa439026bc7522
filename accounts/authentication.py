"""Finds the user, and the API key or session, of an `Authorization: Bearer <token>` header."""

from __future__ import annotations

import re
from typing import Any, cast

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts import keys, sessions
from accounts.errors import MalformedCredential, NoCredential
from accounts.models import ApiKey, Session, User
from config import log_context
from config.errors import ServiceError

MAX_TOKEN_LENGTH = 512
_BEARER = re.compile(rf"bearer +([A-Za-z0-9._~+/=-]{{1,{MAX_TOKEN_LENGTH}}})", re.IGNORECASE)


class BearerAuthentication(BaseAuthentication):
    """Refuses every request without a valid token. Endpoints that need no token do not use this class."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey | Session]:
        header = request.META.get("HTTP_AUTHORIZATION", "").strip()
        if not header:
            raise NoCredential
        bearer = _BEARER.fullmatch(header)
        if bearer is None:
            raise MalformedCredential
        credential = _find(bearer[1])
        log_context.note(accountId=credential.user_id)
        return credential.user, credential

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def api_key_of(request: HttpRequest) -> str | None:
    """The API key that the request brings, good or not. None for other tokens and for none."""
    bearer = _BEARER.fullmatch(request.META.get("HTTP_AUTHORIZATION", "").strip())
    return bearer[1] if bearer and bearer[1].startswith(keys.SECRET_PREFIX) else None


def caller(request: Request) -> User:
    """The user of a request that has passed authentication."""
    user: Any = request.user
    return cast("User", user)


def is_still_good(request: Request) -> bool:
    """Whether the credential of this request is still valid."""
    try:
        BearerAuthentication().authenticate(request)
    except ServiceError:
        return False
    return True


def _find(token: str) -> ApiKey | Session:
    now = timezone.now()
    if token.startswith(keys.SECRET_PREFIX):
        return keys.find(token, now=now)
    return sessions.find(token, now=now)

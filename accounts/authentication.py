"""Finds the user, and the API key or session, of an `Authorization: Bearer <token>` header."""

from __future__ import annotations

import re
from typing import Any, cast

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

"""Finds the user, and the API key or session, of an `Authorization: Bearer <token>` header."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from django.http import HttpRequest
from django.urls import resolve
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts import keys, sessions
from accounts.errors import MalformedCredential, NoCredential, OneAgentOnly, ScopeMissing
from accounts.models import ApiKey, Session, User
from accounts.scopes import CredentialLimits, Need, is_of_one_agent, need_of
from config import log_context
from config.errors import ServiceError

MAX_TOKEN_LENGTH = 512
_BEARER = re.compile(rf"bearer +([A-Za-z0-9._~+/=-]{{1,{MAX_TOKEN_LENGTH}}})", re.IGNORECASE)


class BearerAuthentication(BaseAuthentication):
    """Refuses every request without a valid token, and each call that a limited key may not make.

    Endpoints that need no token do not use this class.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey | Session]:
        credential = _credential(_header(request))
        log_context.note(accountId=credential.user_id)
        if limits_of(credential):
            _check_limits(credential, str(request.method), _route(request))
        return credential.user, credential

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def api_key_of(request: HttpRequest) -> str | None:
    """The API key that the request brings, good or not. None for other tokens and for none."""
    bearer = _BEARER.fullmatch(_header(request))
    return bearer[1] if bearer and bearer[1].startswith(keys.SECRET_PREFIX) else None


def caller(request: Request) -> User:
    """The user of a request that has passed authentication."""
    user: Any = request.user
    return cast("User", user)


def limits_of(credential: object) -> CredentialLimits | None:
    """The limits of a credential. None for sessions and full keys."""
    return credential.limits if isinstance(credential, ApiKey) else None


def may(request: Request, need: Need) -> bool:
    """Whether the credential of this request would allow a call that needs this."""
    limits = limits_of(request.auth)
    return limits is None or limits.may(need)


def only_agent(request: Request) -> str | None:
    """The id of the only agent that the credential may see. None if it may see all agents of the account."""
    limits = limits_of(request.auth)
    return limits.agent_id if limits else None


def limited_key(request: Request) -> ApiKey | None:
    """The API key of this request if it is a limited one."""
    return request.auth if isinstance(request.auth, ApiKey) and request.auth.limits else None


def key_of(request: Request) -> ApiKey | None:
    """The API key of this request. None for a session."""
    return request.auth if isinstance(request.auth, ApiKey) else None


def sees_secrets(request: Request) -> bool:
    """Whether the credential may have passwords and tokens of agents. With them somebody talks to an agent without the
    API, where turns do not count for a key: so a key with limits of model calls does not get them.
    """
    key = key_of(request)
    return may(request, Need.OPERATE) and not (key is not None and key.has_model_limits)


def stays_good(request: Request) -> Callable[[], bool]:
    """A function that tells whether the credential of this request is still valid.

    It keeps nothing else of the request: thousands of them wait for a quarter of an hour.
    """
    header, method, route = _header(request), str(request.method), _route(request)

    def is_still_good() -> bool:
        try:
            _check_limits(_credential(header), method, route)
        except ServiceError:
            return False
        return True

    return is_still_good


def _header(request: HttpRequest | Request) -> str:
    return str(request.META.get("HTTP_AUTHORIZATION", "")).strip()


def _route(request: Request) -> str:
    return str((request.resolver_match or resolve(request.path_info)).route)


def _credential(header: str) -> ApiKey | Session:
    """Raises NoCredential, MalformedCredential, and what `keys.find` and `sessions.find` raise."""
    if not header:
        raise NoCredential
    bearer = _BEARER.fullmatch(header)
    if bearer is None:
        raise MalformedCredential
    return _find(bearer[1])


def _check_limits(credential: ApiKey | Session, method: str, route: str) -> None:
    """Raises ScopeMissing, OneAgentOnly."""
    limits = limits_of(credential)
    if limits is None:
        return
    need = need_of(method, route)
    if not limits.may(need):
        raise ScopeMissing(need, limits)
    if limits.agent_id is not None and not is_of_one_agent(method, route):
        raise OneAgentOnly(limits.agent_id)


def _find(token: str) -> ApiKey | Session:
    now = timezone.now()
    if token.startswith(keys.SECRET_PREFIX):
        return keys.find(token, now=now)
    return sessions.find(token, now=now)

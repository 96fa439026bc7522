"""`GET /agents` and `GET /agents/{id}` with an API key, by one statement that checks the key and reads the rows.

This is only the usual case. `None` leaves a request to the ordinary view: a refusal, an empty list, a further page.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import Error as DatabaseFailure
from django.db.models import DateTimeField, F, Q, QuerySet, Value
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils import timezone

from accounts import authentication, keys
from accounts.scopes import Scope
from agents.models import Agent
from agents.serializers import agent_rows, etag
from agents.serializers.hidden import without_secrets
from config import log_context
from config.compiled_query import CompiledQuery
from config.database import is_outage
from config.ids import is_id
from config.json_answers import encoded
from config.paging import MAX_PAGE

_KEY = (
    *("user__api_keys__id", "user__api_keys__last_used_at", "user_id"),
    *("user__api_keys__scopes", "user__api_keys__day_usd", "user__api_keys__month_usd"),
)
_VALUES = ("digest", "limited_digest", "now")


def _of_key(digest: str, limited_digest: str, now: str) -> QuerySet[Agent, Any]:
    """The agents that the key with one of these digests may see. Each scope lets it read."""
    seen = Q(user__api_keys__agent_id__isnull=True) | Q(user__api_keys__agent_id=F("id"))
    known = Q(user__api_keys__digest__in=(digest, limited_digest))
    found = Agent.objects.live().filter(
        keys.is_valid(Cast(Value(now), DateTimeField()), "user__api_keys__"), seen, known
    )
    return agent_rows.columns(found, before=_KEY)


_one = CompiledQuery(lambda agent_id, **key: _of_key(**key).filter(pk=agent_id), values=("agent_id", *_VALUES))
_all = CompiledQuery(lambda **key: _of_key(**key).order_by("-created_at", "-id")[: MAX_PAGE + 1], values=_VALUES)


def one(request: HttpRequest, id: str) -> HttpResponse | None:
    found = _agents(request, _one, agent_id=id) if is_id("agt", id) else []
    if not found:
        return None
    log_context.note(agentId=id)
    tag = etag.etag_of(found[0])
    if etag.is_known(tag, request.headers.get("If-None-Match", "")):
        return HttpResponseNotModified(headers={"ETag": tag})
    return _answer({"agent": found[0]}, ETag=tag)


def every(request: HttpRequest) -> HttpResponse | None:
    found = _agents(request, _all)
    return _answer({"agents": found}) if 0 < len(found) <= MAX_PAGE else None


def _agents(request: HttpRequest, query: CompiledQuery, **values: str) -> list[dict[str, Any]]:
    """The key's agents in their JSON form; no agents for a key that is not valid: the ordinary view says so.

    Raises the database's error when it is away.
    """
    secret = authentication.api_key_of(request)
    if secret is None:
        return []
    now = timezone.now()
    try:
        digests = {"digest": keys.digest(secret), "limited_digest": keys.limited_digest(secret)}
        rows = query.rows(**digests, now=now.isoformat(), **values)
        agents = [_shown(agent_rows.agent(row[len(_KEY) :], now=now), *row[3 : len(_KEY)]) for row in rows]
    except InvalidToken:  # the ordinary view says what is wrong
        return []
    except DatabaseFailure as failure:
        if is_outage(failure):
            raise
        return []
    if rows:
        _note(*rows[0][:3], now=now)
    return agents


def _shown(body: dict[str, Any], scopes: list[str] | None, *model_limits: Decimal | None) -> dict[str, Any]:
    """The rule is that of `authentication.sees_secrets`."""
    sees_secrets = (scopes is None or Scope.OPERATE in scopes) and not any(model_limits)
    return body if sees_secrets else without_secrets(body)


def _note(key_id: str, last_used_at: datetime | None, user_id: str, *, now: datetime) -> None:
    log_context.note(accountId=user_id)
    keys.note_use(key_id, last_used_at, now=now)


def _answer(body: dict[str, Any], **headers: str) -> HttpResponse:
    return HttpResponse(encoded(body), content_type="application/json", headers=headers)

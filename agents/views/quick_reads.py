"""`GET /agents` and `GET /agents/{id}` with an API key, by one statement that checks the key and reads the rows.

This is only the usual case. `None` leaves a request to the ordinary view: a refusal, an empty list, a further page.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import Error as DatabaseFailure
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils import timezone
from django.utils.http import parse_etags

from accounts import authentication, keys
from agents.models import Agent
from agents.serializers import agent_rows, etag
from config import log_context
from config.compiled_query import CompiledQuery
from config.database import is_outage
from config.ids import is_id
from config.json_answers import encoded
from config.paging import MAX_PAGE

_KEY = ("user__api_keys__id", "user__api_keys__last_used_at", "user_id")


def _of_key(digest: str) -> QuerySet[Agent, Any]:
    found = Agent.objects.live().filter(keys.is_valid("user__api_keys__"), user__api_keys__digest=digest)
    return agent_rows.columns(found, before=_KEY)


_one = CompiledQuery(lambda digest, agent_id: _of_key(digest).filter(pk=agent_id), values=("digest", "agent_id"))
_all = CompiledQuery(lambda digest: _of_key(digest).order_by("-created_at", "-id")[: MAX_PAGE + 1], values=("digest",))


def one(request: HttpRequest, id: str) -> HttpResponse | None:
    found = _agents(request, _one, agent_id=id) if is_id("agt", id) else []
    if not found:
        return None
    log_context.note(agentId=id)
    tag = etag.etag_of(found[0])
    if tag in parse_etags(request.headers.get("If-None-Match", "")):
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
        rows = query.rows(digest=keys.digest(secret), **values)
        agents = [agent_rows.agent(row[len(_KEY) :], now=now) for row in rows]
    except InvalidToken:  # the ordinary view says what is wrong
        return []
    except DatabaseFailure as failure:
        if is_outage(failure):
            raise
        return []
    if rows:
        _note(*rows[0][: len(_KEY)], now=now)
    return agents


def _note(key_id: str, last_used_at: datetime | None, user_id: str, *, now: datetime) -> None:
    log_context.note(accountId=user_id)
    keys.note_use(key_id, last_used_at, now=now)


def _answer(body: dict[str, Any], **headers: str) -> HttpResponse:
    return HttpResponse(encoded(body), content_type="application/json", headers=headers)

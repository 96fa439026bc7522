"""`GET /agents/{id}/logs`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import authentication
from agents.models import Agent
from agents.serializers.logs import ListLogsSerializer, LogEntrySerializer, LogsEnvelope
from agents.views.base import AgentViewSet
from agents.watching import log_following, logs
from agents.watching.log_following import End, Event, Events, LogState, News
from config.streams import EVENT_STREAM, EventStream

RETRY_MILLISECONDS = 2000
BEAT = b": still here\n\n"


class LogsViewSet(AgentViewSet):
    @extend_schema(
        parameters=[
            ListLogsSerializer,
            OpenApiParameter(
                "Last-Event-ID",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                description="With `Accept: text/event-stream`: in place of `after`, as event sources send it.",
            ),
        ],
        responses={(200, "application/json"): LogsEnvelope, (200, EVENT_STREAM): str},
    )
    def list(self, request: Request, id: str) -> HttpResponseBase:
        """Read what the agent's pod says: its engine, the bridge that keeps the engine, and its gateway.

        Without `after` the newest lines, in the order in which they came; with it the lines after that place, so that
        nothing is missed and nothing repeated. `cursor` is where the next page begins, also on a page without lines.
        The log goes on over pods: of a pod that is gone the last 256 KiB are kept, of the running one 5 MB. `live`
        says whether the running pod told this itself, `gap` that lines before the first are not kept any more. Secrets
        are masked. More lines now: `Link: <…>; rel="next"`.

        With `Accept: text/event-stream` the log is followed until the client leaves or the agent is deleted: `state`
        {status, live} at first and when that changes, `log` for each line, with its cursor as the event's id, `gap`
        where lines are missing, `end` {message}, and a comment every ten seconds of silence.
        """
        agent = self.own_agent(id)
        query = ListLogsSerializer(data={name: value for name, value in request.query_params.items() if value})
        query.is_valid(raise_exception=True)
        asked: dict[str, Any] = {"after": None, "limit": logs.PAGE, "source": None, **query.validated_data}
        if EVENT_STREAM in request.headers.get("Accept", ""):
            asked["after"] = request.headers.get("Last-Event-ID") or asked["after"]
            return _followed(agent, request, asked)
        page = logs.page(agent, **asked)
        cursor = logs.text_of(agent, page.cursor) if page.cursor else None
        more = {"Link": f'<{_next_url(agent, {**asked, "after": cursor})}>; rel="next"'} if page.more else {}
        told = {"logs": page.entries, "cursor": cursor, "live": page.live, "gap": page.gap}
        return Response(LogsEnvelope(told).data, headers=more)


def _next_url(agent: Agent, asked: dict[str, Any]) -> str:
    given = {name: str(value) for name, value in asked.items() if value is not None}
    return f"{settings.BASE_URL}/agents/{agent.pk}/logs?{urlencode(given)}"


def _followed(agent: Agent, request: Request, asked: dict[str, Any]) -> EventStream:
    is_allowed = authentication.stays_good(request)
    begin, end = log_following.follow(agent, is_allowed=is_allowed, **asked)
    return EventStream(lambda: _wire(agent, begin()), end=end)


async def _wire(agent: Agent, events: Events) -> AsyncGenerator[bytes, None]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    async with aclosing(events):
        async for event in events:
            yield _written(agent, event)


def _written(agent: Agent, event: Event) -> bytes:
    match event:
        case LogState():
            return _event("state", {"status": event.status, "live": event.live})
        case End():
            return _event("end", {"message": event.reason})
        case News(page):
            gap = [_event("gap", {"message": "lines before this one are not kept any more"})] if page.gap else []
            lines = [
                _event("log", LogEntrySerializer(entry).data, id=logs.text_of(agent, entry.cursor))
                for entry in page.entries
            ]
            return b"".join([*gap, *lines]) or BEAT


def _event(name: str, data: Any, *, id: str | None = None) -> bytes:
    named = f"id: {id}\n" if id else ""
    return f"event: {name}\n{named}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")

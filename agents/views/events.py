"""`GET /agents/{id}/events` and `GET /events`: as a list, or followed as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from accounts import authentication
from accounts.authentication import caller, only_agent
from agents.models import Agent, Status
from agents.views.base import AgentViewSet
from config.api import ApiViewSet
from config.streams import EVENT_STREAM, EventStream
from webhooks import account_log, event_following, event_log
from webhooks.event_following import FollowedLog, Follows, LastWord, Later
from webhooks.event_log import EventPage
from webhooks.serializers import EventsEnvelope, ListEventsSerializer

RETRY_MILLISECONDS = 2000
BEAT = b": still here\n\n"
_LAST_ID = OpenApiParameter(
    "Last-Event-ID",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="With `Accept: text/event-stream`: in place of `after`, as event sources send it.",
)
_listed = extend_schema(
    parameters=[ListEventsSerializer, _LAST_ID],
    responses={(200, "application/json"): EventsEnvelope, (200, EVENT_STREAM): str},
)


class EventsViewSet(AgentViewSet):
    @_listed
    def list(self, request: Request, id: str) -> HttpResponseBase:
        """List the agent's events: what a webhook gets, for callers that cannot host one.

        Oldest first, of the last thirty days, with or without a webhook, `test` events included. Call it with `after`
        set to the last id you have: nothing is missed and nothing repeated, because an agent's events appear in their
        order. An empty list means that nothing has happened since. More of them: `Link: <…>; rel="next"`.

        With `Accept: text/event-stream` they are sent as they happen, after those that there are: the type as the
        event's name, its id, and as `data` the same text. `end` {message} says why nothing follows, a comment every ten
        seconds that it is quiet. After fifteen minutes the stream ends; event sources connect again by themselves.
        """
        agent = self.own_agent(id)
        query = self.query(ListEventsSerializer)
        if not _follows(request):
            return _answered(event_log.page(agent, **query))
        later = partial(event_log.later, agent)
        return _followed(request, agent.user_id, later, partial(_ended, agent.pk), query.get("after"))


class AccountEventsViewSet(ApiViewSet):
    @_listed
    def list(self, request: Request) -> HttpResponseBase:
        """List the events of all your agents, deleted ones too.

        Oldest first, of the last thirty days, and followed or paged as the events of one agent. Call it with `after`
        set to the last id you have: nothing is missed and nothing repeated. The events of one agent are in their order;
        those of different agents are in the order in which they could first be read here, so order them by `createdAt`.
        """
        account, query = caller(request).pk, self.query(ListEventsSerializer)
        only = only_agent(request)
        if not _follows(request):
            return _answered(account_log.page(account, only=only, **query))
        later = partial(account_log.later, account, only=only)
        return _followed(request, account, later, lambda: None, query.get("after"))


def _answered(page: EventPage) -> HttpResponse:
    headers = {"Link": f'<{page.next_url}>; rel="next"'} if page.next_url else {}
    # The stored texts are not parsed and rendered again, because that could change them.
    body = '{"events":[' + ",".join(page.bodies) + "]}"
    return HttpResponse(body, content_type="application/json", headers=headers)


def _follows(request: Request) -> bool:
    return request.method == "GET" and EVENT_STREAM in request.headers.get("Accept", "")


def _ended(agent_id: str) -> str | None:
    """Why nothing follows of this agent."""
    there = Agent.objects.filter(pk=agent_id).exclude(status=Status.DELETED).exists()
    return None if there else "the agent is deleted"


def _followed(
    request: Request, account: str, later: Later, ended: Callable[[], str | None], after: str | None
) -> EventStream:
    is_allowed = authentication.stays_good(request)
    followed = FollowedLog(account=account, later=later, is_allowed=is_allowed, ended=ended)
    begin, end = event_following.follow(followed, after=request.headers.get("Last-Event-ID") or after)
    return EventStream(lambda: _wire(begin()), end=end)


async def _wire(events: Follows) -> AsyncGenerator[bytes, None]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    async with aclosing(events):
        async for found in events:
            if isinstance(found, LastWord):
                yield f"event: end\ndata: {json.dumps({'message': found.reason})}\n\n".encode()
                return
            lines = [f"id: {one.pk}\nevent: {one.type}\ndata: {one.body}\n\n" for one in found.events]
            yield "".join(lines).encode() or BEAT

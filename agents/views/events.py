"""`GET /agents/{id}/events`."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.views.base import AgentViewSet
from webhooks import event_log
from webhooks.serializers import EventsEnvelope, ListEventsSerializer


class EventsViewSet(AgentViewSet):
    @extend_schema(parameters=[ListEventsSerializer], responses=EventsEnvelope)
    def list(self, request: Request, id: str) -> HttpResponse:
        """List the agent's events: what a webhook gets, for callers that cannot host one.

        Oldest first, of the last thirty days, with or without a webhook, `test` events included. Call it with `after`
        set to the last id you have: nothing is missed and nothing repeated, because an agent's events appear in their
        order. An empty list means that nothing has happened since. More of them: `Link: <…>; rel="next"`.
        """
        page = event_log.page(self.own_agent(id), **self.query(ListEventsSerializer))
        headers = {"Link": f'<{page.next_url}>; rel="next"'} if page.next_url else {}
        # The stored texts are not parsed and rendered again, because that could change them.
        body = '{"events":[' + ",".join(page.bodies) + "]}"
        return HttpResponse(body, content_type="application/json", headers=headers)

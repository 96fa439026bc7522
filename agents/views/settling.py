"""`Prefer: wait=N` for an action of one agent: the answer comes when the agent has settled.

    @settles
    def create(self, request: Request, id: str) -> Response:
        ...

The action itself is done at once. Its answer then waits on the server's event loop, without a thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import connection
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from agents.models import Agent, Status
from agents.running import settling
from agents.serializers import etag
from agents.views.base import AgentViewSet
from config import dry_run, preferences, waiting
from config.errors import Unavailable
from config.json_answers import encoded
from config.streams import LaterAnswer

P = ParamSpec("P")
V = TypeVar("V", bound=AgentViewSet)


def settles(
    action: Callable[Concatenate[V, Request, P], Response],
) -> Callable[Concatenate[V, Request, P], HttpResponseBase]:
    """Let callers of this action wait until the agent has settled, at most the seconds that they prefer."""

    @functools.wraps(action)
    def waits(view: V, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        answer = action(view, request, *args, **kwargs)
        seconds = preferences.wait_seconds(request)
        if not seconds or request.method == "HEAD" or answer.status_code >= 300 or dry_run.is_on():
            return answer
        agent_id = str(kwargs.get("id") or answer.data["agent"]["id"])
        try:
            leave = waiting.settlings.hold(view.caller().pk)
        except Unavailable:  # too many wait already; the action is done, so the caller gets its answer now
            return answer
        later = LaterAnswer(
            partial(settling.until_settled, agent_id, seconds=seconds),
            partial(_body, view, answer.data, agent_id),
            end=leave,
        )
        later.status_code = answer.status_code
        for name, value in answer.items():
            # The agent changes: `_body` sets its ETag. An answer that is not rendered does not know its type yet.
            if name not in {"ETag", "Content-Type"}:
                later[name] = value
        if answer.data is None:
            del later["Content-Type"]  # no body
        later[preferences.APPLIED] = f"wait={seconds}"
        return later

    waits.settles = True  # type: ignore[attr-defined]  # for config/openapi.py
    return waits


def _body(view: AgentViewSet, answered: dict[str, Any] | None, agent_id: str, later: LaterAnswer) -> bytes:
    """What was answered, with the agent as it is now and its ETag. One whose row is gone by then is shown as deleted,
    without an ETag."""
    if answered is None:
        return b""
    try:
        agent = Agent.objects.select_related("hook", "quota_snapshot").filter(pk=agent_id).first()
        shown = view.json_of(agent) if agent else {**answered["agent"], "status": Status.DELETED.value}
        if agent and view.chosen is None:
            later["ETag"] = etag.etag_of(shown)
        return bytes(encoded({**answered, "agent": shown}))
    finally:
        connection.close()

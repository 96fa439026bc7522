"""/account/agents/{id}/log: the pod's log."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpResponseBase
from rest_framework.request import Request

from agents.watching import logs
from agents.watching.logs import LogEntry
from pages.account.agents.base import AgentPagePage

LINES = 200


class LiveLogPage(AgentPagePage):
    """The newest lines of the pod's log. As in the API, secrets are masked."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        page = logs.page(agent, limit=LINES)
        context = {"agent": agent, "lines": [_line(entry) for entry in page.entries], "live": page.live}
        return self.page("log.html", context)


def _line(entry: LogEntry) -> str:
    at = datetime.fromtimestamp(entry.line.at, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} {entry.line.source} {entry.line.text}"

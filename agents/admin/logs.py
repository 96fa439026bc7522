"""An agent's log in the admin: the last lines as a part of the agent's page, all that is kept on a page of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from agents.models import Agent
from agents.pod.logs.lines import LogSource
from agents.watching import logs
from agents.watching.logs import LogPage
from config.admin_steps import WithSteps
from config.errors import BadRequest, ServiceError

LAST_LINES, PAGE = 20, 200
# A silent pod must not delay the page for long.
SECONDS = 2.0
LAST_PAGE = "admin/agents/last_lines.html"


class WithLogs(WithSteps):
    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<str:id>/logs/", view(self.logs_view), name="agents_agent_logs"),
            path("<str:id>/logs/last/", view(self.last_lines_view), name="agents_agent_last_lines"),
        ]
        return [*own, *super().get_urls()]

    def last_lines_view(self, request: HttpRequest, id: str) -> HttpResponse:
        """The part of the agent's page that its script loads, so that a silent pod does not delay the page.

        The gateway masked the lines when it kept them; here they are escaped.
        """
        agent = self._agent(request, id)
        context = {**self.admin_site.each_context(request), "title": f"Log of {agent}", "opts": self.opts}
        try:
            page = logs.page(agent, limit=LAST_LINES, seconds=SECONDS)
        except ServiceError as refusal:
            return TemplateResponse(request, LAST_PAGE, {**context, "agent": agent, "problem": refusal.message})
        shown = {"agent": agent, "lines": _shown(page), "live": page.live}
        return TemplateResponse(request, LAST_PAGE, {**context, **shown})

    def logs_view(self, request: HttpRequest, id: str) -> HttpResponse:
        agent = self._agent(request, id)
        chosen, after = request.GET.get("source", ""), request.GET.get("after") or None
        source = LogSource(chosen) if chosen in list(LogSource) else None
        try:
            page = logs.page(agent, after=after, limit=PAGE, source=source)
        except BadRequest as refusal:
            raise Http404(refusal.message) from refusal
        except ServiceError as refusal:
            return HttpResponse(refusal.message, status=refusal.status, content_type="text/plain; charset=utf-8")
        return TemplateResponse(request, "admin/agents/logs.html", self._context(request, agent, page, source))

    def _agent(self, request: HttpRequest, id: str) -> Agent:
        if not self.has_view_permission(request):
            raise PermissionDenied
        agent = Agent.objects.filter(pk=id).first()
        if agent is None:
            raise Http404
        return agent

    def _context(self, request: HttpRequest, agent: Agent, page: LogPage, source: LogSource | None) -> dict[str, Any]:
        cursor = logs.text_of(agent, page.cursor) if page.cursor else None
        return {
            **self.admin_site.each_context(request),
            "title": f"Log of {agent}",
            "opts": self.opts,
            "agent": agent,
            "lines": _shown(page),
            "page": page,
            "source": source or "",
            "sources": list(LogSource),
            "later": f"?{urlencode({'after': cursor, 'source': source or ''})}" if cursor else "",
            "oldest": f"?{urlencode({'after': logs.OLDEST, 'source': source or ''})}",
        }


def _shown(page: LogPage) -> list[dict[str, str]]:
    return [
        {
            "time": f"{datetime.fromtimestamp(entry.line.at, UTC):%Y-%m-%d %H:%M:%S}",
            "source": entry.line.source,
            "level": entry.line.level or "",
            "text": entry.line.text,
        }
        for entry in page.entries
    ]

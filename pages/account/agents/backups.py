"""/account/agents/{id}/backups: list, make, download and restore backups."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.authentication import caller
from agents.backups import by_owner, downloading, restoring
from agents.backups.models import OPEN, Backup, Kind
from agents.errors import BackupsAreOff
from agents.models import Agent
from config.errors import ServiceError
from pages.account import words
from pages.account.agents import buttons
from pages.account.agents.base import AgentPagePage

ON_A_PAGE = 50
KINDS: dict[str, Promise] = {
    Kind.ASKED: _("asked for"),
    Kind.NIGHTLY: _("nightly"),
    Kind.REBUILD: _("before it was rebuilt"),
    Kind.STOP: _("before it stopped"),
    Kind.FINAL: _("before it was deleted"),
}


class BackupsPage(AgentPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self._shown(self.own_agent(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Start a backup. The page shows it by itself when it is ready."""
        agent = self.own_agent(id)
        try:
            by_owner.begin(agent, actor=f"user:{caller(request).pk}")
        except ServiceError as refusal:
            return self._shown(agent, problem=_problem(refusal, agent), status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}/backups")

    def _shown(self, agent: Agent, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        context = {
            "agent": agent,
            "backups": [_line(backup) for backup in by_owner.listed(agent)[:ON_A_PAGE]],
            "going_on": Backup.objects.filter(agent=agent, stage__in=OPEN).exists(),
            "problem": problem,
        }
        return self.page("backups.html", context, status=status)


class BackupFilePage(AgentPagePage):
    def retrieve(self, request: Request, id: str, name: str) -> HttpResponseBase:
        backup = by_owner.named(self.own_agent(id), name)
        return StreamingHttpResponse(
            downloading.archive(backup),
            content_type="application/gzip",
            headers={
                "Content-Disposition": f'attachment; filename="{backup.name}.tar.gz"',
                "Cache-Control": "no-store",
            },
        )


class RestorePage(AgentPagePage):
    """Restore a backup. The page first says what that means."""

    def retrieve(self, request: Request, id: str, name: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self.page("restore.html", {"agent": agent, "line": _line(by_owner.named(agent, name))})

    def create(self, request: Request, id: str, name: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        backup = by_owner.named(agent, name)
        try:
            restoring.restore(agent, backup, actor=f"user:{caller(request).pk}")
        except ServiceError as refusal:
            context = {"agent": agent, "line": _line(backup), "problem": _problem(refusal, agent)}
            return self.page("restore.html", context, status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}")


def _line(backup: Backup) -> dict[str, Any]:
    return {
        "name": backup.name,
        "moment": words.moment(backup.taken_at or backup.asked_at),
        "kind": KINDS[backup.kind],
        "size": filesizeformat(backup.size),
    }


def _problem(refusal: ServiceError, agent: Agent) -> str:
    if isinstance(refusal, BackupsAreOff):
        return gettext("There are no backups on this installation.")
    return buttons.problem(refusal, agent)

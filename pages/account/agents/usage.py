"""/account/agents/{id}/usage: memory and disk of an agent."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from agents.models import AgentQuota, QuotaStatus
from agents.watching import quota, usage_hours
from pages.account import words
from pages.account.agents import usage_plot
from pages.account.agents.base import AgentPagePage
from pages.account.names import plan_name

STATUSES: dict[str, Promise] = {
    QuotaStatus.OK: _("There is enough space."),
    QuotaStatus.WARN: _("Memory or disk is nearly full."),
    QuotaStatus.GRACE: _("Memory or disk is full."),
    QuotaStatus.PAUSED: _("It was stopped because its memory or disk was full for an hour."),
}
WARN, FULL = 85, 95  # percent, as in agents/watching/quota.py


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The used part in percent. `drawn` is at most 100."""

    name: Promise
    percent: int
    drawn: int
    used: str
    limit: str
    colour: str


class UsagePage(AgentPagePage):
    """How much memory and disk the agent uses of its plan."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        taken: AgentQuota | None = getattr(agent, "quota_snapshot", None)
        now = timezone.now()
        ends_at = quota.ends_at(taken) if taken else None
        context = {
            "agent": agent,
            "plan": plan_name(agent.tier),
            "status": STATUSES[taken.status] if taken else "",
            "tight": taken is not None and taken.status != QuotaStatus.OK,
            "ends": words.moment(ends_at) if ends_at else "",
            "bars": _bars(taken) if taken else [],
            "measured": words.moment(taken.updated_at) if taken else "",
            "stale": taken is not None and now - taken.updated_at > quota.STALE_AFTER,
            "plots": usage_plot.plots(usage_hours.of(agent, now=now), now=now),
        }
        return self.page("usage.html", context)


def _bars(taken: AgentQuota) -> list[Bar]:
    return [
        *_bar(_("Memory"), taken.memory_used_bytes, taken.memory_limit_bytes),
        *_bar(_("Disk"), taken.disk_used_bytes, taken.disk_total_bytes),
    ]


def _bar(name: Promise, used: int | None, limit: int | None) -> list[Bar]:
    """One bar. No bar if the amount is unknown."""
    if used is None or not limit:
        return []
    percent = round(used / limit * 100)
    return [
        Bar(
            name=name,
            percent=percent,
            drawn=min(percent, 100),
            used=filesizeformat(used),
            limit=filesizeformat(limit),
            colour="full" if percent >= FULL else "much" if percent >= WARN else "",
        )
    ]

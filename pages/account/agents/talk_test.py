"""/account/agents/{id}/talk-test: test each part of an agent."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from agents.models import Status
from agents.runtimes.management import TriedHop
from agents.talking import talk_test
from config.errors import ServiceError
from pages.account.agents import buttons
from pages.account.agents.base import AgentPagePage
from pages.words import CHANNELS

NOT_TRIED = "not tried"  # beginning of the error of a part that was not tried, since an earlier part did not answer
HOPS: dict[str, object] = {
    "gateway": _("Its gateway"),
    "engine": _("Its engine"),
    "model": _("Its model"),
    **{channel.value: name for channel, name in CHANNELS.items()},
}


class TalkTestPage(AgentPagePage):
    """Send one word through all parts of the agent, and show which part does not answer."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        try:
            test = talk_test.run(agent)
        except ServiceError as refusal:
            context = {"agent": agent, "hops": [], "problem": buttons.problem(refusal, agent)}
            return self.page("talk_test.html", context, status=refusal.status)
        hops = [_line(one) for one in test.hops]
        starting = agent.status == Status.PROVISIONING
        return self.page("talk_test.html", {"agent": agent, "hops": hops, "all_well": test.ok, "starting": starting})


def _line(one: TriedHop) -> dict[str, object]:
    tried = not (one.error or "").startswith(NOT_TRIED)
    return {"name": HOPS.get(one.hop, one.hop), "ok": one.ok, "tried": tried, "error": one.error}

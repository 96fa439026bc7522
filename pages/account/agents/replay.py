"""/account/agents/{id}/replay: what the agent did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.authentication import caller
from agents.pod.gateway.replay.entries import EntryKind, TurnDoor
from agents.replay import listing, recording
from agents.replay.models import ReplayEntry
from agents.serializers.replay import ListReplaySerializer
from pages.account import words
from pages.account.agents.base import AgentPagePage

ON_A_PAGE = 30
KINDS: dict[str, Promise] = {
    EntryKind.TURN_BEGAN: _("Question"),
    EntryKind.MODEL_CALL: _("Model call"),
    EntryKind.TOOL_CALL: _("Its model asked for a tool"),
    EntryKind.TURN_ENDED: _("Answer"),
    EntryKind.TURN_FAILED: _("No answer"),
    EntryKind.NOT_KEPT: _("Not kept"),
}
DOORS: dict[str, Promise] = {
    TurnDoor.CHAT: _("in a chat"),
    TurnDoor.A2A: _("from another agent"),
    TurnDoor.TEST: _("in a test"),
    TurnDoor.CHANNEL: _("on a channel"),
    TurnDoor.SHARED: _("in one of several conversations"),
    TurnDoor.ENGINE: _("by itself"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayLine:
    at: datetime
    moment: str
    name: Promise
    about: str
    cause: Promise | str
    texts: list[str]
    conversation: str  # the page with this conversation alone


class ReplayPage(AgentPagePage):
    """What the agent did in the last 30 days, the newest first. Operators do not see it: it has words of its users."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        asked = self.query(ListReplaySerializer)
        cursor, session = asked.get("cursor"), asked.get("session")
        page = listing.page(agent, cursor=cursor, session=session, limit=ON_A_PAGE)
        here = f"/account/agents/{agent.pk}/replay"
        only = {"session": session} if session else {}
        context = {
            "agent": agent,
            "lines": [_line(entry, here) for entry in page.rows],
            "is_on": recording.is_on(agent),
            "older": f"{here}?{urlencode({**only, 'cursor': page.cursor})}" if page.cursor else None,
            "paged": bool(cursor or session),
            "first": here,
        }
        return self.page("replay.html", context)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Switch it on or off."""
        agent = self.own_agent(id)
        recording.switch(agent, is_on=self.typed("recording") == "yes", actor=f"user:{caller(request).pk}")
        return self.go(f"/account/agents/{agent.pk}/replay")


class ReplayRemovalPage(AgentPagePage):
    """Delete all of it. The page first says what that means."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.page("replay_delete.html", {"agent": self.own_agent(id)})

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        recording.delete(agent, actor=f"user:{caller(request).pk}")
        return self.go(f"/account/agents/{agent.pk}/replay")


def _line(entry: ReplayEntry, here: str) -> ReplayLine:
    texts = (entry.asked, entry.answered, entry.arguments, entry.error)
    begins = entry.session and entry.kind == EntryKind.TURN_BEGAN
    return ReplayLine(
        at=entry.created_at,
        moment=f"{words.day(entry.created_at)}, {entry.created_at:%H:%M:%S} UTC",
        name=KINDS.get(entry.kind, _("Not kept")),
        about=", ".join(filter(None, _about(entry))),
        cause=words.CAUSES.get(entry.cause, ""),
        texts=[text for text in texts if text],
        conversation=f"{here}?{urlencode({'session': entry.session})}" if begins else "",
    )


def _about(entry: ReplayEntry) -> list[str]:
    """How it came, what it took and what it cost."""
    if entry.count is not None:
        return [gettext("%(count)s more on this day") % {"count": entry.count}]
    return [
        str(DOORS.get(entry.door, "")) if entry.kind != EntryKind.TOOL_CALL else "",
        entry.tool or (entry.model if entry.kind == EntryKind.MODEL_CALL else ""),
        f"{entry.ms / 1000:.1f} s" if entry.ms is not None else "",
        f"{entry.usd:.6f} USD" if entry.usd is not None else "",
    ]

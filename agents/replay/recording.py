"""The owner's switch of the replay, and the deletion of what was recorded."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from agents import timeline
from agents.configuring import configuration
from agents.models import Agent, Reason, Spending
from agents.replay.models import ReplayEntry
from config import background, sql
from webhooks import events
from webhooks.event_types import LoggedType

DELETED_AT_ONCE = 20_000
_DELETE = """
DELETE FROM agents_replayentry
WHERE id IN (
    SELECT id FROM agents_replayentry
    WHERE agent_id = %(agent)s AND created_at <= %(until)s AND (%(session)s = '' OR session = %(session)s)
    LIMIT %(limit)s
)
"""


def is_on(agent: Agent) -> bool:
    return (Spending.objects.filter(pk=agent.pk).first() or Spending(agent=agent)).is_replayed


@transaction.atomic
def switch(agent: Agent, *, is_on: bool, actor: str) -> bool:
    """Record from now on, or no more. What the pod has not handed over when this is switched off is forgotten.

    The pod hears it at once, or with the next exchange of figures. From this moment on nothing that comes is stored.
    """
    agent = configuration.locked(agent)
    settings = _settings(agent)
    if settings.is_replayed != is_on:
        settings.is_replayed = is_on
        settings.save(update_fields=["is_replayed"])
        now = timezone.now()
        words = "the replay is recorded" if is_on else "the replay is not recorded any more"
        timeline.note(agent, words, reason=Reason.OWNER, actor=actor, now=now)
        # Owners do not see the timeline, and a key of theirs may have done this.
        events.log(agent, LoggedType.REPLAY_SWITCHED, {"recording": is_on, "by": actor}, now=now)
        background.on_commit("agents.exchange_spending", agent.pk)
    return is_on


def delete(agent: Agent, *, session: str | None = None, actor: str) -> int:
    """Delete what has happened until now, of one conversation or all. Returns how many rows that were.

    What the pod hands over later of the time before is not stored.
    """
    now = timezone.now()
    _clear(agent, session or "", actor=actor, now=now)
    values = {"agent": agent.pk, "until": now, "session": session or "", "limit": DELETED_AT_ONCE}
    left = ReplayEntry.objects.filter(agent=agent, created_at__lte=now, **({"session": session} if session else {}))
    count = 0
    while left.exists():  # the statement may find that another deletion was faster, and that there are further rows
        count += sql.execute(_DELETE, values)
    return count


@transaction.atomic
def _clear(agent: Agent, session: str, *, actor: str, now: datetime) -> None:
    agent = configuration.locked(agent)
    settings = _settings(agent)
    settings.clear_replay(session, now=now)
    settings.save(update_fields=["replay_cleared"])
    words = "the replay of a conversation was deleted" if session else "the replay was deleted"
    timeline.note(agent, words, reason=Reason.OWNER, actor=actor, now=now)
    events.log(agent, LoggedType.REPLAY_DELETED, {"session": session or None, "by": actor}, now=now)


def _settings(agent: Agent) -> Spending:
    settings, _ = Spending.objects.select_for_update().get_or_create(agent=agent)
    return settings

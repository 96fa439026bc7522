"""The timeline of an agent: who asked for something and why, and which status followed. Owners do not see it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from agents.models import Agent, Reason, Status, Transition

LOOKED_AT = 500  # rows in which the last start is looked for


def note(agent: Agent, words: str, *, reason: Reason, actor: str, now: datetime, came_from: str = "") -> None:
    """Add a row. `came_from` is the status before; without it the status has not changed."""
    note_each([(agent, words)], reason=reason, actor=actor, now=now, came_from=came_from)


def note_each(
    notes: Iterable[tuple[Agent, str]], *, reason: Reason, actor: str, now: datetime, came_from: str = ""
) -> None:
    """Add a row for each of these agents, in one statement."""
    rows = [
        Transition(
            agent=agent,
            from_status=came_from or agent.status,
            to_status=agent.status,
            reason=reason,
            actor=actor,
            note=words,
            at=now,
        )
        for agent, words in notes
    ]
    Transition.objects.bulk_create(rows)


def last_start(agent: Agent) -> timedelta | None:
    """How long the agent's last start took; None if it is not among the newest rows."""
    rows = Transition.objects.filter(agent=agent).order_by("-at", "-id")
    up: datetime | None = None
    for before, after, reason, at in rows.values_list("from_status", "to_status", "reason", "at")[:LOOKED_AT]:
        if up is None and (before, after) == (Status.PROVISIONING, Status.RUNNING):
            up = at
        elif up and after == Status.PROVISIONING and (before != after or reason == Reason.CREATE):
            return up - at
    return None

"""The timeline of an agent: who asked for something and why, and which status followed. Owners do not see it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agents.models import Agent, Reason, Transition


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

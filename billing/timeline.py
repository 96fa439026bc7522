"""Notes on an agent's timeline about billing: what was done or asked for, by whom and why."""

from __future__ import annotations

from datetime import datetime

from agents.models import Agent, Reason, Transition


def note(agent: Agent, words: str, *, actor: str, now: datetime) -> Transition:
    return Transition.objects.create(
        agent=agent,
        from_status=agent.status,
        to_status=agent.status,
        reason=Reason.PAYMENT,
        actor=actor,
        note=words,
        at=now,
    )

"""The rule of step 3 of the recipe "Add an event type" (CONTRIBUTING.md): what happens and who learns of it."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from agents import timeline
from agents.models import Agent, Reason
from webhooks import events
from webhooks.event_types import EventType


@transaction.atomic
def rename(agent: Agent, *, name: str, actor: str, now: datetime) -> Agent:
    """Give the agent another name. Its owner gets `agent.renamed`; operators see it on the timeline."""
    agent = Agent.objects.lock(agent.pk)
    before, agent.name = agent.name, name
    agent.save(update_fields=["name"])
    timeline.note(agent, "renamed", reason=Reason.OWNER, actor=actor, now=now)
    events.emit(agent, EventType("agent.renamed"), {"from": before, "to": name}, now=now)
    return agent

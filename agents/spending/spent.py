"""What was spent today and this month, as far as it was read from the pods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from django.db.models import Q, Sum

from agents.models import Agent
from agents.pod.gateway.spending.limits import Spent
from agents.spending.models import SpentDay, month_of, units


def so_far(agents: Sequence[Agent], *, today: date) -> dict[str, Spent]:
    """By each of these agents, in the gateway's units."""
    own = sums([agent.pk for agent in agents], today=today)
    return {agent.pk: _told(own.get(agent.pk)) for agent in agents}


def sums(agent_ids: Sequence[str], *, today: date) -> dict[str, tuple[Decimal, Decimal]]:
    """USD of today and of its month, of those agents that have spent anything."""
    days = SpentDay.objects.filter(agent__in=agent_ids, day__gte=month_of(today), day__lte=today)
    found = days.values("agent_id").annotate(
        today=Sum("usd", filter=Q(day=today), default=Decimal(0)), month=Sum("usd", default=Decimal(0))
    )
    return {row["agent_id"]: (row["today"], row["month"]) for row in found}


def _told(own: tuple[Decimal, Decimal] | None) -> Spent:
    day, month = own or (Decimal(0), Decimal(0))
    return Spent(day=units(day) or 0, month=units(month) or 0)

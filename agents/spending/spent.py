"""What was spent today and this month, as far as it was read from the pods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal

from django.db.models import Q, Sum

from agents.models import Agent
from agents.pod.gateway.spending.limits import Spent
from agents.spending.models import KeyUsage, SpentDay, month_of, units

DayAndMonth = tuple[Decimal, Decimal]
NOTHING: DayAndMonth = (Decimal(0), Decimal(0))


def so_far(agents: Sequence[Agent], *, today: date) -> dict[str, Spent]:
    """By each of these agents, in the gateway's units."""
    own = sums([agent.pk for agent in agents], today=today)
    return {agent.pk: _told(own.get(agent.pk, NOTHING)) for agent in agents}


def sums(agent_ids: Collection[str], *, today: date) -> dict[str, DayAndMonth]:
    """USD of today and of its month, of those agents that have spent anything."""
    return _sums("agent", agent_ids, today=today)


def sums_of_accounts(user_ids: Collection[str], *, today: date) -> dict[str, DayAndMonth]:
    """USD of today and of its month, of those accounts whose agents have spent anything. Deleted agents count too."""
    return _sums("agent__user", user_ids, today=today)


def sums_of_keys(key_ids: Collection[str], *, today: date) -> dict[str, DayAndMonth]:
    """USD of today and of its month, of those API keys whose turns have cost anything."""
    return _sums("api_key", key_ids, today=today, of=KeyUsage)


def _sums(
    by: str, ids: Collection[str], *, today: date, of: type[SpentDay] | type[KeyUsage] = SpentDay
) -> dict[str, DayAndMonth]:
    days = of.objects.filter(day__gte=month_of(today), day__lte=today, **{f"{by}__in": ids})
    found = days.values_list(by).annotate(
        today=Sum("usd", filter=Q(day=today), default=Decimal(0)), month=Sum("usd", default=Decimal(0))
    )
    return {one: (usd_today, usd_month) for one, usd_today, usd_month in found}


def _told(own: DayAndMonth) -> Spent:
    day, month = own
    return Spent(day=units(day) or 0, month=units(month) or 0)

"""The figures of an agent's model calls for its owner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils import timezone

from agents.models import Agent, ModelUsage
from agents.spending.forgetting import KEPT
from agents.spending.models import KeyUsage, month_of
from config.errors import BadRequest

MOST_ROWS = 1_000
_SUMS = ("calls", "failed", "estimated", "unpriced", "input", "cached", "written", "output", "reasoning", "usd")
_SUM = "sum_"
UsageRow = dict[str, Any]


class UsageBy(StrEnum):
    DAY = "day"
    MODEL = "model"
    SESSION = "session"
    KEY = "key"


_GROUPS = {
    UsageBy.DAY: ("day",),
    UsageBy.MODEL: ("model",),
    UsageBy.SESSION: ("kind", "session"),
    UsageBy.KEY: ("api_key_id", "api_key__name"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCosts:
    """The figures of these days: of all calls together, and by one thing. `usd` is None where no call has a price."""

    first: date
    last: date
    by: UsageBy
    total: UsageRow
    rows: list[UsageRow]
    has_more: bool


def costs(
    agent: Agent,
    *,
    first: date | None = None,
    last: date | None = None,
    by: UsageBy = UsageBy.DAY,
    only_key: str | None = None,
) -> ModelCosts:
    """Without days: from the first of this month until today, in UTC. Raises BadRequest for days in a wrong order.

    `only_key` is the id of the one API key that the caller may see.
    """
    last = last or timezone.now().date()
    first = first or month_of(last)
    if first > last:
        raise BadRequest(f"from: {first} is after to, {last}")
    if last - first > KEPT:
        raise BadRequest(f"from: at most {KEPT.days} days before to, {last}; got {first}")
    found = ModelUsage.objects.filter(agent=agent, day__gte=first, day__lte=last)
    sums = {f"{_SUM}{name}": Sum(name) for name in _SUMS}  # a sum may not have the name of its column
    group = _GROUPS[by]
    # Of days all, in their order; of others those that cost most.
    order = ("day",) if by is UsageBy.DAY else (f"-{_SUM}usd", f"-{_SUM}output", *group)
    grouped = _by_key(agent, first, last, only_key) if by is UsageBy.KEY else found
    rows = list(grouped.values(*group).annotate(**sums).order_by(*order)[: MOST_ROWS + 1])
    total = found.aggregate(**sums)
    return ModelCosts(
        first=first,
        last=last,
        by=by,
        total=_priced(total),
        rows=[_priced(row) for row in rows[:MOST_ROWS]],
        has_more=len(rows) > MOST_ROWS,
    )


def _by_key(agent: Agent, first: date, last: date, only_key: str | None) -> QuerySet[KeyUsage]:
    found = KeyUsage.objects.filter(agent=agent, day__gte=first, day__lte=last)
    return found if only_key is None else found.filter(api_key=only_key)


def _priced(row: UsageRow) -> UsageRow:
    """With the names of the columns. Without an amount, if calls were answered and none of them has a price."""
    row = {name.removeprefix(_SUM): value or 0 if name.startswith(_SUM) else value for name, value in row.items()}
    answered = row["calls"] - row["failed"]
    unknown = answered > 0 and row["unpriced"] >= answered
    return {**row, "usd": None if unknown else Decimal(row["usd"])}

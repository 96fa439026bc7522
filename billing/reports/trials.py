"""Trials that were paid, and paid agents that stopped, by month and by persona, engine and tier.

An agent counts under the plan and the engine that it has now. Churn compares the agents that stopped after paid time
with those that were paid when the month began. The ledger knows these: each of its rows says until when the agent was
paid after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dateutil.relativedelta import relativedelta
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import TruncMonth

from agents.models import Agent
from billing.models import Lapse, Payment
from billing.reports.months import Months
from billing.vocabulary import CONFIRMED, TermMode
from config import sql

BY = ("persona", "engine", "tier")
MOST_NAMED = 50  # of each kind; anybody may publish personas
OTHERS = "(others)"

# A row of the ledger holds from its moment to the agent's next row. The sort is over the whole ledger, once.
_PAID = """
WITH states AS (
    SELECT agent_id, at, paid_till, lead(at) OVER (PARTITION BY agent_id ORDER BY at, paid_till, id) AS next_at
    FROM billing_payment WHERE paid_till IS NOT NULL AND at < %(last)s
)
SELECT months.month, a.persona_id, a.engine, a.tier, count(*)
FROM unnest(%(months)s::timestamptz[]) AS months(month)
JOIN states s ON s.at < months.month AND (s.next_at IS NULL OR s.next_at >= months.month) AND s.paid_till > months.month
JOIN agents_agent a ON a.id = s.agent_id
GROUP BY 1, 2, 3, 4
"""


@dataclass(slots=True)
class TrialMonth:
    trials: int = 0
    bought: int = 0
    paid: int = 0  # when the month began
    ended: int = 0

    @property
    def converted(self) -> str:
        return _percent(self.bought, self.trials)

    @property
    def churn(self) -> str:
        return _percent(self.ended, self.paid)


Key = tuple[str, datetime, str]  # persona, engine or tier; the month; which one
Found = tuple[datetime, dict[str, str], dict[str, int]]  # what to add to the lines of a month


def trials(months: Months, *, now: datetime) -> list[tuple[Key, TrialMonth]]:
    """In the order of BY, then of months. Three statements, however many agents there are."""
    found = [*_trials(months), *_paid(months, now=now), *_ended(months)]
    named = {by: _named(by, found) for by in BY}
    lines: dict[Key, TrialMonth] = {}
    for month, which, added in found:
        for by in BY:
            name = which[by] if which[by] in named[by] else OTHERS
            line = lines.setdefault((by, month, name), TrialMonth())
            for column, number in added.items():
                setattr(line, column, getattr(line, column) + number)
    return sorted(lines.items(), key=lambda item: (BY.index(item[0][0]), *item[0][1:]))


def _named(by: str, found: Iterable[Found]) -> set[str]:
    sizes: Counter[str] = Counter()
    for _, which, added in found:
        sizes[which[by]] += sum(added.values())
    return {name for name, _ in sizes.most_common(MOST_NAMED)}


def _trials(months: Months) -> Iterator[Found]:
    """A payment that bought nothing converts no trial: an operator decides about it."""
    payments = Payment.objects.filter(agent=OuterRef("pk"), kind__in=CONFIRMED, unapplied="")
    agents = Agent.objects.annotate(was_bought=Exists(payments))
    bought = Count("pk", filter=Q(was_bought=True))
    return _counted(agents, "created_at", "", months, trials=Count("pk"), bought=bought)


def _ended(months: Months) -> Iterator[Found]:
    return _counted(Lapse.objects.filter(mode=TermMode.PAID), "stopped_at", "agent__", months, ended=Count("pk"))


def _counted(rows: QuerySet[Any], at: str, agent: str, months: Months, **counts: Count) -> Iterator[Found]:
    within = rows.filter(**{f"{at}__gte": months.first, f"{at}__lt": months.after})
    which = {"persona": F(f"{agent}persona_id"), "of_engine": F(f"{agent}engine"), "of_tier": F(f"{agent}tier")}
    grouped = within.annotate(month=TruncMonth(at)).order_by().values("month", **which).annotate(**counts)
    for row in grouped:
        names = {"persona": row["persona"], "engine": row["of_engine"], "tier": row["of_tier"]}
        yield row["month"], names, {column: row[column] for column in counts}


def _paid(months: Months, *, now: datetime) -> Iterator[Found]:
    begun, month = [], months.first
    while month < min(months.after, now):
        begun.append(month)
        month += relativedelta(months=1)
    if begun:
        for at, persona, engine, tier, number in sql.rows(_PAID, {"months": begun, "last": begun[-1]}):
            yield at, {"persona": persona, "engine": engine, "tier": tier}, {"paid": number}


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else ""

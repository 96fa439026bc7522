"""Sign-ups, trials that were paid, and paid agents that stopped, by month and by where the person came from.

The source is the `utmSource` that the browser reported at the first sign-in, in lower case. It is text of visitors:
the sources with the most people are named, all others are one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Left, Lower, Trim, TruncMonth

from accounts.models import User
from agents.models import Agent
from billing.models import Lapse, Payment
from billing.reports.months import Months
from billing.vocabulary import PaymentKind, TermMode

MOST_SOURCES = 20
LONGEST = 60
UNKNOWN, OTHERS = "(unknown)", "(others)"


@dataclass(slots=True)
class SourceMonth:
    sign_ups: int = 0
    trials: int = 0
    bought: int = 0
    ended: int = 0

    @property
    def percent(self) -> str:
        """The part of the month's trials that was paid so far."""
        return f"{100 * self.bought / self.trials:.1f}" if self.trials else ""


def sources(months: Months) -> list[tuple[datetime, str, SourceMonth]]:
    """In the order of months; each figure is one statement, however many people there are."""
    payments = Payment.objects.filter(agent=OuterRef("pk"), kind__in=[PaymentKind.PAYMENT, PaymentKind.RENEWAL])
    agents = Agent.objects.annotate(was_bought=Exists(payments))
    bought = Count("pk", filter=Q(was_bought=True))
    trials = list(_counted(agents, "created_at", "user__attribution", months, n=Count("pk"), bought=bought))
    people = list(_counted(User.objects.all(), "created_at", "attribution", months, n=Count("pk")))
    lapses = Lapse.objects.filter(mode=TermMode.PAID)
    ended = list(_counted(lapses, "stopped_at", "agent__user__attribution", months, n=Count("pk")))
    named = _named([*people, *trials, *ended])
    found: dict[tuple[datetime, str], SourceMonth] = {}
    for column, rows in (("sign_ups", people), ("trials", trials), ("ended", ended)):
        for row in rows:
            source = row["source"] if row["source"] in named else OTHERS
            line = found.setdefault((row["month"], source), SourceMonth())
            setattr(line, column, getattr(line, column) + row["n"])
            line.bought += row.get("bought", 0)
    return [(month, source, found[month, source]) for month, source in sorted(found)]


def _named(rows: Iterable[dict[str, Any]]) -> set[str]:
    sizes: Counter[str] = Counter()
    for row in rows:
        sizes[row["source"]] += row["n"]
    return {source for source, _ in sizes.most_common(MOST_SOURCES)} | {UNKNOWN}


def _counted(
    rows: QuerySet[Any], at: str, attribution: str, months: Months, **counts: Count
) -> Iterable[dict[str, Any]]:
    source = Left(Lower(Trim(KeyTextTransform("utm_source", attribution))), LONGEST)
    within = rows.filter(**{f"{at}__gte": months.first, f"{at}__lt": months.after})
    told = within.annotate(month=TruncMonth(at), told=Coalesce(source, Value("")))
    grouped = told.order_by().values("month", "told").annotate(**counts)
    return ({**row, "source": row["told"] or UNKNOWN} for row in grouped)

"""Keeps what one pod can write small. A pod may say anything: any day, and as many names of models and conversations as
it likes. Their calls, tokens and money always count; only the names are not kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import groupby

from agents.models import Agent, ModelUsage
from agents.pod.gateway.spending.open_turns import TurnKind
from agents.runtimes.pod_spending import CountedRow
from agents.spending import prices
from agents.spending.models import SpendingBook

# Rows of one agent and day that are kept apart. Beyond them there is one for each priced model and kind, and OTHERS.
MOST_A_DAY = 1_000
OTHERS = "*"  # the name of a row for further models, as in the log of hosts
OLDEST, NEWEST = timedelta(days=90), timedelta(days=1)  # days that a pod may tell of, from today
BOOKS = 100  # of one agent; each of its pods has one
_KINDS = {kind.value for kind in TurnKind}
_Name = tuple[str, str, str]  # model, kind and session


def day_of(told: date, *, now: datetime) -> date:
    """The day that a pod tells, or the nearest one that it may tell."""
    today = now.date()
    return min(max(told, today - OLDEST), today + NEWEST)


def counted_as(agent: Agent, rows: Iterable[CountedRow], *, now: datetime) -> Iterator[CountedRow]:
    """These rows with the names under which they are counted. A model with a price keeps its name."""
    told = sorted((_named(row, now=now) for row in rows), key=lambda row: row.day)
    for day, of_day in groupby(told, key=lambda row: row.day):
        stored = ModelUsage.objects.filter(agent=agent, day=day).values_list("model", "kind", "session")
        known: set[_Name] = set(stored[: 2 * MOST_A_DAY])
        for row in of_day:
            model, kind, session = _place(row, known)
            known.add((model, kind, session))
            yield replace(row, model=model, kind=kind, session=session)


def forget_books(agent: Agent) -> None:
    """Only the newest books are remembered."""
    newest = SpendingBook.objects.filter(agent=agent).order_by("-read_at", "-pk").values_list("pk", flat=True)
    SpendingBook.objects.filter(agent=agent).exclude(pk__in=list(newest[:BOOKS])).delete()


def _named(row: CountedRow, *, now: datetime) -> CountedRow:
    kind = row.kind if row.kind in _KINDS else TurnKind.ENGINE.value
    return replace(row, day=day_of(row.day, now=now), kind=kind)


def _place(row: CountedRow, known: set[_Name]) -> _Name:
    """The row's own name. Where the day has no room for it, without its session, and then without its model."""
    name = row.model, row.kind, row.session
    if name in known or len(known) < MOST_A_DAY:
        return name
    without_session = row.model, row.kind, ""
    if without_session in known or prices.of(row.model) is not None:
        return without_session
    return OTHERS, TurnKind.ENGINE.value, ""

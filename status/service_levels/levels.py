"""The service levels: their targets, and how much of 30 days each kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Sum
from django.urls import reverse

from status.models import DailyFact
from status.overview.measures import day_of

DAYS = 30
GOOD, BAD = "good", "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevel:
    """`target` is the share of the events that must be good. `list_` is the list of the console that shows them."""

    name: str
    title: str
    target: float
    within: timedelta
    list_: str

    @property
    def fact(self) -> str:
        return f"slo_{self.name}"

    @property
    def target_says(self) -> str:
        return f"{self.target:.1%}"


LEVELS = (
    ServiceLevel(
        name="api",
        title="The API answers",
        target=0.999,
        within=timedelta(seconds=30),
        list_="status.healthsample",
    ),
    ServiceLevel(
        name="running",
        title="An agent runs within two minutes",
        target=0.95,
        within=timedelta(minutes=2),
        list_="agents.transition",
    ),
    ServiceLevel(
        name="deliveries",
        title="An event is sent within 30 seconds",
        target=0.99,
        within=timedelta(seconds=30),
        list_="webhooks.delivery",
    ),
)
API, RUNNING, DELIVERIES = LEVELS


@dataclass(frozen=True, slots=True)
class LevelResult:
    """The good and bad events of one service level over some days."""

    level: ServiceLevel
    good: int
    bad: int

    @property
    def share(self) -> float | None:
        """None: nothing happened."""
        return self.good / (self.good + self.bad) if self.good + self.bad else None

    @property
    def link(self) -> str:
        return reverse(f"admin:{self.level.list_.replace('.', '_')}_changelist")

    @property
    def says(self) -> str:
        return "nothing happened yet" if self.share is None else f"{self.share:.2%} of {self.good + self.bad:,}"

    @property
    def budget_says(self) -> str:
        return f"{max(0.0, self.budget_left):.0%}" if self.is_kept else "missed"

    @property
    def is_kept(self) -> bool:
        return self.budget_left >= 0

    @property
    def budget_left(self) -> float:
        """The part of the allowed bad events that is left: 1 is all of it, below 0 the target is missed."""
        if self.share is None:
            return 1.0
        return 1 - (1 - self.share) / (1 - self.level.target)


def kept(*, now: datetime) -> list[LevelResult]:
    """What each level kept in the last 30 days, of the stored daily facts. One statement."""
    today = day_of(now).date
    return _kept(today - timedelta(days=DAYS - 1), today)


def kept_today(*, now: datetime) -> list[LevelResult]:
    today = day_of(now).date
    return _kept(today, today)


def _kept(first: date, last: date) -> list[LevelResult]:
    rows = DailyFact.objects.filter(day__range=(first, last), name__in=[level.fact for level in LEVELS])
    sums: Mapping[tuple[str, str], int] = {
        (name, key): int(total) for name, key, total in rows.values_list("name", "key").annotate(Sum("value"))
    }
    return [LevelResult(level, sums.get((level.fact, GOOD), 0), sums.get((level.fact, BAD), 0)) for level in LEVELS]

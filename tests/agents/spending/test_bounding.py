"""What a pod that lies can write: a bounded number of rows, and nothing of the money is lost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db.models import Sum
from django.utils import timezone

from agents.models import Agent, ModelUsage, SpentDay
from agents.runtimes.pod_spending import COUNTS, CountedRow, SpendingBatch
from agents.spending import adding, bounding
from agents.spending.models import SpendingBook
from tests.agents.spending.conftest import MODEL, ONE_CALL

TODAY = timezone.now().date()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "MOST_A_DAY", 5)
    monkeypatch.setattr(bounding, "BOOKS", 3)


def row(session: str = "", *, model: str = MODEL, kind: str = "chat", day: date = TODAY) -> CountedRow:
    """One call of 10 tokens of input and 5 of output."""
    counts = {**dict.fromkeys(COUNTS, 0), "calls": 1, "input": 10, "output": 5}
    return CountedRow(day=day, model=model, kind=kind, session=session, counts=counts)


def add(agent: Agent, rows: Iterable[CountedRow], *, book: str = "b", number: int = 1) -> None:
    adding.add(agent, SpendingBatch(book=book, number=number, rows=list(rows)), now=timezone.now())


def names(agent: Agent) -> set[tuple[str, str, str]]:
    return set(ModelUsage.objects.filter(agent=agent).values_list("model", "kind", "session"))


def test_conversations_beyond_a_days_room_are_counted_together(agent: Agent) -> None:
    add(agent, (row(f"ses_{number}") for number in range(40)))
    add(agent, (row(f"ses_{number}") for number in range(20, 60)), number=2)
    assert len(names(agent)) == 6
    assert (MODEL, "chat", "") in names(agent)
    took = ModelUsage.objects.aggregate(calls=Sum("calls"), usd=Sum("usd"))
    assert took == {"calls": 80, "usd": 80 * ONE_CALL}
    assert SpentDay.objects.get(agent=agent).usd == 80 * ONE_CALL


def test_a_conversation_that_has_a_row_keeps_it(agent: Agent) -> None:
    add(agent, (row(f"ses_{number}") for number in range(9)))
    kept = next(session for _, _, session in names(agent) if session)
    add(agent, [row(kept)], number=2)
    assert ModelUsage.objects.get(session=kept).calls == 2


def test_models_that_nobody_knows_are_one_row_beyond_the_room_and_priced_ones_keep_theirs(agent: Agent) -> None:
    unknown = [row(f"s{number}", model=f"openai:made-up-{number}") for number in range(500)]
    add(agent, [*unknown, row("late"), row("later", kind="a2a")])
    assert len(names(agent)) == 5 + 3
    assert {("*", "engine", ""), (MODEL, "chat", ""), (MODEL, "a2a", "")} <= names(agent)
    assert ModelUsage.objects.aggregate(calls=Sum("calls"), unpriced=Sum("unpriced"), usd=Sum("usd")) == {
        "calls": 502,
        "unpriced": 500,
        "usd": 2 * ONE_CALL,
    }


def test_a_word_that_is_no_kind_of_turn_counts_as_the_engines(agent: Agent) -> None:
    add(agent, (row(kind=f"k{number}") for number in range(50)))
    assert [(one.kind, one.calls) for one in ModelUsage.objects.all()] == [("engine", 50)]


def test_days_that_cannot_be_are_counted_on_the_nearest_that_can(agent: Agent) -> None:
    days = [date.min, date.max, *(TODAY + timedelta(days=number) for number in range(-2000, 2000, 7))]
    add(agent, (row(day=day) for day in days))
    stored = SpentDay.objects.filter(agent=agent)
    assert stored.count() <= 92
    assert stored.aggregate(usd=Sum("usd"))["usd"] == len(days) * ONE_CALL
    today = timezone.now().date()
    assert today - timedelta(days=90) <= min(one.day for one in stored)
    assert max(one.day for one in stored) <= today + timedelta(days=1)


def test_only_the_newest_books_are_remembered(agent: Agent) -> None:
    for number in range(9):
        add(agent, [row()], book=f"b{number}")
    assert set(SpendingBook.objects.values_list("name", flat=True)) == {"b6", "b7", "b8"}
    add(agent, [row()], book="b8")
    assert ModelUsage.objects.get().calls == 9
    assert ModelUsage.objects.get().usd == Decimal(9) * ONE_CALL

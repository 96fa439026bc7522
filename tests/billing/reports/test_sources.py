"""Trials that are paid and agents that end, by where their owners came from."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.models import Agent
from billing.models import Lapse
from billing.reports import months, sources, tables
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import NOON, Clock, Pay

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def person(name: str, source: str | None) -> User:
    told = {"anon_id": name, "utm_source": source} if source is not None else None
    return User.objects.create_user(f"{name}@example.com", attribution=told, created_at=NOON)


def test_each_source_has_its_trials_and_what_became_of_them(clock: Clock, make_agent: MakeAgent, pay: Pay) -> None:
    news, other = person("ann", " News "), person("ben", "news")
    paid, ended, free = (make_agent(user=one) for one in (news, other, person("cid", None)))
    pay(paid, "first")
    pay(ended, "second")
    pay(ended, "third")
    Lapse.objects.create(agent=ended, mode="paid", stopped_at=NOON + timedelta(days=40))
    assert free.paid is False
    with CaptureQueriesContext(connection) as asked:
        found = sources.sources(months.months("2026-11", "2027-01"))
    assert len(asked) == 3
    (first, second, third) = [(f"{month:%Y-%m}", source, line) for month, source, line in found]
    assert first[:2] == ("2026-11", "(unknown)")
    assert (first[2].sign_ups, first[2].trials, first[2].bought) == (2, 1, 0)  # the second is the owner of every test
    assert second[:2] == ("2026-11", "news")
    assert (second[2].sign_ups, second[2].trials, second[2].bought, second[2].percent) == (2, 2, 2, "100.0")
    assert (third[0], third[1], third[2].ended) == ("2026-12", "news", 1)
    table = next(one for one in tables.tables(months.months("2026-11", "2026-12"), now=NOON) if one.name == "sources")
    assert "2026-11,news,2,2,2,100.0,0" in tables.as_csv(table)


def test_sources_that_visitors_invent_become_one_line(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_SOURCES", 1)
    for number in range(3):
        person(f"fan{number}", "shop")
        person(f"odd{number}", f"=cmd{number}" + "x" * 200)
    found = {source: line.sign_ups for _, source, line in sources.sources(months.months("2026-11", "2026-11"))}
    assert found == {"shop": 3, "(others)": 3}
    assert not Agent.objects.exists()

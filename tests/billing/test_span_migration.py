"""Time that was paid before spans existed is divided among its payments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest

from agents.models import Agent
from billing import corrections, invariants
from billing.models import Payment, Span
from billing.vocabulary import Provider
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, licence
from tests.migrating import migrate

# Slow, because a finished migration does not change any more.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

BEFORE = ("billing", "0008_was_paid")


@pytest.fixture(autouse=True)
def whole() -> Iterator[None]:
    yield
    migrate()


@pytest.fixture
def agent(clock: Clock, make_agent: MakeAgent) -> Agent:
    return settle(make_agent())


def spans() -> list[tuple[str, timedelta, Decimal, bool]]:
    return [
        (span.payment.external_id, span.length, span.usd, span.is_gift)
        for span in Span.objects.order_by("ends_at")
        if span.payment
    ]


def test_by_what_each_was_paid_until(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    pay(agent, "two")
    given = corrections.credit(agent, days=73, reason="an outage", actor="operator:x", now=clock.now)
    migrate(BEFORE)
    migrate()
    month = FREE_UNTIL.replace(month=12) - NOON  # with the free days, because the payment said so
    assert spans() == [
        ("one", month, Decimal(5), False),
        ("two", 31 * DAY, Decimal(5), False),
        (given.external_id, 73 * DAY, Decimal(12), True),
    ]
    assert [found for found in invariants.broken(now=clock.now) if "span" in found or "no row" in found] == []


def test_what_is_beside_a_licence_is_the_last_payments(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    pay(agent, "coins")
    migrate(BEFORE)
    migrate()
    ((name, length, _, is_gift),) = spans()
    assert (name, length, is_gift) == ("coins", 30 * DAY, False)
    assert Payment.objects.count() == 2

"""A plan change adds as many bytes as the change before, however many plans the time has been on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import cycle, islice

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Agent
from billing import agent_terms, corrections, spans
from billing.models import PassedPlan, Payment, Subscription
from billing.vocabulary import Period
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

PLANS = ["small", "medium", "large"]
DIGITS = 128  # ids and times get longer by a digit now and then


@pytest.fixture
def agent(clock: Clock, running: Agent, pay: Pay) -> Agent:
    clock.at(FREE_UNTIL + DAY)
    pay(running, "year", tier="tiny", period=Period.ANNUAL, price_usd=Decimal(50))
    return running


def change(agent: Agent, clock: Clock, pay: Pay, *, times: int) -> Iterator[Payment]:
    """Change the plan once a day."""
    for number, tier in enumerate(islice(cycle(PLANS), times)):
        clock.go(DAY)
        yield pay(agent, f"change {number}", tier=tier, price_usd=Decimal(30))


def held() -> tuple[int, int]:
    """The number of billing's rows, and their size in bytes."""
    rows, size = 0, 0
    for model in (one for one in apps.get_app_config("billing").get_models() if not one._meta.proxy):
        with connection.cursor() as cursor:
            cursor.execute(f"select count(*), coalesce(sum(octet_length(t::text)), 0) from {model._meta.db_table} t")
            count, text = cursor.fetchone()
        rows, size = rows + count, size + int(text)
    return rows, size


@pytest.mark.sampled
def test_the_fortieth_plan_change_adds_what_the_twentieth_did(agent: Agent, clock: Clock, pay: Pay) -> None:
    added, statements, was = [], [], held()
    changes = change(agent, clock, pay, times=40)
    while True:
        with CaptureQueriesContext(connection) as asked:
            if next(changes, None) is None:
                break
        now = held()
        added.append((now[0] - was[0], now[1] - was[1]))
        statements.append(len(asked))
        was = now
    assert {rows for rows, _ in added[5:]} == {added[5][0]}
    assert max(statements) <= statements[1] + 3
    one, last = (sum(size for _, size in some) for some in (added[17:20], added[37:40]))  # one change to each plan
    assert abs(one - last) <= DIGITS


@pytest.mark.sampled
def test_who_renewed_often_takes_no_list_of_payments_along(agent: Agent, clock: Clock, pay: Pay) -> None:
    """Only the plan's own row has the list of its payments. The 20 spans of the plan before have no copy of it."""
    for tier in ("small", "medium"):
        for number in range(20):
            pay(agent, f"{number} of {tier}", tier=tier, price_usd=Decimal(30))
    rows, size = held()
    pay(agent, "another", tier="large", price_usd=Decimal(30))
    assert held()[0] == rows + 4, "a payment, a subscription, a span, a plan"
    assert held()[1] - size < 4_000, "twenty lists alone have 12,000"


@pytest.mark.sampled
def test_a_refund_after_forty_changes_asks_as_much_as_after_ten(agent: Agent, clock: Clock, pay: Pay) -> None:
    def refund(payment: Payment) -> int:
        with CaptureQueriesContext(connection) as asked:
            corrections.refund_payment(payment, reason="asked", actor="operator:x", now=clock.now)
        return len(asked)

    changes = list(change(agent, clock, pay, times=9))
    few = refund(changes[-1])
    more = [
        pay(agent, f"more {number}", tier=tier, price_usd=Decimal(30))
        for number, tier in enumerate(islice(cycle(PLANS), 30))
    ]
    assert refund(more[-1]) <= few + 3


@pytest.mark.sampled
def test_plans_that_are_refunded_one_after_the_other_are_left_one_after_the_other(
    agent: Agent, clock: Clock, pay: Pay
) -> None:
    """Each refund restores the earlier state: the plan and, to the second, the end of the paid time."""
    was: list[tuple[str, timedelta]] = []

    def now() -> tuple[str, timedelta]:
        till = agent_terms.term(agent, now=clock.now).paid_till
        assert till is not None
        return Subscription.objects.paid().get(agent=agent).tier, till - clock.now

    paid = []
    for number, tier in enumerate(islice(cycle(PLANS), spans.MOST_PASSED)):
        was.append(now())
        paid.append(pay(agent, f"change {number}", tier=tier, price_usd=Decimal(30)))
    for payment in reversed(paid):
        corrections.refund_payment(payment, reason="asked", actor="operator:x", now=clock.now)
        assert now() == was.pop()
    assert now()[0] == "tiny"


def test_plans_that_no_time_remembers_are_removed_and_no_others(agent: Agent, clock: Clock, pay: Pay) -> None:
    first, second, third = change(agent, clock, pay, times=3)
    known = set(PassedPlan.objects.values_list("pk", flat=True))
    spans.forget_passed()
    assert set(PassedPlan.objects.values_list("pk", flat=True)) == known != set()
    for payment in (third, second):
        corrections.refund_payment(payment, reason="asked", actor="operator:x", now=clock.now)
    spans.forget_passed()
    assert not PassedPlan.objects.exists(), "small is the plan now, and tiny is what the time was bought for"
    corrections.refund_payment(first, reason="asked", actor="operator:x", now=clock.now)
    assert Subscription.objects.paid().get().tier == "tiny"

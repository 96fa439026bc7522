"""A month is a month: every payment adds the time that was sold, whatever came before."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import User
from agents import suspension
from agents.models import Agent
from billing import agent_terms, corrections
from billing.models import Payment
from billing.vocabulary import Period
from config.ids import new_id
from tests.agents.conftest import MakeAgent, settle
from tests.at_length import examples
from tests.billing.conftest import DAY, NOON, Clock, Pay

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

OPERATOR = "operator:usr_0"
DAYS = {Period.MONTHLY: range(28, 32), Period.ANNUAL: range(365, 367)}
PRICES = {"tiny": Decimal("5.00"), "small": Decimal("10.00")}

acts = st.lists(
    st.one_of(
        st.tuples(st.just("pay"), st.sampled_from([*PRICES]), st.sampled_from([*Period])),
        st.tuples(st.just("credit"), st.integers(1, 400), st.none()),
        st.tuples(st.just("wait"), st.integers(1, 24 * 50), st.none()),
        st.tuples(st.just("suspended"), st.integers(1, 24 * 50), st.none()),
    ),
    min_size=2,
    max_size=10,
)


def paid_till(agent: Agent, clock: Clock) -> datetime:
    """The end of the paid time; without paid time, the moment when paid time would begin."""
    return max(begin(agent, clock), agent_terms.term(agent, now=clock.now).paid_till or clock.now)


def begin(agent: Agent, clock: Clock) -> datetime:
    """The moment when paid time begins: after the free days."""
    agent.refresh_from_db()
    return max(clock.now, agent_terms.free_until(agent, now=clock.now))


def whole_days(length: timedelta) -> int:
    assert length % DAY == timedelta(0)
    return length // DAY


@pytest.mark.sampled
@given(history=acts)
@settings(
    deadline=None,
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
def test_every_payment_adds_28_to_31_days_or_365_or_366(
    clock: Clock, owner: User, make_agent: MakeAgent, pay: Pay, history: list[tuple[str, str | int, Period | None]]
) -> None:
    clock.at(NOON)
    with transaction.atomic():
        agent = settle(make_agent())
        for what, value, period in history:
            match what:
                case "pay":
                    before, row = paid_till(agent, clock), payment(pay, agent, str(value), Period(str(period)))
                    begins = before if row.converted == timedelta(0) and same_plan(agent, row) else begin(agent, clock)
                    added = paid_till(agent, clock) - begins - row.converted
                    assert whole_days(added) in DAYS[Period(str(period))]
                case "credit":
                    before = paid_till(agent, clock)
                    corrections.credit(agent, days=int(value), reason="because", actor=OPERATOR, now=clock.now)
                    assert paid_till(agent, clock) - before == int(value) * DAY
                case "wait":
                    clock.go(timedelta(hours=int(value)))
                case "suspended":
                    before, left = clock.now, paid_till(agent, clock) - clock.now
                    suspension.suspend(owner, reason="spam", actor=OPERATOR)
                    clock.go(timedelta(hours=int(value)))
                    suspension.restore(owner, actor=OPERATOR)
                    assert paid_till(agent, clock) - clock.now == left
        transaction.set_rollback(True)


def payment(pay: Pay, agent: Agent, tier: str, period: Period) -> Payment:
    usd = PRICES[tier] * (10 if period == Period.ANNUAL else 1)
    return pay(agent, new_id("tst"), tier=tier, period=period, price_usd=usd)


def same_plan(agent: Agent, row: Payment) -> bool:
    """Whether an earlier payment in this subscription was for the same plan."""
    paid = list(agent.payments.filter(subscription=row.subscription).order_by("at", "pk"))
    return len(paid) > 1


@pytest.mark.parametrize("day", [1, 2, 19, 28])
def test_after_given_days_a_new_run_of_months_begins(running: Agent, pay: Pay, clock: Clock, day: int) -> None:
    """Paid on 31 January until 28 February. Then days are given, and each later payment is a whole month again."""
    corrections.grant(running, reason="until the test", actor=OPERATOR, now=clock.now)
    clock.at(NOON.replace(year=2027, month=1, day=31))
    pay(running, "one")
    corrections.credit(running, days=day, reason="an outage", actor=OPERATOR, now=clock.now)
    found = [pay(running, f"more-{number}").paid_till for number in range(3)]
    begins = datetime(2027, 2, 28, 12, tzinfo=NOON.tzinfo) + day * DAY
    lengths = [b - a for a, b in zip([begins, *filter(None, found)], filter(None, found), strict=False)]
    assert {length.days for length in lengths} <= set(range(28, 32))
    assert [end.day for end in filter(None, found)] == [begins.day] * 3


def test_a_month_after_a_conversion_is_a_month(running: Agent, pay: Pay, clock: Clock) -> None:
    pay(running, "one", tier="tiny", price_usd=Decimal("5.00"))
    clock.go(3 * DAY)
    pay(running, "two", tier="small", price_usd=Decimal("10.00"))
    before = paid_till(running, clock)
    pay(running, "three", tier="small", price_usd=Decimal("10.00"))
    assert whole_days(paid_till(running, clock) - before) in DAYS[Period.MONTHLY]

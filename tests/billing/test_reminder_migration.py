"""Agents that were paid before reminders existed get reminders too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Letter
from agents.models import Agent
from billing.models import Subscription
from billing.vocabulary import Provider
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, NOON, Clock, Pay, licence, tick
from tests.migrating import migrate

# Slow, because a finished migration does not change any more.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

BEFORE = ("billing", "0013_invoices")


@pytest.fixture(autouse=True)
def whole() -> Iterator[None]:
    yield
    migrate()


def deployed(agent: Agent, clock: Clock) -> Agent:
    """An agent as the release before left it: its next check was at the end of its paid time."""
    agent = tick(agent, clock)
    Agent.objects.filter(pk=agent.pk).update(term_due_at=agent.entitled_until)
    migrate(BEFORE)
    migrate()
    return settle(agent)


def test_what_is_paid_is_announced_to_end_on_time_and_nothing_before(
    clock: Clock, make_agent: MakeAgent, pay: Pay
) -> None:
    agent = settle(make_agent())
    pay(agent)
    agent = deployed(agent, clock)
    assert agent.term_due_at == Subscription.objects.get().current_period_end - 7 * DAY
    tick(agent, clock)
    assert Letter.objects.count() == 1
    clock.at(agent.term_due_at)
    tick(agent, clock)
    assert Letter.objects.count() == 2


def test_what_renews_by_itself_is_looked_at_when_it_was(clock: Clock, make_agent: MakeAgent, pay: Pay) -> None:
    agent = settle(make_agent())
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    due = deployed(agent, clock)
    assert due.term_due_at == due.entitled_until

"""An operator refunded a renewal at Gumroad and recorded that here, because Gumroad does not report it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing import agent_terms, corrections, verification
from billing.errors import TakenBack
from billing.models import Payment, Subscription
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.licences import KEY, activate, check
from tests.doubles.gumroad_server import GumroadSale, GumroadServer

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

WHY = {"reason": "asked", "actor": "operator:usr_0"}
RENEWED = NOON.replace(month=12) + DAY


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def refunded(agent: Agent, gumroad: GumroadServer, sale: GumroadSale, clock: Clock) -> Payment:
    """The renewal of 21 December, refunded a day later."""
    check(clock, at=RENEWED)
    renewal = Payment.objects.get(agent=agent, kind="renewal")
    corrections.refund_payment(renewal, now=clock.now, **WHY)
    clock.go(timedelta(hours=1))
    return renewal


def charged() -> int:
    return sum(int(row.amount or 0) for row in Payment.objects.filter(kind__in=["payment", "renewal"]))


def is_paid(agent: Agent, clock: Clock) -> bool:
    return agent_terms.term(Agent.objects.get(pk=agent.pk), now=clock.now).paid_till is not None


def test_it_stays_refunded_when_somebody_pings(refunded: Payment, agent: Agent, clock: Clock) -> None:
    APIClient().post("/payments/gumroad/callback", {"license_key": KEY}, format="json")
    verification.verify_due()
    assert (is_paid(agent, clock), charged()) == (False, 1000)


def test_it_stays_refunded_when_its_owner_enters_the_key_again(refunded: Payment, agent: Agent, clock: Clock) -> None:
    with pytest.raises(TakenBack, match="has been refunded"):
        activate(agent, clock)
    assert (is_paid(agent, clock), charged()) == (False, 1000)


@pytest.mark.sampled
def test_the_next_period_that_gumroad_charges_is_paid_again(refunded: Payment, agent: Agent, clock: Clock) -> None:
    for day in range(1, 33):
        check(clock, at=RENEWED + day * DAY)
    assert (is_paid(agent, clock), charged()) == (True, 1500)
    row = Subscription.objects.paid().get()
    assert f"{row.current_period_end:%m-%d}" == "02-21"

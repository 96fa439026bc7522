"""The licence of a deleted agent: later charges and refunds of its provider are in the ledger."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from agents.models import Agent
from agents.running import lifecycle
from billing import decisions
from billing.models import Decision, Payment, Subscription
from billing.vocabulary import Provider
from config.errors import ServiceError
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.late_charges import BY, income
from tests.billing.lemonsqueezy_charges import amounts
from tests.billing.licences import LEMON, activate, check
from tests.billing.test_one_charge import END, at, bought, days
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.mark.parametrize("looked", [False, True])
def test_its_refund_is_in_the_ledger_once_whenever_it_is_told(
    agent: Agent, gumroad: GumroadServer, clock: Clock, looked: bool
) -> None:
    found = bought(agent, gumroad, clock)
    lifecycle.delete(agent, actor="user:x")
    if looked:
        days(clock, 1)
    found.purchase = {"refunded": True}
    days(clock, 3)
    back = Payment.objects.filter(kind__in=["refund", "revoke"], amount__gt=0)
    assert [int(row.amount or 0) for row in back] == [500]


def test_it_is_asked_about_for_90_days_after_it_was_paid_last(
    agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    """A card may be charged late, and money may go back after the end."""
    found = bought(agent, gumroad, clock)
    lifecycle.delete(agent, actor="user:x")
    check(clock, 31 * DAY)
    found.purchase = {"subscription_failed_at": at(clock.now)}
    days(clock, 3)
    found.purchase = {}
    days(clock, 1)
    found.purchase = {"subscription_cancelled_at": at(NOON.replace(year=2027, month=1))}
    check(clock, 30 * DAY)
    assert income() == 1000
    found.purchase |= {"refunded": True}
    days(clock, 2)
    assert income() == 500
    assert check(clock, 90 * DAY) == 1
    assert check(clock, DAY) == 0


def test_charges_that_nobody_saw_in_time_bought_nothing_and_what_goes_back_of_them_is_noted(
    agent: Agent, lemon: LemonSqueezyServer, clock: Clock, settings: Any
) -> None:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    licence = lemon.sell(LEMON)
    licence.charge("2026-11-21T12:00:00.000000Z", 900)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    lifecycle.delete(agent, actor="user:x")
    check(clock, DAY)
    clock.go(65 * DAY)
    for month in ("2026-12", "2027-01"):
        licence.charge(f"{month}-21T12:00:00.000000Z", 900)
    licence.expires_at = "2027-02-21T12:00:00.000000Z"
    days(clock, 1)
    assert amounts(agent) == [("payment", 900), ("renewal", 900), ("renewal", 900)]
    assert Payment.objects.open().count() == 2
    licence.charges[-2].give_back(300)
    licence.charges[-1].give_back()
    days(clock, 2)
    assert sorted(amounts(agent)[3:]) == [("refund", 300), ("refund", 900)]
    decisions.send_back(Payment.objects.open().get(), now=clock.now, **BY)
    assert sorted(amounts(agent)[3:]) == [("refund", 300), ("refund", 600), ("refund", 900)], "the rest of it"


def test_a_provider_that_says_nothing_is_asked_for_90_days_too(
    agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    bought(agent, gumroad, clock)
    lifecycle.delete(agent, actor="user:x")
    days(clock, 1)
    gumroad.fail(500)
    assert check(clock, 80 * DAY) == 1
    assert check(clock, 11 * DAY) == 1
    assert check(clock, DAY) == 0


def test_money_that_came_back_to_us_is_counted_when_the_key_pays_elsewhere_before_anybody_looked(
    agent: Agent, gumroad: GumroadServer, clock: Clock, make_agent: MakeAgent
) -> None:
    other = settle(make_agent(agent.user))
    found = bought(agent, gumroad, clock)
    lifecycle.delete(agent, actor="user:x")
    days(clock, 1)
    check(clock, END - clock.now + DAY)
    found.purchase = {"sale_timestamp": at(END), "disputed": True}
    days(clock, 1)
    assert income() == 500
    found.purchase |= {"dispute_won": True}
    activate(other, clock)
    assert (income(), Subscription.objects.paid().get().agent) == (1000, other)


@pytest.mark.django_db(transaction=True)
def test_a_charge_is_decided_by_an_operator_or_pays_elsewhere_never_both(
    agent: Agent, gumroad: GumroadServer, clock: Clock, make_agent: MakeAgent
) -> None:
    other = settle(make_agent(agent.user))
    bought(agent, gumroad, clock)
    lifecycle.delete(agent, actor="user:x")
    days(clock, 1)
    check(clock, END - clock.now + DAY)
    charge = Payment.objects.open().get()
    problems: list[Exception] = []
    gate = threading.Barrier(8)

    def run(number: int) -> None:
        gate.wait(60)
        try:
            if number % 2:
                activate(other, clock)
            else:
                decisions.send_back(charge, now=clock.now, **BY)
        except ServiceError:
            """Another one was quicker."""
        except Exception as error:  # noqa: BLE001 # whatever it is, it is told
            problems.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[number]) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert problems == []
    pays = Subscription.objects.paid().filter(agent=other).exists()
    assert (Decision.objects.get().actor == "billing") == pays
    assert income() == (1000 if pays else 500)

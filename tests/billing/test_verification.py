"""Verifications: at the end of the paid time, each day, and each hour while the provider is silent. Time is frozen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agents.models import Agent, Desired, Status
from billing import agent_terms, verification
from billing.models import Payment, Subscription
from billing.providers import registry
from billing.vocabulary import PaymentKind, Period, Provider, SubscriptionStatus, TermMode
from tests.agents.conftest import MakeAgent, event_types
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, tick
from tests.billing.licences import KEY, LEMON, activate, check, confirmed, kinds, licence_of
from tests.doubles.gumroad_server import DISABLED, NO_PRODUCT, GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = pytest.mark.django_db

ACTIVE, CANCELED, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED
END = NOON.replace(month=12)  # the end of the first month
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def mode(agent: Agent, clock: Clock) -> TermMode:
    return agent_terms.term(agent, now=clock.now).mode


def test_nothing_is_asked_before_it_is_due_and_then_once_a_day(
    sale: GumroadSale, clock: Clock, gumroad: GumroadServer
) -> None:
    assert check(clock, DAY - MINUTE) == 0
    assert check(clock, MINUTE) == 1
    assert check(clock) == 0
    assert check(clock, DAY) == 1
    assert len(gumroad.asked) == 2


@pytest.mark.sampled
@pytest.mark.unmeasured
def test_verifying_every_night_for_a_year_uses_nothing_up(agent: Agent, sale: GumroadSale, clock: Clock) -> None:
    uses = sale.uses
    for _ in range(40):
        check(clock, DAY)
    for _ in range(10):
        check(clock, at=licence_of(agent).current_period_end)
    assert sale.uses == uses
    row = licence_of(agent)
    assert (row.status, Subscription.objects.count()) == (ACTIVE, 1)
    assert row.current_period_end == NOON.replace(year=2027)
    assert kinds(agent) == ["payment"] + ["renewal"] * 11
    assert len(confirmed(agent)) == 12


def test_a_renewal_is_seen_at_the_very_end_and_is_a_row_of_the_ledger(
    agent: Agent, sale: GumroadSale, clock: Clock
) -> None:
    check(clock, at=END - HOUR)
    assert licence_of(agent).check_at == END
    assert check(clock, at=END) == 1
    assert licence_of(agent).current_period_end == NOON.replace(year=2027, month=1)
    assert Payment.objects.get(kind=PaymentKind.RENEWAL).external_id == "membership-1:2027-01-21"
    check(clock)
    assert len(confirmed(agent)) == 2


@pytest.mark.sampled
@pytest.mark.parametrize(
    "purchase", [{"refunded": True}, {"disputed": True}, {"subscription_cancelled_at": "2026-11-21T13:00:00Z"}]
)
# Day 7: the end of the trial.
@pytest.mark.parametrize(("after", "stops"), [(DAY, NOON + 7 * DAY), (10 * DAY, NOON + 13 * DAY)])
def test_what_was_reversed_expires_at_once_and_grace_begins(
    agent: Agent, sale: GumroadSale, clock: Clock, purchase: dict[str, Any], after: timedelta, stops: datetime
) -> None:
    sale.purchase = purchase
    check(clock, after)
    row = licence_of(agent)
    assert (row.status, row.expired_at, row.current_period_end) == (EXPIRED, clock.now, clock.now)
    assert (mode(agent, clock), kinds(agent)) == (TermMode.GRACE, ["payment", "revoke"])
    for moment, status in ((stops - MINUTE, Status.RUNNING), (stops, Status.STOPPED)):
        clock.at(moment)
        assert tick(agent, clock).status == status
    assert "agent.stopped" in event_types(agent)


def test_a_key_that_was_disabled_expires_at_once(agent: Agent, sale: GumroadSale, clock: Clock) -> None:
    sale.gone = DISABLED
    check(clock, DAY)
    assert (licence_of(agent).status, mode(agent, clock)) == (EXPIRED, TermMode.GRACE)


def test_a_dispute_that_is_won_makes_it_active_again(agent: Agent, sale: GumroadSale, clock: Clock) -> None:
    sale.purchase = {"disputed": True}
    check(clock, DAY)
    sale.purchase = {"disputed": True, "dispute_won": True}
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.expired_at, row.current_period_end) == (ACTIVE, None, END)
    assert (mode(agent, clock), Subscription.objects.count()) == (TermMode.PAID, 1)


def test_a_cancellation_in_the_future_keeps_the_pod_running_until_then(
    agent: Agent, sale: GumroadSale, clock: Clock
) -> None:
    sale.purchase = {"subscription_cancelled_at": "2026-12-21T12:00:00Z"}
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.canceled_at, row.current_period_end) == (CANCELED, clock.now, END)
    check(clock, at=END - MINUTE)
    assert (tick(agent, clock).status, mode(agent, clock)) == (Status.RUNNING, TermMode.PAID)
    check(clock, at=END)
    row = licence_of(agent)
    assert (row.status, row.expired_at, mode(agent, clock)) == (EXPIRED, END, TermMode.GRACE)


def test_a_cancellation_that_is_taken_back_there_is_taken_back_here(
    agent: Agent, sale: GumroadSale, clock: Clock
) -> None:
    sale.purchase = {"subscription_cancelled_at": "2026-12-21T12:00:00Z"}
    check(clock, DAY)
    sale.purchase = {}
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.canceled_at, len(confirmed(agent))) == (ACTIVE, None, 1)


def test_what_its_owner_canceled_here_stays_so_until_the_provider_renews_it(
    agent: Agent, sale: GumroadSale, clock: Clock, client: APIClient
) -> None:
    answer = client.post(f"/subscriptions/{licence_of(agent).pk}/cancel").json()["subscription"]
    assert (answer["status"], answer["currentPeriodEnd"]) == ("canceled", "2026-12-21T12:00:00Z")
    check(clock, DAY)
    assert licence_of(agent).status == CANCELED
    check(clock, at=END)
    assert licence_of(agent).status == ACTIVE


def test_while_the_provider_waits_for_a_failed_renewal_it_is_paid_and_then_it_is_over(
    agent: Agent, sale: GumroadSale, clock: Clock
) -> None:
    check(clock, at=END)
    assert (licence_of(agent).status, mode(agent, clock)) == (ACTIVE, TermMode.PAID)
    sale.purchase = {"subscription_failed_at": "2026-12-26T12:00:00Z"}
    check(clock, at=END + 5 * DAY)
    row = licence_of(agent)
    assert (row.status, row.expired_at, mode(agent, clock)) == (EXPIRED, clock.now, TermMode.GRACE)


@pytest.mark.sampled
@pytest.mark.parametrize("how", [500, 503, 429, b"<html>", "cut"])
def test_a_provider_that_is_away_at_the_end_of_the_period_leaves_it_paid_and_alarms(
    agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer, caplog: pytest.LogCaptureFixture, how: Any
) -> None:
    gumroad.fail(how)
    check(clock, at=END)
    row = licence_of(agent)
    assert (row.status, row.unknown_since, row.check_at) == (ACTIVE, END, END + HOUR)
    assert (mode(agent, clock), tick(agent, clock).status) == (TermMode.PAID, Status.RUNNING)
    assert "no answer about a licence" in caplog.text
    gumroad.work_again()
    check(clock, HOUR)
    row = licence_of(agent)
    assert (row.unknown_since, row.current_period_end) == (None, NOON.replace(year=2027, month=1))


def silent_for_good(agent: Agent, clock: Clock, gumroad: GumroadServer) -> None:
    gumroad.fail(503)
    clock.at(END)
    for _ in range(7):
        check(clock)
        assert (tick(agent, clock).status, mode(agent, clock)) == (Status.RUNNING, TermMode.PAID)
        assert licence_of(agent).check_at == clock.now + HOUR
        clock.go(DAY)
    clock.at(END + 7 * DAY - 30 * MINUTE)
    check(clock)
    due = licence_of(agent).check_at
    assert due == END + 7 * DAY - verification.LAST_WORD
    check(clock, at=due)
    clock.at(END + 7 * DAY)
    assert tick(agent, clock).status == Status.RUNNING


def test_a_provider_that_is_away_for_too_long_lets_it_expire_but_nothing_is_deleted(
    agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer
) -> None:
    silent_for_good(agent, clock, gumroad)
    check(clock)
    row = licence_of(agent)
    assert (row.status, row.expired_at) == (EXPIRED, END + 7 * DAY)
    assert mode(agent, clock) == TermMode.GRACE
    clock.go(3 * DAY + HOUR)
    assert tick(agent, clock).status == Status.STOPPED
    clock.go(30 * DAY)
    check(clock)
    assert tick(agent, clock).desired == Desired.STOPPED
    gumroad.work_again()
    sale.purchase = {"subscription_failed_at": "2026-12-26T12:00:00Z"}
    check(clock, HOUR)
    clock.go(HOUR)
    assert tick(agent, clock).desired == Desired.DELETED


def test_when_it_turns_out_to_be_paid_after_all_the_pod_comes_back(
    agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer
) -> None:
    silent_for_good(agent, clock, gumroad)
    check(clock)
    clock.go(20 * DAY)
    assert tick(agent, clock).status == Status.STOPPED
    gumroad.work_again()
    check(clock)
    assert (licence_of(agent).status, tick(agent, clock).status) == (ACTIVE, Status.RUNNING)


def test_a_licence_that_no_worker_asked_about_is_held_from_deletion(
    agent: Agent, sale: GumroadSale, clock: Clock
) -> None:
    clock.at(END + 60 * DAY)
    tick(agent, clock)
    clock.go(60 * DAY)
    assert tick(agent, clock).desired == Desired.STOPPED


def test_a_refusal_of_our_settings_touches_no_subscription(
    agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer, caplog: pytest.LogCaptureFixture
) -> None:
    gumroad.fail(500, body={"success": False, "message": NO_PRODUCT})
    check(clock, at=END)
    assert (licence_of(agent).status, mode(agent, clock)) == (ACTIVE, TermMode.PAID)
    assert "check its settings" in caplog.text


def test_settings_that_are_gone_are_no_answer_either(
    agent: Agent, sale: GumroadSale, clock: Clock, settings: Any
) -> None:
    settings.GUMROAD_PRODUCTS = {}
    check(clock, at=END)
    row = licence_of(agent)
    assert (row.status, row.unknown_since) == (ACTIVE, END)


def test_a_key_that_is_not_known_any_more_may_have_been_rotated(
    agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.rotate(KEY, "NEW-KEY")
    check(clock, DAY)
    assert (licence_of(agent).status, mode(agent, clock)) == (ACTIVE, TermMode.PAID)
    activate(agent, clock, "NEW-KEY")
    check(clock, at=END)
    row = licence_of(agent)
    assert (row.license_key, row.status, Subscription.objects.count()) == ("NEW-KEY", ACTIVE, 1)


def test_a_key_that_is_not_known_at_the_end_of_the_period_expires_then(
    agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.rotate(KEY, "NEW-KEY")
    check(clock, at=END)
    row = licence_of(agent)
    assert (row.status, row.expired_at) == (EXPIRED, END)


def test_a_membership_of_the_thirty_first_keeps_its_day(
    clock: Clock, make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    clock.at(NOON.replace(year=2027, month=1, day=31))
    agent = make_agent()
    gumroad.sell(KEY, sold_at="2027-01-31T12:00:00Z")
    ends = [activate(agent, clock).current_period_end]
    for _ in range(2):
        check(clock, at=ends[-1])
        ends.append(licence_of(agent).current_period_end)
    assert [f"{end:%m-%d}" for end in ends] == ["02-28", "03-31", "04-30"]


def test_an_expired_key_that_is_paid_again_is_active_and_the_pod_resumes(
    agent: Agent, sale: GumroadSale, clock: Clock
) -> None:
    sale.purchase = {"subscription_failed_at": "2026-12-21T12:00:00Z"}
    check(clock, at=END)
    clock.go(3 * DAY + HOUR)
    assert tick(agent, clock).status == Status.STOPPED
    sale.purchase = {}
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.expired_at, Subscription.objects.count()) == (ACTIVE, None, 1)
    assert tick(agent, clock).status == Status.RUNNING


def test_what_was_bought_beside_a_refunded_licence_runs_on(
    agent: Agent, sale: GumroadSale, clock: Clock, pay: Pay
) -> None:
    pay(agent)
    sale.purchase = {"refunded": True}
    check(clock, DAY)
    over, beside = Subscription.objects.filter(agent=agent).order_by("created_at", "provider")
    assert (over.status, over.expired_at) == (EXPIRED, clock.now)
    till = FREE_UNTIL + 30 * DAY
    assert (beside.status, beside.provider, beside.current_period_end) == (ACTIVE, "usdc", till)
    check(clock, DAY)
    assert agent_terms.term(agent, now=clock.now).paid_till == till


def test_two_workers_never_ask_about_the_same_licence(sale: GumroadSale, clock: Clock, gumroad: GumroadServer) -> None:
    clock.go(DAY)
    row = Subscription.objects.get()
    assert verification._lease(Subscription.objects.all(), now=clock.now) == row
    assert (verification.verify_due(), gumroad.asked) == (0, [])
    check(clock, verification.LEASE)
    assert len(gumroad.asked) == 1


def test_a_provider_that_is_silent_is_left_alone_until_the_next_run(
    clock: Clock, make_agent: MakeAgent, gumroad: GumroadServer, settings: Any
) -> None:
    settings.MAX_FREE_AGENTS = 10
    for number in range(5):
        gumroad.sell(f"KEY-{number}")
        activate(make_agent(), clock, f"KEY-{number}")
    gumroad.asked.clear()
    gumroad.fail(b"<html>")
    assert check(clock, DAY) == verification.SILENCES
    assert Subscription.objects.filter(unknown_since=None).count() == 2


def test_holding_ourselves_back_is_no_silence_of_the_provider(
    agent: Agent, sale: GumroadSale, clock: Clock, settings: Any, gumroad: GumroadServer
) -> None:
    settings.GUMROAD_REQUESTS_PER_MINUTE = 1
    clock.go(DAY)
    gumroad.asked.clear()
    registry.licence_driver(Provider.GUMROAD).verify(KEY, now=clock.now)
    check(clock)
    row = licence_of(agent)
    assert (row.unknown_since, row.check_at) == (None, clock.now + MINUTE)


def test_lemonsqueezy_is_followed_through_renewal_upgrade_and_expiry(
    agent: Agent, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    licence.expires_at = "2027-01-21T12:00:00.000000Z"
    check(clock, DAY)
    assert licence_of(agent).current_period_end == NOON.replace(year=2027, month=1)
    licence.variant = 102
    check(clock, DAY)
    assert licence_of(agent).tier == "small"
    licence.status = "expired"
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.expired_at, row.period) == (EXPIRED, clock.now, Period.MONTHLY)
    assert lemon.made == 1


def test_what_is_looked_for_is_found_by_an_index(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    due = Subscription.objects.filter(provider="gumroad", check_at__lte=NOON).order_by("check_at")[:1]
    assert "subscription_due" in due.explain()
    assert "subscription_key" in Subscription.objects.filter(license_fingerprint="x").explain()
    assert "subscription_ref" in Subscription.objects.filter(external_ref="x").explain()

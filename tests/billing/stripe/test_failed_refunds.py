"""Refunds that fail at the bank: the ledger says that the money is ours again, and an operator decides."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import Letter, User
from agents.models import Agent
from billing import corrections, decisions, invariants, standing
from billing.models import CardSubscription, Invoice, Payment, Span, StripeRefund
from tests.billing.conftest import Clock
from tests.billing.stripe.conftest import catch_up, invoices, work
from tests.billing.stripe.test_returns import rows
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble

pytestmark = pytest.mark.django_db

WHO = {"reason": "by bank transfer", "actor": "operator:x"}


@pytest.fixture
def charge(card: CardSubscription, stripe: StripeDouble) -> Json:
    """The first one, of $5."""
    return stripe.world.charge_of(invoices(stripe)[0]["id"])


def fails(stripe: StripeDouble, refund: Json, status: str = "failed") -> None:
    stripe.world.fail_refund(refund["id"], status=status)
    work()


def refund(stripe: StripeDouble, charge: Json, cents: int | None = None) -> Json:
    made = stripe.world.refund(charge["id"], cents)
    work()
    return made


def line(client: Client) -> dict[str, str]:
    """Of the report of sales, the only one."""
    client.force_login(User.objects.get(is_superuser=True))
    answer = client.get("/admin/billing/reports/", {"from": "2026-11", "to": "2026-12", "csv": "sales"})
    (only,) = csv.DictReader(io.StringIO(answer.content.decode()))
    return only


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_the_ledger_does_not_say_that_it_went_back_and_an_operator_decides(
    charge: Json, stripe: StripeDouble, clock: Clock, admin_client: Client, status: str
) -> None:
    made = refund(stripe, charge)
    letters = Letter.objects.count()
    fails(stripe, made, status)
    for told in stripe.world.events:
        stripe.tell(told)
    work()
    assert (rows("refund"), rows("came back")) == ([500], [500])
    told = line(admin_client)
    assert (told["received"], told["refunds"], told["returned"], told["kept_usd"]) == ("5.00", "1", "0.00", "5.00")
    waits = Payment.objects.open().get()
    assert (waits.amount, waits.unapplied) == (Decimal(500), "its refund failed, and the money is ours again")
    assert Letter.objects.count() == letters, "nobody is told of a payment"
    assert invariants.broken(now=clock.now) == []


def test_its_time_stays_taken(charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock) -> None:
    fails(stripe, refund(stripe, charge))
    assert standing.term(agent, now=clock.now).mode == "grace"


def test_sent_back_another_way_it_has_gone(
    charge: Json, stripe: StripeDouble, clock: Clock, admin_client: Client
) -> None:
    fails(stripe, refund(stripe, charge))
    decisions.send_back(Payment.objects.open().get(), now=clock.now, **WHO)
    catch_up()
    work()
    assert not Payment.objects.open().exists()
    assert (line(admin_client)["returned"], line(admin_client)["kept_usd"]) == ("5.00", "0.00")


def test_refunded_again_at_stripe_it_leaves_the_list_by_itself(
    charge: Json, stripe: StripeDouble, clock: Clock, admin_client: Client
) -> None:
    for _ in range(2):
        fails(stripe, refund(stripe, charge))
        clock.go(timedelta(minutes=1))
    assert Payment.objects.open().count() == 1, "the second refund was the way back of what the first one left"
    refund(stripe, charge)
    assert (rows("refund"), rows("came back")) == ([500] * 3, [500] * 2)
    assert not Payment.objects.open().exists()
    assert line(admin_client)["kept_usd"] == "0.00"


def test_a_part_that_fails_is_noted_as_a_part(charge: Json, stripe: StripeDouble, admin_client: Client) -> None:
    refund(stripe, charge, 100)
    fails(stripe, refund(stripe, charge, 200))
    assert (rows("refund"), rows("came back")) == ([200, 100], [200])
    assert line(admin_client)["returned"] == "1.00"
    refund(stripe, charge, 200)
    assert (line(admin_client)["returned"], Payment.objects.open().count()) == ("3.00", 0)


def test_a_refund_that_failed_before_anybody_told_of_it_takes_no_time(charge: Json, stripe: StripeDouble) -> None:
    stripe.waiting = True
    stripe.world.fail_refund(stripe.world.refund(charge["id"])["id"])
    stripe.waiting = False
    catch_up()
    work()
    assert (rows("refund"), rows("came back"), Span.objects.get().usd) == ([500], [500], Decimal(5))
    assert Payment.objects.open().get().kind == "came back"


def test_a_second_refund_of_the_same_money_has_no_second_credit_note(
    order: Any, stripe: StripeDouble, settings: Any
) -> None:
    settings.SELLER_NAME = "Pods Ltd"
    stripe.world.pay(order.session_id)
    work()
    charge = stripe.world.charge_of(invoices(stripe)[0]["id"])
    fails(stripe, refund(stripe, charge, 200))
    refund(stripe, charge, 200)
    assert [note.total_usd for note in Invoice.objects.filter(kind="credit_note")] == [Decimal(2)]


def test_an_operators_refund_that_failed_says_so(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    corrections.refund(agent, now=clock.now, **WHO)
    work()
    fails(stripe, stripe.world.all("refund")[0])
    assert StripeRefund.objects.get().last_error == "its refund failed, and the money is ours again"

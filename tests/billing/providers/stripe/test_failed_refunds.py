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
from billing import agent_terms, corrections, decisions, invariants
from billing.models import CardSubscription, Invoice, Payment, Span, StripeRefund
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import catch_up, work
from tests.billing.providers.stripe.test_returns import rows
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

WHO = {"reason": "by bank transfer", "actor": "operator:x"}


@pytest.fixture
def charge(card: CardSubscription, stripe: StripeDouble) -> Json:
    """The card's first charge, of $5."""
    return stripe.world.charge_of(invoices(stripe)[0]["id"])


def fails(stripe: StripeDouble, refund: Json, status: str = "failed") -> None:
    stripe.world.fail_refund(refund["id"], status=status)
    work()


def refund(stripe: StripeDouble, charge: Json, cents: int | None = None) -> Json:
    made = stripe.world.refund(charge["id"], cents)
    work()
    return made


def line(client: Client) -> dict[str, str]:
    """The only line of the sales report."""
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
    assert agent_terms.term(agent, now=clock.now).mode == "grace"


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


@pytest.mark.parametrize(("cents", "left"), [(500, []), (200, [Decimal(3)])])
def test_a_refund_that_failed_before_anybody_told_of_it_takes_what_it_would_have_taken(
    charge: Json, stripe: StripeDouble, cents: int, left: list[Decimal]
) -> None:
    """The money waits for an operator, so it does not count as value of the time, whenever we hear of the failure."""
    stripe.waiting = True
    stripe.world.fail_refund(stripe.world.refund(charge["id"], cents)["id"])
    stripe.waiting = False
    catch_up()
    work()
    assert (rows("refund"), rows("came back")) == ([cents], [cents])
    assert list(Span.objects.values_list("usd", flat=True)) == left
    assert Payment.objects.open().get().kind == "came back"


def test_money_that_is_sent_again_is_taken_off_the_time_once(charge: Json, stripe: StripeDouble) -> None:
    fails(stripe, refund(stripe, charge, 200))
    refund(stripe, charge, 200)
    assert Span.objects.get().usd == Decimal(3)


def test_what_a_later_refund_takes_off_the_time_is_as_much_as_it_sends(
    charge: Json, stripe: StripeDouble, clock: Clock
) -> None:
    fails(stripe, refund(stripe, charge, 100))
    decisions.close(Payment.objects.open().get(), now=clock.now, **WHO)
    refund(stripe, charge, 200)
    assert Span.objects.get().usd == Decimal(2)
    refund(stripe, charge, 200)
    assert not Span.objects.exists()


def test_a_dispute_about_all_that_is_left_beside_a_failed_part_takes_the_time(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    fails(stripe, refund(stripe, charge, 100))
    stripe.world.dispute(charge["id"], cents=400)
    work()
    assert agent_terms.term(agent, now=clock.now).mode == "grace"


def test_a_dispute_that_is_won_gives_no_time_back_whose_money_is_owed(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    dispute = stripe.world.dispute(charge["id"])
    work()
    fails(stripe, refund(stripe, charge))
    stripe.world.decide(dispute["id"], "won")
    work()
    assert agent_terms.term(agent, now=clock.now).mode == "grace"
    assert Payment.objects.open().get().amount == Decimal(500)


def test_what_a_bank_took_after_its_refund_had_failed_waits_for_nobody(charge: Json, stripe: StripeDouble) -> None:
    fails(stripe, refund(stripe, charge, 100))
    dispute = stripe.world.dispute(charge["id"])
    stripe.world.decide(dispute["id"], "lost")
    work()
    assert (rows("refund"), rows("came back")) == ([500, 100], [100])
    assert not Payment.objects.open().exists(), "nothing of the charge is here"


def test_what_had_failed_is_owed_again_once_a_bank_that_took_all_gives_it_back(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    fails(stripe, refund(stripe, charge, 100))
    dispute = stripe.world.dispute(charge["id"])
    for word, waiting in (("lost", []), ("appeal_under_review", []), ("won", [100]), ("lost", []), ("won", [100])):
        stripe.world.decide(dispute["id"], word)
        work()
        assert list(Payment.objects.open().values_list("amount", flat=True)) == waiting, word
    assert Span.objects.get(subscription__status="active").usd == Decimal(4)
    decisions.send_back(Payment.objects.open().get(), now=clock.now, **WHO)
    assert not Payment.objects.open().exists()


def test_what_had_failed_and_went_with_the_rest_waits_for_nobody(charge: Json, stripe: StripeDouble) -> None:
    fails(stripe, refund(stripe, charge, 100))
    refund(stripe, charge, 500)
    assert not Payment.objects.open().exists()


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


def test_money_that_was_sent_another_way_and_a_later_refund_are_both_credited(
    order: Any, stripe: StripeDouble, clock: Clock, settings: Any
) -> None:
    settings.SELLER_NAME = "Pods Ltd"
    stripe.world.pay(order.session_id)
    work()
    charge = stripe.world.charge_of(invoices(stripe)[0]["id"])
    fails(stripe, refund(stripe, charge, 200))
    decisions.send_back(Payment.objects.open().get(), now=clock.now, **WHO)
    clock.go(timedelta(minutes=1))
    refund(stripe, charge, 100)
    notes = Invoice.objects.filter(kind="credit_note").order_by("created_at")
    assert [note.total_usd for note in notes] == [Decimal(2), Decimal(1)]


def test_an_operators_refund_that_failed_says_so(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    corrections.refund(agent, now=clock.now, **WHO)
    work()
    fails(stripe, stripe.world.all("refund")[0])
    assert StripeRefund.objects.get().last_error == "its refund failed, and the money is ours again"


def test_what_was_sent_another_way_is_not_sent_once_more_with_the_rest(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    fails(stripe, refund(stripe, charge, 100))
    decisions.send_back(Payment.objects.open().get(), now=clock.now, **WHO)
    corrections.refund(agent, now=clock.now, **WHO)
    work()
    assert [made["amount"] for made in stripe.world.all("refund") if made["status"] == "succeeded"] == [400]
    assert StripeRefund.objects.get().refunded_at == clock.now
    assert not Payment.objects.open().exists()

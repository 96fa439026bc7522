"""Partial refunds that succeed, fail, and succeed again: the result does not depend on when we hear of them.

Each cent of a payment is here or has gone. A cent that is here is owed, if its refund failed, or else it is part of the
value of the time.
"""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent
from billing import agent_terms, corrections, decisions, invariants
from billing.models import Invoice, Payment, Span, StripeRefund
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import catch_up, work
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

WHO = {"reason": "by bank transfer", "actor": "operator:x"}


@pytest.fixture
def charge(order: Any, stripe: StripeDouble, settings: Any) -> Json:
    """The first charge, of $5, with an invoice."""
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    stripe.world.pay(order.session_id)
    work()
    return stripe.world.charge_of(invoices(stripe)[0]["id"])


# First the events: refunded cents, or the number of a refund that fails. Then the result in cents: gone, owed, and the
# value of the time.
HISTORIES: dict[str, tuple[list[int | str], tuple[int, int, int]]] = {
    "a part fails": ([100, "0 fails"], (0, 100, 400)),
    "a part fails and goes again": ([100, "0 fails", 100], (100, 0, 400)),
    "a part fails, goes again, and another one goes": ([100, "0 fails", 100, 200], (300, 0, 200)),
    "another part goes, the first one fails": ([100, 200, "0 fails"], (200, 100, 200)),
    "of two parts the second fails first": ([100, 200, "1 fails", "0 fails"], (0, 300, 200)),
    "of two parts that fail one goes again": ([100, 200, "1 fails", "0 fails", 200], (200, 100, 200)),
    "a part fails twice": ([100, "0 fails", 100, "1 fails"], (0, 100, 400)),
    "a part fails twice and goes": ([100, "0 fails", 100, "1 fails", 100], (100, 0, 400)),
    "a part fails, another goes, the rest goes": ([100, "0 fails", 200, 300], (500, 0, 0)),
    "all goes in parts, then the first fails": ([100, 200, 200, "0 fails"], (400, 100, 0)),
    "all goes in parts, then the last fails": ([100, 200, 200, "2 fails"], (300, 200, 0)),
    "all goes, the first fails and goes again": ([100, 200, 200, "0 fails", 100], (500, 0, 0)),
    "the first fails, the rest goes with it and fails": ([100, "0 fails", 200, 300, "2 fails"], (200, 300, 0)),
    "all goes, fails, and goes in parts": ([500, "0 fails", 200, 300], (500, 0, 0)),
}


def happens(stripe: StripeDouble, charge: Json, what: int | str) -> None:
    if isinstance(what, int):
        stripe.world.refund(charge["id"], what)
        return
    stripe.world.fail_refund(stripe.world.all("refund")[int(what.split()[0])]["id"])


def now_so() -> tuple[int, int, int]:
    """In cents: gone, owed, and the value of the time."""
    payment = Payment.objects.get(kind="payment", provider="stripe")
    owed = sum(int(row.amount or 0) for row in Payment.objects.open())
    return int(payment.gone_back), owed, int(sum(span.usd for span in Span.objects.all()) * 100)


@pytest.mark.sampled
@pytest.mark.parametrize("looks", ["each time", pytest.param("every other time", marks=pytest.mark.slow), "at the end"])
@pytest.mark.parametrize("name", HISTORIES)
def test_whenever_somebody_looks_the_same_has_gone_is_owed_and_is_its_times(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock, name: str, looks: str
) -> None:
    history, expected = HISTORIES[name]
    for number, what in enumerate(history):
        stripe.waiting = looks == "at the end" or (looks == "every other time" and number % 2 == 0)
        happens(stripe, charge, what)
        if not stripe.waiting:
            work()
    stripe.waiting = False
    for _ in range(2):
        catch_up()
        work()
    assert now_so() == expected
    assert (agent_terms.term(agent, now=clock.now).mode == "paid") == (expected[2] > 0)
    notes = Invoice.objects.filter(kind="credit_note")
    assert sum(note.total_usd for note in notes) * 100 == 500 - expected[2], "what is its time's no more was promised"
    assert all(note.total_usd > 0 for note in notes)
    assert invariants.broken(now=clock.now) == []


def test_a_part_that_fails_after_an_operator_refunded_the_rest_is_owed_until_it_is_sent(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    for what in (100, 200):
        happens(stripe, charge, what)
        work()
    corrections.refund(agent, now=clock.now, **WHO)
    work()
    assert now_so() == (500, 0, 0)
    happens(stripe, charge, "0 fails")
    work()
    assert now_so() == (400, 100, 0)
    decisions.send_back(Payment.objects.open().get(), now=clock.now, **WHO)
    catch_up()
    work()
    assert now_so()[1:] == (0, 0)
    assert [made["amount"] for made in stripe.world.all("refund")] == [100, 200, 200], "nothing is sent once more"
    assert sum(note.total_usd for note in Invoice.objects.filter(kind="credit_note")) == 5
    assert invariants.broken(now=clock.now) == []


@pytest.mark.sampled
@pytest.mark.parametrize("decide", ["close", "credit", "send back"])
def test_what_is_decided_about_a_part_that_failed_does_not_go_with_the_rest(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock, decide: str
) -> None:
    """The failed part stays with us, becomes days, or is sent another way; the refund then takes the rest."""
    for what in (100, "0 fails", 200):
        happens(stripe, charge, what)
        work()
    waits = Payment.objects.open().get()
    if decide == "close":
        decisions.close(waits, now=clock.now, **WHO)
    elif decide == "credit":
        decisions.credit(waits, days=3, now=clock.now, **WHO)
    else:
        decisions.send_back(waits, now=clock.now, **WHO)
    corrections.refund(agent, now=clock.now, **WHO)
    work()
    assert [made["amount"] for made in stripe.world.all("refund")] == [100, 200, 200]
    assert Span.objects.filter(is_gift=False).count() == 0
    assert (agent_terms.term(agent, now=clock.now).mode == "paid") == (decide == "credit")
    assert not Payment.objects.open().exists()
    assert StripeRefund.objects.get().refunded_at == clock.now
    happens(stripe, charge, "1 fails")
    work()
    assert [row.amount for row in Payment.objects.open()] == [200]
    assert invariants.broken(now=clock.now) == []


def test_a_part_that_fails_while_the_rest_is_still_to_be_sent_goes_with_it(
    charge: Json, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    for what in (100, 200):
        happens(stripe, charge, what)
        work()
    corrections.refund(agent, now=clock.now, **WHO)
    stripe.waiting = True
    happens(stripe, charge, "0 fails")
    stripe.waiting = False
    work()
    catch_up()
    work()
    assert [made["amount"] for made in stripe.world.all("refund")] == [100, 200, 300]
    assert now_so() == (500, 0, 0)
    assert invariants.broken(now=clock.now) == []

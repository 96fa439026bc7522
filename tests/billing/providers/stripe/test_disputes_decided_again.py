"""Partial disputes, appeals, and old subscriptions that are cancelled again."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from pytest_django import Settings

from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, invariants, moving
from billing.invoicing.pdf import pdf
from billing.models import CardSubscription, Invoice, Payment, Subscription, TaxRate
from billing.providers.stripe import orders
from billing.reports.months import months
from billing.reports.taxes import taxes
from billing.vocabulary import Period
from tests.agents.conftest import MakeAgent, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, tick
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.django_db]


@pytest.fixture
def charge(card: CardSubscription, stripe: StripeDouble) -> Json:
    """The card's first charge, of $5."""
    return stripe.world.charge_of(invoices(stripe)[0]["id"])


def gone() -> int:
    return int(Payment.objects.get(kind="payment", provider="stripe").gone_back)


def test_what_is_refunded_after_a_part_was_lost_is_in_the_ledger_too(charge: Json, stripe: StripeDouble) -> None:
    made = stripe.world.dispute(charge["id"], cents=200)
    stripe.world.decide(made["id"], "lost")
    work()
    assert gone() == 200
    stripe.world.refund(charge["id"], 100)
    work()
    assert gone() == 300
    stripe.world.refund(charge["id"], 200)
    work()
    assert gone() == 500
    assert not Subscription.objects.live().exists(), "all of its money is gone"


def test_a_part_that_is_lost_after_a_part_was_refunded_takes_no_more_than_there_was(
    charge: Json, stripe: StripeDouble
) -> None:
    stripe.world.refund(charge["id"], 400)
    work()
    made = stripe.world.dispute(charge["id"], cents=200)
    stripe.world.decide(made["id"], "lost")
    work()
    assert gone() == 500


def test_the_value_of_a_part_that_was_lost_is_not_left_in_the_time(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    made = stripe.world.dispute(charge["id"], cents=200)
    stripe.world.decide(made["id"], "lost")
    work()
    row = Subscription.objects.live().get()
    assert row.spans.get().usd == Decimal(3)


def test_a_dispute_that_is_won_on_appeal_gives_back_what_it_took(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    made = stripe.world.dispute(charge["id"])
    work()
    for word in ("lost", "appeal_under_review", "won"):
        clock.go(timedelta(days=1))
        stripe.world.decide(made["id"], word)
        work()
    tick(agent, clock)
    assert gone() == 0
    assert agent_terms.term(agent, now=clock.now).paid_till is not None
    assert invariants.broken(now=clock.now) == []


@pytest.fixture
def seller(settings: Settings) -> None:
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    TaxRate.objects.create(country="", name="VAT", percent=Decimal(19))


@pytest.mark.parametrize("cents", [500, 200])
def test_what_is_ours_again_has_an_invoice_of_its_own_and_is_credited_again_when_it_is_lost_again(
    seller: None, charge: Json, stripe: StripeDouble, clock: Clock, cents: int
) -> None:
    """An invoice is never withdrawn: each later change has a document with its own number."""
    made = stripe.world.dispute(charge["id"], cents=cents)
    work()
    first, part = Invoice.objects.get(), Decimal(cents) / 100
    for word, number, total in (
        ("lost", "CN-2026-000001", part),
        ("appeal_under_review", "", None),
        ("won", "2026-000002", part),
        ("appeal_under_review", "", None),
        ("lost", "CN-2026-000002", part),
    ):
        clock.go(timedelta(hours=1))
        stripe.world.decide(made["id"], word)
        for _ in range(2):
            work()
        newest = Invoice.objects.order_by("-created_at", "-pk")[0]
        if number:
            assert (newest.number, newest.total_usd) == (number, total), word
            assert pdf(newest).startswith(b"%PDF")
    notes = {note.number: note for note in Invoice.objects.filter(kind="credit_note")}
    corrected = [note.corrects and note.corrects.number for _, note in sorted(notes.items())]
    assert corrected == [first.number, "2026-000002"]
    (line,) = taxes(months("2026-11", "2026-11"))
    assert line.total_usd == first.total_usd - part
    if cents == first.payment.amount:
        assert (line.total_usd, line.tax_usd) == (Decimal(0), Decimal(0))


def test_who_cancels_what_ended_long_ago_does_not_stop_the_card_of_today(
    agent: Agent, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    clock.at(FREE_UNTIL + DAY)
    pay(agent, "coins")
    old = Subscription.objects.paid().get()
    clock.at(old.current_period_end + DAY)
    tick(agent, clock)
    stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    answer = signed_in(agent.user).post(f"/subscriptions/{old.pk}/cancel")
    work()
    assert (answer.status_code, stripe.world.all("subscription")[-1]["status"]) == (409, "active")


def test_a_dispute_that_was_won_and_is_lost_on_appeal_takes_the_time_and_the_money(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    made = stripe.world.dispute(charge["id"])
    work()
    for word, paid, money in (("won", True, 0), ("appeal_needs_response", False, 0), ("lost", False, 500)):
        clock.go(timedelta(days=1))
        stripe.world.decide(made["id"], word)
        work()
        assert (agent_terms.term(agent, now=clock.now).paid_till is not None, gone()) == (paid, money), word
    assert invariants.broken(now=clock.now) == []


def test_all_of_the_money_that_went_in_two_ways_takes_the_time(charge: Json, stripe: StripeDouble) -> None:
    made = stripe.world.dispute(charge["id"], cents=200)
    work()
    stripe.world.refund(charge["id"], 300)
    work()
    stripe.world.decide(made["id"], "lost")
    work()
    assert (gone(), Subscription.objects.live().exists()) == (500, False)


def test_a_later_word_of_a_dispute_leaves_a_card_alone_that_was_entered_since(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    made = stripe.world.dispute(charge["id"])
    work()
    clock.go(DAY)
    stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    for word in ("under_review", "lost"):
        stripe.world.decide(made["id"], word)
        work()
    assert [card["status"] for card in stripe.world.all("subscription")] == ["canceled", "active"]


def test_time_that_was_moved_and_comes_back_is_in_the_ledger_of_who_has_it(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock, make_agent: MakeAgent
) -> None:
    clock.at(FREE_UNTIL + DAY)
    lifecycle.delete(agent, actor="owner")
    tick(agent, clock)
    heir = make_agent(agent.user)
    moving.move(agent.user, Subscription.objects.live().get().pk, to=heir, actor="owner", now=clock.now)
    made = stripe.world.dispute(charge["id"])
    work()
    stripe.world.decide(made["id"], "won")
    work()
    assert Subscription.objects.live().get().agent == heir
    assert Payment.objects.get(kind="restored").agent == heir
    assert invariants.broken(now=clock.now) == []

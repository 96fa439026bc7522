"""Money that goes back: full refunds, partial refunds, and disputes."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, corrections, decisions
from billing.models import CardSubscription, Invoice, Payment, Span, StripeDispute, StripeRefund, Subscription
from billing.providers.stripe import sending
from billing.vocabulary import Period
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import PlaceOrder, work
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


@pytest.fixture
def charge(card: CardSubscription, stripe: StripeDouble) -> Json:
    """The card's first charge, of $5."""
    return stripe.world.charge_of(invoices(stripe)[0]["id"])


def rows(kind: str) -> list[int | None]:
    """The amounts of these rows of the ledger, in cents."""
    found = Payment.objects.filter(kind=kind).order_by("at", "-amount")  # at the same moment the larger first
    return [None if row.amount is None else int(row.amount) for row in found]


def at_stripe(stripe: StripeDouble) -> str:
    return str(stripe.world.all("subscription")[0]["status"])


def test_a_refund_ends_the_time_that_was_bought_and_the_card_is_not_charged_again(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    stripe.world.refund(charge["id"])
    work()
    assert (rows("refund"), Subscription.objects.get().expired_at) == ([500], clock.now)
    assert at_stripe(stripe) == "canceled"
    for told in stripe.world.events:
        stripe.tell(told)
    work()
    assert rows("refund") == [500]


def test_a_part_takes_money_only_until_all_has_gone(charge: Json, stripe: StripeDouble, settings: Any) -> None:
    stripe.world.refund(charge["id"], 300)
    work()
    assert (rows("refund"), Subscription.objects.get().status, at_stripe(stripe)) == ([300], "active", "active")
    assert Span.objects.get().usd == Decimal(2), "of $5.00"
    stripe.world.refund(charge["id"])
    work()
    assert (rows("refund"), Subscription.objects.get().status, at_stripe(stripe)) == ([300, 200], "expired", "canceled")


def test_only_the_time_of_the_refunded_charge_ends(
    charge: Json, card: CardSubscription, stripe: StripeDouble, pay: Pay, agent: Agent, clock: Clock
) -> None:
    pay(agent)
    clock.go(timedelta(minutes=1))
    stripe.world.renew(card.subscription_id)
    work()
    stripe.world.refund(charge["id"])
    work()
    assert Subscription.objects.get().current_period_end == FREE_UNTIL + 62 * DAY, "the months of the other two"
    assert at_stripe(stripe) == "active", "a later charge pays for now"


def test_each_refund_has_its_credit_note(order: Any, stripe: StripeDouble, settings: Any) -> None:
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    stripe.world.pay(order.session_id)
    work()
    charge = stripe.world.charge_of(invoices(stripe)[0]["id"])
    for cents in (300, None):
        stripe.world.refund(charge["id"], cents)
        work()
    notes = Invoice.objects.filter(kind="credit_note").order_by("number")
    assert [note.total_usd for note in notes] == [Decimal(3), Decimal(2)]


@pytest.mark.parametrize("percent", [8.875, 19, 23])
@pytest.mark.parametrize("parts", [[None], [1, 1_234, None]])
def test_credit_notes_of_all_that_was_paid_have_the_tax_of_its_invoice(
    place: PlaceOrder, stripe: StripeDouble, settings: Any, percent: float, parts: list[int | None]
) -> None:
    """Stripe Tax calculates taxes to the cent, which a percentage with two digits cannot reproduce."""
    settings.STRIPE_TAX = True
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "US"
    stripe.world.tax_percent = percent
    stripe.world.pay(place(period="annual", tier="large").session_id)
    work()
    for cents in parts:
        stripe.world.refund(stripe.world.charge_of(invoices(stripe)[0]["id"])["id"], cents)
        work()
    invoice, notes = Invoice.objects.get(kind="invoice"), Invoice.objects.filter(kind="credit_note")
    assert sum(note.total_usd for note in notes) == invoice.total_usd
    assert sum(note.tax_usd for note in notes) == invoice.tax_usd
    assert len(notes) == len(parts)


def test_what_goes_back_before_its_payment_was_told_of_is_counted_in_order(
    order: Any, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    stripe.waiting = True
    stripe.world.pay(order.session_id)
    stripe.world.refund(stripe.world.charge_of(invoices(stripe)[0]["id"])["id"])
    stripe.tell(stripe.world.events[-1])
    work()
    assert (rows("payment"), rows("refund")) == ([500], [500])
    assert agent_terms.term(agent, now=clock.now).mode == "grace"


def test_a_payment_that_bought_nothing_is_off_the_list_once_it_is_refunded(
    order: Any, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    stripe.waiting = True
    stripe.world.pay(order.session_id)
    lifecycle.delete(agent, actor="owner")
    stripe.waiting = False
    for told in list(stripe.world.events):
        stripe.tell(told)
    work()
    lost = Payment.objects.open().get()
    stripe.world.refund(stripe.world.charge_of(invoices(stripe)[0]["id"])["id"])
    work()
    assert not Payment.objects.open().exists()
    assert rows("refund") == [lost.amount]


def test_what_an_operator_noted_as_sent_back_is_not_counted_again(
    order: Any, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    stripe.waiting = True
    stripe.world.pay(order.session_id)
    invoices(stripe)[0]["currency"] = "eur"
    stripe.waiting = False
    for told in list(stripe.world.events):
        stripe.tell(told)
    work()
    decisions.send_back(Payment.objects.open().get(), reason="the wrong coin", actor="operator:x", now=clock.now)
    stripe.world.refund(stripe.world.charge_of(invoices(stripe)[0]["id"])["id"])
    work()
    assert rows("refund") == [500]


def test_an_operators_refund_is_sent_through_stripe_until_it_is_done(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    corrections.refund(agent, reason="asked for it", actor="operator:x", now=clock.now)
    assert Subscription.objects.get().expired_at == clock.now
    stripe.fail_next("POST /v1/refunds", StripeFault(status=500), StripeFault(status=504, done=True))
    sent = []
    for _ in range(4):
        sent.append(sending.send_due(now=clock.now))
        clock.go(timedelta(minutes=1))
    work()
    assert sent == [0, 0, 1, 0]
    assert StripeRefund.objects.get().refunded_at is not None
    told = Payment.objects.filter(kind="refund").values_list("provider", "amount", "actor", "reason")
    assert sorted(told, key=str) == [
        ("internal", None, "operator:x", "asked for it"),
        ("stripe", Decimal(500), "operator:x", "asked for it"),
    ]
    assert (charge["amount_refunded"], at_stripe(stripe)) == (500, "canceled")


def test_a_dispute_stops_its_time_and_the_card_and_takes_the_money_once_it_is_lost(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    dispute = stripe.world.dispute(charge["id"])
    work()
    assert agent_terms.term(agent, now=clock.now).mode == "grace"
    assert (rows("revoke"), rows("refund"), at_stripe(stripe)) == ([None], [], "canceled")
    stripe.world.decide(dispute["id"], "lost")
    for told in stripe.world.events:
        stripe.tell(told)
    work()
    assert (rows("revoke"), rows("refund"), StripeDispute.objects.get().status) == ([None], [500], "lost")


def test_a_dispute_that_is_won_gives_the_rest_of_the_time_back(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    clock.at(FREE_UNTIL + 10 * DAY)
    dispute = stripe.world.dispute(charge["id"])
    work()
    clock.go(20 * DAY)
    stripe.world.decide(dispute["id"], "won")
    work()
    assert Subscription.objects.paid().get().current_period_end == clock.now + 20 * DAY
    assert (rows("restored"), rows("refund")) == ([None], [])
    corrections.refund(agent, reason="all the same", actor="operator:x", now=clock.now)
    assert not Subscription.objects.paid().exists(), "it is the payment's own time again"


def test_a_dispute_that_is_won_for_a_deleted_agent_waits_for_an_operator(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    dispute = stripe.world.dispute(charge["id"])
    work()
    lifecycle.delete(agent, actor="owner")
    stripe.world.decide(dispute["id"], "won")
    work()
    assert Payment.objects.get(kind="restored").unapplied == "the agent is deleted"


def test_an_inquiry_takes_nothing(charge: Json, stripe: StripeDouble) -> None:
    stripe.world.dispute(charge["id"], status="warning_needs_response")
    work()
    assert (Subscription.objects.get().status, rows("revoke"), at_stripe(stripe)) == ("active", [], "active")


def test_a_dispute_about_a_part_takes_money_only(charge: Json, stripe: StripeDouble) -> None:
    dispute = stripe.world.dispute(charge["id"], cents=200)
    stripe.world.decide(dispute["id"], "lost")
    work()
    assert (Subscription.objects.get().status, rows("refund")) == ("active", [200])


def test_a_part_that_goes_back_while_its_charge_is_disputed_lessens_what_comes_back(
    charge: Json, stripe: StripeDouble
) -> None:
    dispute = stripe.world.dispute(charge["id"])
    work()
    stripe.world.refund(charge["id"], 400)
    work()
    stripe.world.decide(dispute["id"], "won")
    work()
    assert Span.objects.get(subscription__status="active").usd == 1


def test_a_dispute_that_is_won_after_all_went_back_gives_no_time_back(charge: Json, stripe: StripeDouble) -> None:
    dispute = stripe.world.dispute(charge["id"])
    work()
    stripe.world.refund(charge["id"])
    work()
    stripe.world.decide(dispute["id"], "won")
    work()
    assert not Subscription.objects.paid().exists()


def test_time_that_a_dispute_took_on_another_plan_goes_home_once_that_plan_is_gone(
    card: CardSubscription, charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    """A month of tiny: its card ends, small is bought in addition, and small is refunded after the dispute is won."""
    until = Subscription.objects.get().current_period_end
    stripe.world.end(card.subscription_id)
    work()
    small = pay(agent, "small", tier="small", price_usd=Decimal(9))
    dispute = stripe.world.dispute(charge["id"])
    work()
    stripe.world.decide(dispute["id"], "won")
    work()
    corrections.refund_payment(small, reason="asked", actor="operator:x", now=clock.now)
    row = Subscription.objects.paid().get()
    assert (row.tier, row.current_period_end) == ("tiny", until)


def test_time_that_comes_back_stays_on_the_plan_that_a_used_up_payment_brought(
    card: CardSubscription, charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    """A month of tiny is on small, whose payment is used up when the bank decides. Then more of small is refunded."""
    stripe.world.end(card.subscription_id)
    work()
    pay(agent, "small", tier="small", price_usd=Decimal(9))
    dispute = stripe.world.dispute(charge["id"])
    work()
    clock.at(FREE_UNTIL + 40 * DAY)
    stripe.world.decide(dispute["id"], "won")
    work()
    without = Subscription.objects.paid().get()
    more = pay(agent, "more", tier="small", price_usd=Decimal(9))
    corrections.refund_payment(more, reason="asked", actor="operator:x", now=clock.now)
    row = Subscription.objects.paid().get()
    assert (row.tier, row.current_period_end) == ("small", without.current_period_end)


def test_a_used_up_payment_that_a_bank_took_and_gave_back_on_appeal_holds_its_plan(
    agent: Agent, place: PlaceOrder, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    """A card payment brought a year of tiny to small. Then large is bought and refunded, and leaves no trace."""
    pay(agent, "year", period=Period.ANNUAL, price_usd=Decimal(50))
    made = stripe.world.pay(place(tier="small").session_id)
    work()
    stripe.world.end(made["id"])
    clock.at(FREE_UNTIL + 40 * DAY)
    dispute = stripe.world.dispute(stripe.world.charge_of(made["latest_invoice"])["id"])
    for word in ("lost", "appeal_under_review", "won"):
        stripe.world.decide(dispute["id"], word)
        work()
    assert Subscription.objects.paid().get().tier == "small"
    large = pay(agent, "large", tier="large", price_usd=Decimal(39))
    corrections.refund_payment(large, reason="asked", actor="operator:x", now=clock.now)
    assert Subscription.objects.paid().get().tier == "small"


def test_a_list_of_refunds_without_an_end_is_given_up_and_looked_at_again(
    charge: Json, stripe: StripeDouble, clock: Clock
) -> None:
    stripe.endless = True
    stripe.world.refund(charge["id"])
    work()
    assert len(stripe.called("GET /v1/refunds")) <= 20
    assert Payment.objects.filter(kind="refund").count() == 0
    stripe.endless = False
    clock.go(timedelta(hours=1))
    work()
    assert Payment.objects.filter(kind="refund").count() == 1

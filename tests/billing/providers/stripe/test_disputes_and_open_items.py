"""Partial disputes, pending refunds, and money that bought nothing: the tasks of an operator."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agents.models import Agent
from agents.running import lifecycle
from billing import corrections, invariants
from billing.models import CardSubscription, Payment, Span, StripeRefund, Subscription
from billing.providers.stripe import inbox
from billing.reports.open_items import open_items
from tests.billing.conftest import DAY, Clock
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


@pytest.fixture
def charge(card: CardSubscription, stripe: StripeDouble) -> Json:
    """The card's first charge, of $5."""
    return stripe.world.charge_of(invoices(stripe)[0]["id"])


def decided(stripe: StripeDouble, dispute: Json, *words: str) -> None:
    for word in words:
        stripe.world.decide(dispute["id"], word)
        work()


def values() -> list[Decimal]:
    return list(Span.objects.filter(subscription__status="active").values_list("usd", flat=True))


def test_an_appeal_about_a_part_that_was_lost_takes_nothing_until_it_is_decided(
    charge: Json, stripe: StripeDouble, clock: Clock
) -> None:
    """Disputes of $3 and then of $2 are lost, and the second one takes the time. The time comes back with the money."""
    part, rest = (stripe.world.dispute(charge["id"], cents=cents) for cents in (300, 200))
    work()
    decided(stripe, part, "lost")
    assert values() == [Decimal(2)]
    decided(stripe, rest, "lost")
    assert values() == []
    decided(stripe, rest, "appeal_under_review", "won")
    assert values() == [Decimal(2)]
    decided(stripe, part, "appeal_under_review")
    assert values() == [Decimal(2)], "what is left of the time was paid with other money"
    decided(stripe, part, "won")
    assert values() == [Decimal(5)]
    assert invariants.broken(now=clock.now) == []


def test_of_two_disputes_the_last_takes_a_part_alone_where_the_first_was_won_on_appeal(
    charge: Json, stripe: StripeDouble, clock: Clock
) -> None:
    part, rest = (stripe.world.dispute(charge["id"], cents=cents) for cents in (300, 200))
    work()
    decided(stripe, part, "lost")
    decided(stripe, rest, "under_review")
    assert values() == [], "all that is left is disputed"
    decided(stripe, part, "appeal_under_review", "won")
    decided(stripe, rest, "lost")
    assert values() == [Decimal(3)], "what was paid with the other money"
    decided(stripe, rest, "appeal_under_review", "won")
    assert values() == [Decimal(5)]
    assert invariants.broken(now=clock.now) == []


def test_a_part_that_a_bank_gives_back_to_no_time_waits_for_an_operator(charge: Json, stripe: StripeDouble) -> None:
    part = stripe.world.dispute(charge["id"], cents=200)
    decided(stripe, part, "lost")
    stripe.world.refund(charge["id"], 300)
    work()
    decided(stripe, part, "appeal_under_review", "won")
    assert not Subscription.objects.live().exists()
    (item,) = open_items()
    assert (item.amount, item.why) == ("2.00", "a bank gave it back, and the time that it paid for is over")


@pytest.mark.parametrize(("word", "waiting"), [("won", ["5.00"]), ("lost", [])])
def test_a_dispute_about_money_that_bought_nothing_leaves_it_one_open_item(
    card: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, word: str, waiting: list[str]
) -> None:
    lifecycle.delete(agent, actor="owner")
    clock.go(DAY)
    late = stripe.world.renew(card.subscription_id)
    work()
    made = stripe.world.dispute(stripe.world.charge_of(late["id"])["id"])
    work()
    assert [item.amount for item in open_items()] == ["5.00"]
    decided(stripe, made, word)
    assert [item.amount for item in open_items()] == waiting
    assert Payment.objects.exclude(amount__gt=0).count() == 0, "nothing was taken, nor given back"


def test_nobody_sends_back_what_a_bank_took_meanwhile(
    charge: Json, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    corrections.refund(agent, reason="asked", actor="operator:x", now=clock.now)
    made = stripe.world.dispute(charge["id"])
    stripe.world.decide(made["id"], "lost")
    while inbox.process_due(now=clock.now):
        pass
    assert StripeRefund.objects.get().refund_at is None
    assert open_items() == []

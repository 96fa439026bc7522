"""Fifty threads work on money that one agent paid and another agent has: no deadlock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from agents.models import Agent
from agents.running import lifecycle
from billing import corrections, key_moves, licence_charges, moving, part_refunds, payments, revocations, verification
from billing.licences import Sold
from billing.models import Payment, Subscription
from billing.payments import Receipt
from billing.providers.stripe import orders, refresh
from billing.providers.stripe.refresh import StripeKind
from billing.vocabulary import Period, Provider
from tests.agents.conftest import MakeAgent, settle, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, purchase, tick
from tests.billing.late_charges import income
from tests.billing.licences import KEY, activate
from tests.billing.providers.stripe.shop import work
from tests.billing.test_one_charge import at, bought, days
from tests.billing.test_storms import storm
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.stripe_server import StripeDouble

pytestmark = pytest.mark.django_db(transaction=True)

UNITS = 5_000_000
WHY = {"reason": "asked", "actor": "operator:x"}


@pytest.fixture
def two(clock: Clock, make_agent: MakeAgent, settings: Any) -> tuple[Agent, Agent]:
    """Two agents in the order of their ids, which is the order in which their rows are locked."""
    settings.MAX_FREE_AGENTS = 10
    first, second = sorted((settle(make_agent()) for _ in range(2)), key=lambda one: one.pk)
    clock.at(FREE_UNTIL + DAY)
    return first, second


def refunds(paid: list[Payment], holder: Agent, clock: Clock, part: int) -> list[Callable[[], object]]:
    acts: list[Callable[[], object]] = [partial(corrections.refund, holder, now=clock.now, **WHY)] * 3
    for one in paid:
        acts.append(partial(corrections.refund_payment, one, now=clock.now, **WHY))
        acts.append(partial(part_refunds.refund_part, one, amount=part, now=clock.now, **WHY))
    return acts


@pytest.mark.sampled
def test_what_was_paid_for_a_deleted_agent_and_moved_goes_back_once(two: tuple[Agent, Agent], clock: Clock) -> None:
    payer, heir = two
    paid = [
        payments.apply_payment(
            Receipt(
                provider=Provider.USDC,
                external_id=f"paid-{number}",
                agent_id=payer.pk,
                purchase=purchase(),
                amount=UNITS,
                currency="usdc",
            ),
            now=clock.now,
        )
        for number in range(6)
    ]
    lifecycle.delete(payer, actor="user:x")
    tick(payer, clock)
    parked = Subscription.objects.get(status="canceled")
    answer = signed_in(heir.user).post(f"/subscriptions/{parked.pk}/move", {"agentId": heir.pk}, format="json")
    assert answer.status_code == 200, answer.content
    assert storm(refunds(paid, heir, clock, 1_000)) == []
    assert [one.gone_back for one in paid] == [UNITS] * 6


@pytest.mark.sampled
def test_a_dispute_that_is_won_waits_for_both_agents_in_their_order(
    two: tuple[Agent, Agent], stripe: StripeDouble, clock: Clock
) -> None:
    """The time was moved before the dispute. It returns to its last owner while other money goes back."""
    heir, payer = two
    stripe.world.pay(orders.order(payer, tier=None, period=Period.MONTHLY, now=clock.now).session_id)
    work()
    coins = [
        payments.apply_payment(
            Receipt(provider=Provider.USDC, external_id=f"paid-{number}", agent_id=payer.pk, purchase=purchase()),
            now=clock.now,
        )
        for number in range(6)
    ]
    lifecycle.delete(payer, actor="user:x")
    tick(payer, clock)
    moving.move(heir.user, Subscription.objects.live().get().pk, to=heir, actor="user:x", now=clock.now)
    disputed = stripe.world.dispute(stripe.world.charge_of(stripe.world.all("invoice")[0]["id"])["id"])
    work()
    stripe.waiting = True
    stripe.world.decide(disputed["id"], "won")
    won = partial(refresh.look, StripeKind.DISPUTE, disputed["id"], now=clock.now)
    assert storm([won, *refunds(coins, heir, clock, 1)]) == []
    assert [one.kind for one in Payment.objects.filter(agent=heir, kind="restored")] == ["restored"]


@pytest.mark.sampled
def test_what_a_moved_licence_was_charged_goes_back_once(
    two: tuple[Agent, Agent], gumroad: GumroadServer, clock: Clock
) -> None:
    payer, taker = two
    gumroad.sell(KEY, sold_at=at(clock.now))
    activate(payer, clock)
    key_moves.move(payer, to=taker.pk, now=clock.now, **WHY)
    charged = Payment.objects.get(kind="payment")
    row = Subscription.objects.paid().get(agent=taker)
    over = partial(revocations.revoke, row.pk, reason="refunded", actor="billing", now=clock.now, went_back=True)
    assert storm([over, *refunds([charged], taker, clock, 100)]) == []
    assert charged.gone_back == charged.amount


def test_money_that_another_writes_between_looking_and_writing_is_one_charge(
    two: tuple[Agent, Agent], gumroad: GumroadServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other = two
    found = bought(gone, gumroad, clock)
    lifecycle.delete(gone, actor="user:x")
    days(clock, 1)
    found.purchase = {"disputed": True}
    days(clock, 1)
    found.purchase |= {"dispute_won": True}
    look, quicker = licence_charges.is_known, threading.Thread(target=enter, args=[other, clock])

    def looked(sold: Sold) -> bool:
        known = look(sold)
        if quicker.ident is None:
            quicker.start()
            quicker.join(60)
        return known

    monkeypatch.setattr(licence_charges, "is_known", looked)
    Subscription.objects.filter(agent=gone).update(check_at=clock.now)
    verification.verify_due()
    assert (quicker.ident is not None, quicker.is_alive()) == (True, False)
    assert income() == 500


def enter(agent: Agent, clock: Clock) -> None:
    try:
        activate(agent, clock)
    finally:
        connection.close()


@pytest.mark.sampled
def test_money_that_is_ours_again_is_one_charge_whoever_sees_it_first(
    two: tuple[Agent, Agent], gumroad: GumroadServer, clock: Clock
) -> None:
    """The dispute was won. A worker checks for the deleted agent while the key is entered for another agent."""
    gone, other = two
    found = bought(gone, gumroad, clock)
    lifecycle.delete(gone, actor="user:x")
    days(clock, 1)
    found.purchase = {"disputed": True}
    days(clock, 1)
    found.purchase |= {"dispute_won": True}

    def look() -> None:
        Subscription.objects.filter(agent=gone).update(check_at=clock.now)
        verification.verify_due()

    assert storm([look, partial(activate, other, clock)]) == []
    days(clock, 1)
    assert income() == 500
    assert Payment.objects.open().exists() != Subscription.objects.paid().exists()

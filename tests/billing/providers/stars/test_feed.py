"""Telegram's list of transactions shows payments that no webhook reported."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from agents.models import Agent
from billing import agent_terms
from billing.models import Payment, StarsFeed, StarsOrder, Stray, StrayCharge, Subscription
from billing.providers.stars import feed, refunds
from billing.vocabulary import OrderStatus, SubscriptionStatus, TermMode
from config.celery import BEAT
from tests.agents.conftest import event_types
from tests.billing.conftest import Clock
from tests.billing.providers.stars.conftest import PlaceOrder
from tests.doubles.telegram_payments_server import Json, TelegramFault, TelegramPayments

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


def test_a_webhook_that_is_lost_is_found_within_five_minutes(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    telegram.lost = True
    paid = telegram.charge(order.invoice_link, person=78)
    assert BEAT["billing.reconcile_stars"][1] <= 300
    assert (feed.reconcile(), feed.reconcile()) == (1, 1)
    order.refresh_from_db()
    assert (order.status, order.payer_id) == (OrderStatus.PAID, 78)
    assert Payment.objects.get().external_id == paid["telegram_payment_charge_id"]
    assert event_types(agent).count("payment.confirmed") == 1


def test_a_refund_in_the_list_ends_the_subscription_and_leaves_the_order_paid(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    paid = telegram.charge(order.invoice_link)
    telegram.lost = True
    clock.go(timedelta(days=1))
    telegram.refund_by_support(paid)
    feed.reconcile()
    feed.reconcile()
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    assert Subscription.objects.get(agent=agent).status == SubscriptionStatus.EXPIRED
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.GRACE
    assert sorted(Payment.objects.values_list("kind", flat=True)) == ["payment", "refund"]


def test_what_was_paid_and_went_back_unheard_of_never_counted(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments
) -> None:
    telegram.lost = telegram.shuffled = True
    telegram.refund_by_support(telegram.charge(order.invoice_link))
    feed.reconcile()
    assert (Payment.objects.count(), StrayCharge.objects.get().why) == (0, Stray.RETURNED)
    assert "payment.confirmed" not in event_types(agent)


def test_a_second_charge_and_one_of_an_unknown_order_are_found_too(
    order: StarsOrder, telegram: TelegramPayments, caplog: pytest.LogCaptureFixture
) -> None:
    telegram.lost = True
    for _ in range(2):
        telegram.charge(order.invoice_link)
    telegram.charge_for("stx_" + "0" * 24, stars=5)
    feed.reconcile()
    assert sorted(StrayCharge.objects.values_list("why", flat=True)) == [Stray.SECOND, Stray.UNKNOWN]
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "stars for no order of this installation"
    ]
    assert refunds.send_due() == 1
    feed.reconcile()
    assert StrayCharge.objects.filter(refunded_at=None).get().why == Stray.UNKNOWN


def test_a_long_list_is_read_to_its_end_and_then_only_its_end(
    place: PlaceOrder, telegram: TelegramPayments, agent: Agent
) -> None:
    order = place()
    telegram.lost = True
    for _ in range(450):
        telegram.charge_for("another thing", stars=1)
    telegram.charge(order.invoice_link)
    assert feed.reconcile() == 451
    assert Payment.objects.count() == 1
    assert (StarsFeed.objects.get().seen, feed.reconcile()) == (451, feed.OVERLAP)


@pytest.mark.parametrize(
    "fault",
    [
        TelegramFault(status=500, body=b"oops"),
        TelegramFault.flood(5),
        TelegramFault(body=b"[1, 2"),
        TelegramFault(body=b'{"ok": true, "result": []}'),
        TelegramFault(body=b'{"ok": true}'),
        TelegramFault(body=b"x" * 3_000_000),
    ],
    ids=["500", "429", "no JSON", "wrong shape", "no result", "too long"],
)
def test_a_list_that_cannot_be_read_now_is_read_later(
    order: StarsOrder, telegram: TelegramPayments, fault: TelegramFault
) -> None:
    telegram.lost = True
    telegram.charge(order.invoice_link)
    telegram.fail_next("getStarTransactions", fault)
    assert (feed.reconcile(), Payment.objects.count()) == (0, 0)
    assert (feed.reconcile(), Payment.objects.count()) == (1, 1)


def test_a_transaction_that_makes_no_sense_keeps_no_other_back(order: StarsOrder, telegram: TelegramPayments) -> None:
    telegram.lost = True
    broken: Json = {"id": "x", "amount": "many", "source": {"type": "user", "user": {"id": 1}, "invoice_payload": "y"}}
    unstorable = {**broken, "amount": 1, "source": {**broken["source"], "invoice_payload": "a\0b"}}
    telegram.transactions += [broken, unstorable, {"id": "f", "amount": 1000, "receiver": {"type": "fragment"}}]
    telegram.charge(order.invoice_link)
    feed.reconcile()
    assert (Payment.objects.count(), StrayCharge.objects.count()) == (1, 0)


def test_a_list_that_became_shorter_is_read_anew(order: StarsOrder, telegram: TelegramPayments) -> None:
    StarsFeed.objects.create(bot="agentpods_bot", seen=9_000)
    telegram.lost = True
    telegram.charge(order.invoice_link)
    assert (feed.reconcile(), StarsFeed.objects.get().seen) == (1, 1)


def test_nothing_is_asked_while_no_bot_is_configured(agent: Agent) -> None:
    assert (feed.reconcile(), refunds.send_due()) == (0, 0)

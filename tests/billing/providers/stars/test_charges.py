"""Charges: each charge pays once, by its id at Telegram; a charge that buys nothing goes back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms
from billing.models import Payment, StarsOrder, Stray, StrayCharge, Subscription
from billing.providers.stars import charges, refunds, updates
from billing.vocabulary import OrderStatus, PaymentKind, SubscriptionStatus, TermMode
from tests.agents.conftest import event_types
from tests.billing.conftest import FREE_UNTIL, Clock
from tests.billing.providers.stars.conftest import PlaceOrder
from tests.doubles.telegram_payments_server import TelegramPayments, message_of
from webhooks.models import Event

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

MINUTE = timedelta(minutes=1)


def kinds() -> list[str]:
    return list(Payment.objects.order_by("at", "id").values_list("kind", flat=True))


def confirmed(agent: Agent) -> int:
    return event_types(agent).count("payment.confirmed")


def test_stars_that_were_paid_are_a_month_one_payment_and_one_event(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    paid = telegram.pay(order.invoice_link)
    assert paid is not None
    order.refresh_from_db()
    row = Payment.objects.get()
    assert (order.status, order.paid_at, order.charge_id) == (OrderStatus.PAID, clock.now, row.external_id)
    assert (row.provider, row.amount, row.currency, row.late) == ("stars", Decimal(385), "XTR", False)
    assert row.external_id == paid["telegram_payment_charge_id"]
    term = agent_terms.term(agent, now=clock.now)
    assert (term.mode, term.paid_till, term.paid_provider) == (TermMode.PAID, FREE_UNTIL.replace(month=12), "stars")
    assert confirmed(agent) == 1


def test_a_payment_told_of_twice_is_one_payment_one_event_and_200_both_times(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments
) -> None:
    paid = telegram.charge(order.invoice_link)
    assert telegram.tell(message_of(paid, "successful_payment")) == 200
    assert (kinds(), confirmed(agent), StrayCharge.objects.count()) == ([PaymentKind.PAYMENT], 1, 0)


def test_a_second_charge_for_one_order_goes_back_by_itself(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    telegram.charge(order.invoice_link)
    second = telegram.charge(order.invoice_link, person=78)
    stray = StrayCharge.objects.get()
    assert (stray.why, stray.payer_id, stray.refunded_at) == (Stray.SECOND, 78, None)
    assert refunds.send_due() == 1
    asked = {"user_id": 78, "telegram_payment_charge_id": second["telegram_payment_charge_id"]}
    assert telegram.called("refundStarPayment") == [asked]
    stray.refresh_from_db()
    assert (stray.refunded_at, stray.refund_at) == (clock.now, None)
    subscription = Subscription.objects.get(agent=agent)
    assert (subscription.status, subscription.current_period_end) == ("active", FREE_UNTIL.replace(month=12))
    assert (sorted(kinds()), confirmed(agent)) == (["payment", "payment", "refund"], 1)
    assert refunds.send_due() == 0


def test_a_hold_lapses_without_a_payment_and_the_order_stays_payable(
    order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    assert telegram.check_out(order.invoice_link, person=77)["ok"]
    assert not telegram.check_out(order.invoice_link, person=78)["ok"]
    clock.go(10 * MINUTE)
    assert telegram.pay(order.invoice_link, person=78) is not None
    order.refresh_from_db()
    assert (order.status, order.payer_id, order.hold_until) == (OrderStatus.PAID, 78, None)


def test_a_charge_after_the_order_has_expired_is_credited_and_flagged_late(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock, expire: Callable[[], object]
) -> None:
    clock.go(61 * MINUTE)
    expire()
    order.refresh_from_db()
    assert order.status == OrderStatus.EXPIRED
    telegram.charge(order.invoice_link)
    order.refresh_from_db()
    assert (order.status, Payment.objects.get().late) == (OrderStatus.PAID, True)
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.PAID
    assert confirmed(agent) == 1


def test_who_was_let_through_in_time_is_not_late(
    order: StarsOrder, telegram: TelegramPayments, clock: Clock, expire: Callable[[], object]
) -> None:
    clock.go(59 * MINUTE)
    assert telegram.check_out(order.invoice_link)["ok"]
    clock.go(5 * MINUTE)
    expire()
    telegram.charge(order.invoice_link)
    assert Payment.objects.get().late is False


@pytest.mark.parametrize("wrong", [{"amount": 1}, {"amount": 386}, {"currency": "USD"}])
def test_another_amount_or_currency_buys_nothing_goes_back_and_raises_an_alarm(
    agent: Agent,
    order: StarsOrder,
    telegram: TelegramPayments,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    wrong: dict[str, Any],
) -> None:
    telegram.charge(order.invoice_link, **wrong)
    assert [record.levelno for record in caplog.records if record.name == charges.__name__] == [logging.ERROR]
    order.refresh_from_db()
    assert (order.status, confirmed(agent)) == (OrderStatus.PENDING, 0)
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.TRIAL
    assert (refunds.send_due(), StrayCharge.objects.get().why) == (1, Stray.AMOUNT)
    assert telegram.pay(order.invoice_link) is not None, "the order can still be paid"


def test_a_charge_for_a_deleted_agent_goes_back(agent: Agent, order: StarsOrder, telegram: TelegramPayments) -> None:
    lifecycle.delete(agent, actor="user:x")
    telegram.charge(order.invoice_link)
    assert (refunds.send_due(), StrayCharge.objects.get().why) == (1, Stray.DELETED)
    assert len(telegram.called("refundStarPayment")) == 1
    assert not Subscription.objects.filter(agent=agent).exists()


def test_stars_for_no_order_of_ours_stay_and_operators_are_told(
    telegram: TelegramPayments, clock: Clock, caplog: pytest.LogCaptureFixture, agent: Agent
) -> None:
    telegram.charge_for("something else that this bot sells", stars=5)
    assert [record.levelno for record in caplog.records if record.name == charges.__name__] == [logging.ERROR]
    assert (StrayCharge.objects.get().why, refunds.send_due()) == (Stray.UNKNOWN, 0)
    assert telegram.called("refundStarPayment") == []


def test_a_refund_ends_the_subscription_and_leaves_the_order_paid(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    paid = telegram.charge(order.invoice_link)
    clock.go(timedelta(days=2))
    told = telegram.refund_by_support(paid)
    assert telegram.tell(told) == 200
    order.refresh_from_db()
    subscription = Subscription.objects.get(agent=agent)
    assert (order.status, subscription.status) == (OrderStatus.PAID, SubscriptionStatus.EXPIRED)
    assert (subscription.expired_at, subscription.current_period_end) == (clock.now, clock.now)
    assert (agent_terms.term(agent, now=clock.now).mode, kinds()) == (TermMode.GRACE, ["payment", "refund"])


def test_a_refund_told_of_before_its_payment_leaves_nothing_to_count(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments
) -> None:
    telegram.lost = True
    paid = telegram.charge(order.invoice_link)
    telegram.lost = False
    telegram.refund_by_support(paid)
    assert telegram.tell(message_of(paid, "successful_payment")) == 200
    assert (kinds(), confirmed(agent), StrayCharge.objects.get().why) == ([], 0, Stray.RETURNED)


def test_whoever_pays_the_owner_gets_it_and_the_payer_is_kept(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments
) -> None:
    telegram.pay(order.invoice_link, person=4_503_599_627_370_000)
    order.refresh_from_db()
    assert (order.payer_id, order.user_id) == (4_503_599_627_370_000, agent.user_id)
    assert Subscription.objects.get(agent=agent).user_id == agent.user_id


def test_another_worth_of_a_star_leaves_the_order_as_it_was(
    order: StarsOrder, telegram: TelegramPayments, settings: Any, place: PlaceOrder
) -> None:
    settings.STAR_USD *= 2
    assert place().amount_stars == order.amount_stars == 385
    assert telegram.pay(order.invoice_link) is not None
    assert place().amount_stars == 193


class _Dead(BaseException):
    """The process dies: no later code runs."""


@pytest.mark.django_db(transaction=True)
def test_whichever_statement_a_process_dies_at_nothing_of_the_payment_is_there(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    telegram.lost = True
    told = telegram.charge(order.invoice_link)
    charge = updates.payment(message_of(told, "successful_payment"))
    assert charge is not None
    for number in range(1, 200):
        died = _dies_at(number, charge, clock)
        order.refresh_from_db()
        whole = (Payment.objects.count(), Subscription.objects.count(), confirmed(agent), order.charge_id is not None)
        assert whole == ((0, 0, 0, False) if died else (1, 1, 1, True)), number
        if not died:
            break
    assert number > 15
    assert order.status == OrderStatus.PAID


def _dies_at(number: int, charge: updates.StarsCharge, clock: Clock) -> bool:
    left = number

    def run(execute: Any, *arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            raise _Dead
        return execute(*arguments)

    try:
        with connection.execute_wrapper(run):
            charges.take(charge, now=clock.now)
    except _Dead:
        return True
    return False


@pytest.mark.django_db(transaction=True)
def test_fifty_threads_that_tell_of_one_charge_make_one_payment_and_one_event(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments
) -> None:
    telegram.lost = True
    paid = telegram.charge(order.invoice_link)
    telegram.lost = False

    def tell(_: int) -> int | None:
        """Send the update as Telegram does: again if we answer that we are busy."""
        try:
            while (status := telegram.tell(message_of(paid, "successful_payment"))) == 503:
                pass
            return status
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(tell, range(50))) == {200}
    assert (Payment.objects.count(), Subscription.objects.count(), StrayCharge.objects.count()) == (1, 1, 0)
    assert Event.objects.filter(agent=agent, type="payment.confirmed").count() == 1

"""A refund stays due until the money has gone back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from billing import corrections
from billing.models import Payment, StarsOrder, StrayCharge, Subscription
from billing.providers.stars import refunds
from tests import operating
from tests.agents.conftest import event_types
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay
from tests.billing.providers.stars.conftest import PlaceOrder
from tests.doubles.telegram_payments_server import TelegramFault, TelegramPayments, message_of

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


@pytest.fixture
def stray(order: StarsOrder, telegram: TelegramPayments) -> StrayCharge:
    """A second charge for an order that is already paid."""
    for person in (77, 78):
        telegram.charge(order.invoice_link, person=person)
    return StrayCharge.objects.get()


def wait(stray: StrayCharge) -> timedelta:
    stray.refresh_from_db()
    assert stray.refund_at is not None
    return stray.refund_at - timezone.now()


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [(TelegramFault(status=500, body=b""), 10), (TelegramFault.flood(700), 700), (TelegramFault(body=b"<html>"), 10)],
    ids=["500", "429", "no JSON"],
)
def test_a_refund_that_fails_is_tried_again_later(
    stray: StrayCharge, telegram: TelegramPayments, clock: Clock, fault: TelegramFault, seconds: int
) -> None:
    telegram.fail_next("refundStarPayment", fault)
    assert refunds.send_due() == 0
    assert (wait(stray), stray.last_error != "") == (timedelta(seconds=seconds), True)
    clock.go(timedelta(seconds=seconds))
    assert refunds.send_due() == 1


def test_it_waits_twice_as_long_each_time_up_to_an_hour(
    stray: StrayCharge, telegram: TelegramPayments, clock: Clock
) -> None:
    waits = []
    for _ in range(12):
        telegram.fail_next("refundStarPayment", TelegramFault(status=502, body=b""))
        refunds.send_due()
        waits.append(wait(stray))
        clock.go(waits[-1])
    assert (waits[:3], waits[-1]) == ([timedelta(seconds=one) for one in (10, 20, 40)], timedelta(hours=1))
    assert refunds.send_due() == 1


def test_already_refunded_counts_as_done(stray: StrayCharge, telegram: TelegramPayments, clock: Clock) -> None:
    telegram.fail_next("refundStarPayment", TelegramFault(status=504, body=b"", done=True))
    assert refunds.send_due() == 0
    clock.go(wait(stray))
    assert refunds.send_due() == 1
    stray.refresh_from_db()
    assert (stray.refunded_at, stray.refund_at, stray.attempts) == (clock.now, None, 2)
    assert Payment.objects.filter(kind="refund").count() == 1


def test_a_refund_that_telegram_refuses_stays_due_and_is_told(
    stray: StrayCharge, telegram: TelegramPayments, caplog: pytest.LogCaptureFixture
) -> None:
    StrayCharge.objects.update(payer_id=1)
    assert refunds.send_due() == 0
    assert wait(stray) > timedelta(0)
    assert "CHARGE_NOT_FOUND" in stray.last_error
    assert [record.message for record in caplog.records if record.name == refunds.__name__] == [
        "Telegram does not send stars back"
    ]


@pytest.fixture
def console(clock: Clock) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def send_back(console: Client, row: StarsOrder | StrayCharge, reason: str = "bought by mistake") -> str:
    model = "starsorder" if isinstance(row, StarsOrder) else "straycharge"
    return operating.act(console, f"/admin/billing/{model}/", "send_back", row, reason=reason)


def test_an_operator_sends_back_what_was_counted_with_a_reason(
    console: Client, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    assert "not a charge of this installation" in send_back(console, order)
    paid = telegram.charge(order.invoice_link)
    assert "This field is required" in send_back(console, order, " ")
    assert "Being sent back: " in send_back(console, order)
    assert (refunds.send_due(), refunds.send_due()) == (1, 0)
    assert telegram.tell(message_of(paid, "refunded_payment")) == 200
    row = Payment.objects.get(kind="refund")
    assert (row.reason, row.actor.partition(":")[0], row.amount) == ("bought by mistake", "operator", Decimal(385))
    assert Subscription.objects.get().expired_at == clock.now
    assert "sent back already" in send_back(console, order)


def test_an_operator_sends_back_what_was_for_no_order_of_ours(console: Client, telegram: TelegramPayments) -> None:
    telegram.charge_for("something else", stars=5)
    stray = StrayCharge.objects.get()
    assert stray.charge_id in console.get("/admin/billing/straycharge/").content.decode()
    assert "Being sent back: " in send_back(console, stray)
    assert refunds.send_due() == 1
    assert StrayCharge.objects.get().refunded_at is not None


def refund(agent: Agent, clock: Clock) -> None:
    corrections.refund(agent, reason="asked for it", actor="operator:x", now=clock.now)


def sent(telegram: TelegramPayments) -> set[str]:
    return {asked["telegram_payment_charge_id"] for asked in telegram.called("refundStarPayment")}


def test_an_operators_refund_sends_the_stars_back_until_they_are(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    paid = telegram.charge(order.invoice_link)
    refund(agent, clock)
    assert Subscription.objects.get().expired_at == clock.now
    telegram.fail_next(
        "refundStarPayment", TelegramFault(status=500, body=b""), TelegramFault(status=504, body=b"", done=True)
    )
    for done in (0, 0, 1, 0):
        assert refunds.send_due() == done
        clock.go(timedelta(minutes=1))
    assert sent(telegram) == {paid["telegram_payment_charge_id"]}
    rows = Payment.objects.filter(kind="refund").values_list("provider", "amount", "actor", "reason")
    assert sorted(rows, key=str) == [
        ("internal", None, "operator:x", "asked for it"),
        ("stars", Decimal(385), "operator:x", "asked for it"),
    ]
    assert event_types(agent).count("payment.confirmed") == 1


def test_of_several_months_those_go_back_that_were_not_used_up(
    agent: Agent, place: PlaceOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    charges = [telegram.charge(place().invoice_link)["telegram_payment_charge_id"] for _ in range(3)]
    clock.at(FREE_UNTIL + 35 * DAY)
    refund(agent, clock)
    assert refunds.send_due() == 2
    assert sent(telegram) == set(charges[1:])


def test_what_has_gone_back_already_is_not_asked_for_again(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock, pay: Pay
) -> None:
    paid = telegram.charge(order.invoice_link)
    telegram.refund_by_support(paid)
    pay(agent)
    refund(agent, clock)
    assert (refunds.send_due(), sent(telegram)) == (0, set())


def test_a_refund_that_is_sent_late_takes_nothing_from_what_was_paid_since(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, clock: Clock, pay: Pay
) -> None:
    telegram.charge(order.invoice_link)
    refund(agent, clock)
    pay(agent)
    assert refunds.send_due() == 1
    assert Subscription.objects.paid().get().status == "active"


def test_the_list_of_what_bought_nothing_leaves_out_what_went_back(
    console: Client, stray: StrayCharge, telegram: TelegramPayments
) -> None:
    address = "/admin/billing/payment/?open=1"
    assert stray.charge_id in console.get(address).content.decode()
    assert "1 payment" in console.get(address).content.decode()
    refunds.send_due()
    assert "0 payments" in console.get(address).content.decode()
    assert stray.charge_id in console.get("/admin/billing/payment/").content.decode()

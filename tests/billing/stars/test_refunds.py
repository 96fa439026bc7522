"""What must be sent back stays due until it has been."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from billing.models import Payment, StarsOrder, StrayCharge, Subscription
from billing.stars import refunds
from tests.billing.conftest import Clock
from tests.doubles.telegram_payments_server import Fault, TelegramPayments, message_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def stray(order: StarsOrder, telegram: TelegramPayments) -> StrayCharge:
    """A second charge for a paid order."""
    for person in (77, 78):
        telegram.charge(order.invoice_link, person=person)
    return StrayCharge.objects.get()


def wait(stray: StrayCharge) -> timedelta:
    stray.refresh_from_db()
    assert stray.refund_at is not None
    return stray.refund_at - timezone.now()


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [(Fault(status=500, body=b""), 10), (Fault.flood(700), 700), (Fault(body=b"<html>"), 10)],
    ids=["500", "429", "no JSON"],
)
def test_a_refund_that_fails_is_tried_again_later(
    stray: StrayCharge, telegram: TelegramPayments, clock: Clock, fault: Fault, seconds: int
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
        telegram.fail_next("refundStarPayment", Fault(status=502, body=b""))
        refunds.send_due()
        waits.append(wait(stray))
        clock.go(waits[-1])
    assert (waits[:3], waits[-1]) == ([timedelta(seconds=one) for one in (10, 20, 40)], timedelta(hours=1))
    assert refunds.send_due() == 1


def test_21_already_refunded_counts_as_done(stray: StrayCharge, telegram: TelegramPayments, clock: Clock) -> None:
    telegram.fail_next("refundStarPayment", Fault(status=504, body=b"", done=True))
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


def send_back(console: Client, model: str, row: str, reason: str = "bought by mistake") -> str:
    body = {"action": "send_back", "_selected_action": [row], "reason": reason}
    return console.post(f"/admin/billing/{model}/", body, follow=True).content.decode()


def test_an_operator_sends_back_what_was_counted_with_a_reason(
    console: Client, order: StarsOrder, telegram: TelegramPayments, clock: Clock
) -> None:
    assert "no charge of ours" in send_back(console, "starsorder", order.pk)
    paid = telegram.charge(order.invoice_link)
    assert "give the reason" in send_back(console, "starsorder", order.pk, " ")
    assert "goes back" in send_back(console, "starsorder", order.pk)
    assert (refunds.send_due(), refunds.send_due()) == (1, 0)
    assert telegram.tell(message_of(paid, "refunded_payment")) == 200
    row = Payment.objects.get(kind="refund")
    assert (row.reason, row.actor.partition(":")[0], row.amount) == ("bought by mistake", "operator", Decimal(385))
    assert Subscription.objects.get().expired_at == clock.now
    assert "gone back already" in send_back(console, "starsorder", order.pk)


def test_an_operator_sends_back_what_was_for_no_order_of_ours(console: Client, telegram: TelegramPayments) -> None:
    telegram.charge_for("something else", stars=5)
    stray = StrayCharge.objects.get()
    assert stray.charge_id in console.get("/admin/billing/straycharge/").content.decode()
    assert "goes back" in send_back(console, "straycharge", stray.pk)
    assert refunds.send_due() == 1
    assert StrayCharge.objects.get().refunded_at is not None

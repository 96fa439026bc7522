"""What Stripe paid out, beside the ledger: each difference is told, with its age."""

from __future__ import annotations

from datetime import timedelta

import pytest

from billing import reconciled
from billing.models import CardSubscription, Payment, StripeInvoice
from billing.reconciled import Reconciled
from tests import operating
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_payouts import pay_out
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

PLACE = "/admin/billing/payouts/"


def read(clock: Clock) -> Reconciled:
    (found,) = reconciled.read(now=clock.now)
    return found


def why(found: Reconciled) -> list[str]:
    return [one.why for one in found.differences]


def test_a_payout_is_compared_with_the_ledger(clock: Clock, card: CardSubscription, stripe: StripeDouble) -> None:
    payment = Payment.objects.get()
    payout = pay_out(stripe.world)
    found = read(clock)
    assert (why(found), found.notes) == ([], [])
    assert found.rows[0][0] == payout["id"]
    assert found.rows[0][3:] == ("paid", "4.85 USD", "0.15 USD", "1", "0")
    # A charge that we do not know, a refund that was not told, and a payout that failed.
    charge = stripe.world.charge_of(StripeInvoice.objects.get().pk)
    stripe.lost = True
    stripe.world.refund(charge["id"], 100)
    copied = {name: value for name, value in charge.items() if name not in {"id", "object", "created"}}
    stripe.world.new("ch", "charge", **{**copied, "amount": 777, "payment_intent": "pi_9"})
    wrong = pay_out(stripe.world, status="failed", failure_code="account_closed")
    payout["amount"] += 5
    console = operating.staff("view_payouts")
    before = len(stripe.calls)
    assert "Ask Stripe" in console.get(PLACE).content.decode()
    assert len(stripe.calls) == before
    page = console.get(PLACE, {"read": "now"}).content.decode()
    told = why(read(clock))
    assert sorted(told) == sorted(
        [
            "the payout is failed: account_closed",
            "its movements add up to 4.85 USD",
            "in a payout, but not in the ledger",
            "sent back at Stripe, but not in the ledger",
        ]
    )
    assert all(one in page for one in (*told, "7.77 USD", wrong["id"], f"/payment/{payment.pk.replace('_', '_5F')}/"))
    assert operating.staff("view_payment").get(PLACE).status_code == 403
    assert operating.staff("view_payment").get(f"{PLACE}{payment.pk}/change/").status_code == 403


def test_a_payment_that_is_never_paid_out_is_told_after_two_weeks(
    clock: Clock, card: CardSubscription, stripe: StripeDouble
) -> None:
    payment = Payment.objects.get()
    pay_out(stripe.world, amount=0)
    for one in stripe.world.all("balance_transaction"):
        one["_interval"] = "po_other"
    assert why(read(clock)) == []
    clock.go(timedelta(days=15))
    (left,) = read(clock).differences
    assert (left.payment_id, left.since, left.amount) == (payment.pk, payment.at, "5.00 USD")
    # What was not read, or is not known, is not called missing.
    pay_out(stripe.world, automatic=False, reconciliation_status="not_applicable")
    found = read(clock)
    assert why(found) == []
    assert "does not say what it contains" in found.notes[0]
    stripe.fail_next("GET /v1/balance_transactions", StripeFault())
    assert "Stripe does not answer" in read(clock).notes[0]


def test_each_cent_that_went_back_is_compared_and_so_is_the_currency(
    clock: Clock, card: CardSubscription, stripe: StripeDouble
) -> None:
    charge = stripe.world.charge_of(StripeInvoice.objects.get().pk)
    stripe.world.refund(charge["id"], 100)
    work()
    pay_out(stripe.world)
    assert why(read(clock)) == []
    stripe.lost = True
    stripe.world.refund(charge["id"], 50)
    pay_out(stripe.world)
    assert why(read(clock)) == ["sent back at Stripe, but only 100 of 150 cents in the ledger"]
    charge["currency"] = "eur"
    assert "the ledger has it in USD" in why(read(clock))


def test_where_nothing_is_paid_out_payments_wait_and_what_cannot_be_compared_is_said(
    clock: Clock, card: CardSubscription, stripe: StripeDouble
) -> None:
    clock.go(timedelta(days=15))
    assert why(read(clock)) == ["paid more than 14 days ago, and in no payout"]
    pay_out(stripe.world, reconciliation_status="in_progress")
    assert "payments that are in no payout are not told" in read(clock).notes[-1]
    stripe.world.objects.pop(stripe.world.all("payout")[0]["id"])
    StripeInvoice.objects.update(payment_intent="")
    found = read(clock)
    assert (why(found), found.notes) == ([], ["1 payments were not compared: Stripe named no payment for them."])

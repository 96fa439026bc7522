"""The check finds a charge that neither paid, nor went back, nor waits for an operator."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from billing import invariants
from billing.models import StarsOrder, StrayCharge
from billing.providers.stars import refunds
from tests.billing.conftest import Clock
from tests.doubles.telegram_payments_server import TelegramFault, TelegramPayments

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def charges(order: StarsOrder, telegram: TelegramPayments) -> None:
    """A charge that paid, a charge that must go back, and a charge for nothing of ours."""
    for person in (77, 78):
        telegram.charge(order.invoice_link, person=person)
    telegram.charge_for("something else", stars=5)


def test_whatever_becomes_of_a_charge_breaks_no_invariant(telegram: TelegramPayments, clock: Clock) -> None:
    assert invariants.broken(now=clock.now) == []
    telegram.fail_next("refundStarPayment", TelegramFault(status=500, body=b""))
    refunds.send_due()
    assert invariants.broken(now=clock.now) == []
    refunds.send_due(now=clock.now + timedelta(minutes=1))
    assert StrayCharge.objects.exclude(refunded_at=None).count() == 1
    assert invariants.broken(now=clock.now) == []


def _forgotten(clock: Clock) -> None:
    StrayCharge.objects.filter(why="second").update(refund_at=None)


def _stuck(clock: Clock) -> None:
    StrayCharge.objects.filter(why="second").update(refund_at=clock.now - timedelta(hours=3))


def _asked_and_stuck(clock: Clock) -> None:
    StrayCharge.objects.filter(why="unknown").update(refund_at=clock.now - timedelta(hours=3))


def _gone_back_unwritten(clock: Clock) -> None:
    StrayCharge.objects.filter(why="second").update(refund_at=None, refunded_at=clock.now)


def _lost(clock: Clock) -> None:
    StrayCharge.objects.filter(why="second").delete()


def _uncharged(clock: Clock) -> None:
    StarsOrder.objects.update(charge_id=None, payer_id=None)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("hand", "words"),
    [
        (_forgotten, "no refund is under way"),
        (_stuck, "no refund is under way"),
        (_asked_and_stuck, "no refund is under way"),
        (_gone_back_unwritten, "the ledger does not show it"),
        (_lost, "no refund was requested"),
        (_uncharged, "the ledger has no charge for it"),
    ],
)
def test_a_hand_in_the_database_is_found(hand: Callable[[Clock], None], words: str, clock: Clock) -> None:
    hand(clock)
    (finding,) = invariants.broken(now=clock.now)
    assert words in finding

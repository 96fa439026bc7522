"""What the ledger says of a licence's charges. Its name of each has the day until which the charge pays.

A provider may tell another day for the same charge: Gumroad counts the end of a cancelled membership from its last
charge, which may have succeeded some days late. So days that lie near each other are of one charge.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from billing.models import Payment
from billing.models.payments import refund_name
from billing.vocabulary import CONFIRMED, PaymentKind

if TYPE_CHECKING:
    from billing.licences import Sold

ACTOR = "billing"  # of rows that say what a provider told
SAME_CHARGE = timedelta(days=10)  # two charges are four weeks apart, less the days that one was late


def of_period(sold: Sold) -> list[Payment]:
    """The charges of this period, oldest first: another one only where the money went back and came again."""
    return [row for row in _rows(sold) if row.kind in CONFIRMED and _is_near(row, sold)]


def is_known(sold: Sold) -> bool:
    """Whether the ledger has the money of this period, and its provider has not told that all of it went back.

    A plan that its provider changed is paid for by what was charged before.
    """
    charge = None
    for row in _rows(sold):
        if row.kind in CONFIRMED:
            charge = row
        if charge is not None and _is_near(row, sold) and not _went_back(charge):
            return True
    return False


def charged_for(sold: Sold) -> str:
    """The agent that the licence was charged for last, of a period that is known."""
    return _rows(sold)[-1].agent_id


def was_returned_by_hand(charge: Payment) -> bool:
    """Whether an operator gave its money back, which its provider may not know."""
    return charge.refunds.filter(external_id=refund_name(charge.external_id)).exclude(actor=ACTOR).exists()


def told_till(charge: Payment) -> date:
    """Until when its provider said that it pays (billing/licences.py: Sold.name)."""
    return date.fromisoformat(charge.external_id.split(":")[1])


def _rows(sold: Sold) -> list[Payment]:
    """By the subscription, which an index finds."""
    provider, reference = sold.key.provider, sold.verdict.external_ref
    same = Payment.objects.filter(subscription__provider=provider, subscription__external_ref=reference)
    of_it = same.filter(provider=provider, external_id__startswith=f"{reference}:")
    return list(of_it.filter(kind__in=[*CONFIRMED, PaymentKind.NEW_PLAN]).order_by("at", "id"))


def _is_near(row: Payment, sold: Sold) -> bool:
    return abs(told_till(row) - sold.till.date()) < SAME_CHARGE


def _went_back(charge: Payment) -> bool:
    """By its provider's word: what an operator gave back is charged no second time."""
    if not charge.refunds.filter(actor=ACTOR).exists():
        return False
    return charge.amount is None or charge.gone_back >= charge.amount

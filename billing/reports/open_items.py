"""Money that waits for an operator or a refund: it bought nothing, was too much, left the chain, or must go back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice

from billing import decisions, sums
from billing.models import Payment, StrayCharge, StripeEvent, StripeRefund

MOST = 10_000


@dataclass(frozen=True, slots=True)
class OpenItem:
    kind: str
    name: str
    at: datetime
    agent_id: str
    amount: str
    currency: str
    why: str


def open_items() -> list[OpenItem]:
    """All open items, at most 10,000. Grouped by kind, the oldest of each kind first."""
    kinds = (_deposits(), _payments(), _overpaid(), _vanished(), _charges(), _card_refunds(), _strays())
    return list(islice(chain(*kinds), MOST))


def _deposits() -> Iterator[OpenItem]:
    rows = decisions.undecided().select_related("deposit_address").order_by("seen_at", "pk")
    for row in rows.iterator(chunk_size=1_000):
        agent_id = row.deposit_address.agent_id
        units = str(int(row.amount))
        yield OpenItem("deposit", row.tx_hash, row.seen_at, agent_id, units, f"{row.asset} units", row.unapplied)


def _payments() -> Iterator[OpenItem]:
    for row in Payment.objects.open().order_by("at", "pk").iterator(chunk_size=1_000):
        yield _of_payment("payment", row, row.unapplied)


def _overpaid() -> Iterator[OpenItem]:
    for row in decisions.overpaid().order_by("at", "pk").iterator(chunk_size=1_000):
        yield _of_payment("overpaid", row, f"{int(row.over)} units above the price")


def _vanished() -> Iterator[OpenItem]:
    for row in decisions.vanished().order_by("at", "pk").iterator(chunk_size=1_000):
        yield _of_payment("gone", row, "disappeared from the chain")


def _charges() -> Iterator[OpenItem]:
    rows = StrayCharge.objects.filter(refunded_at=None).select_related("order").order_by("seen_at", "pk")
    for row in rows.iterator(chunk_size=1_000):
        agent_id = row.order.agent_id if row.order else ""
        yield OpenItem(
            "charge", row.pk, row.seen_at, agent_id, str(row.amount), row.currency, str(row.get_why_display())
        )


def _card_refunds() -> Iterator[OpenItem]:
    """Refunds that an operator asked for and that Stripe has not sent yet."""
    rows = StripeRefund.objects.filter(refunded_at=None).select_related("payment").order_by("asked_at", "pk")
    for row in rows.iterator(chunk_size=1_000):
        yield _of_payment("card refund", row.payment, row.last_error or "it has not gone yet")


def _strays() -> Iterator[OpenItem]:
    """Stripe's events that name one of our orders but do not fit it.

    An operator has to look for the money at Stripe.
    """
    for row in StripeEvent.objects.exclude(stray="").order_by("received_at", "pk").iterator(chunk_size=1_000):
        yield OpenItem("event", row.pk, row.received_at, "", "", "", row.stray)


def _of_payment(kind: str, row: Payment, why: str) -> OpenItem:
    amount, _, currency = sums.moved(row).partition(" ")
    return OpenItem(kind, row.external_id, row.at, row.agent_id, amount, currency, why)

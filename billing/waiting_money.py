"""Money that waits for an operator's decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from billing import decisions, licence_cards
from billing.models import Misplaced, Payment, StrayCharge, StripeEvent, StripeRefund


@dataclass(frozen=True, slots=True)
class WaitingMoney:
    """One kind: its rows, and the list of the console that shows them, as a model and a query."""

    title: str
    model: str
    query: str
    rows: QuerySet[Any]


def kinds(*, now: datetime) -> Iterator[WaitingMoney]:
    """All kinds, in the order of the Books page."""
    yield WaitingMoney("Deposits that bought nothing", "deposit", "open=1", decisions.undecided())
    yield WaitingMoney("Payments that bought nothing", "payment", "open=1", Payment.objects.open())
    yield WaitingMoney("Payments above the price", "payment", "open=over", decisions.overpaid())
    yield WaitingMoney("Payments that disappeared from the chain", "payment", "open=gone", decisions.vanished())
    stars = StrayCharge.objects.filter(refunded_at=None)
    yield WaitingMoney("Charges in stars to be sent back", "straycharge", "refunded_at__isempty=1", stars)
    charged = licence_cards.late(now=now)
    yield WaitingMoney("Cards that are still charged after a cancellation", "subscription", "card=1", charged)
    strays = StripeEvent.objects.exclude(stray="")
    yield WaitingMoney("Stripe events that match nothing here", "stripeevent", "stray__isempty=0", strays)
    refunds = StripeRefund.objects.filter(refunded_at=None)
    yield WaitingMoney("Card refunds that are not done", "striperefund", "refunded_at__isempty=1", refunds)
    yield WaitingMoney("Misplaced money", "misplaced", "there=1", Misplaced.objects.filter(amount__gt=0))

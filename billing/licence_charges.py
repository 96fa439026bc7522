"""What the ledger says of a licence's charges. Its name of each has the day until which the charge pays.

A provider may tell another day for the same charge: Gumroad counts the end of a cancelled membership from its last
charge, which may have succeeded some days late. So days that lie near each other are of one charge.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from agents.models import Agent
from billing.models import Payment
from billing.models.payments import refund_name
from billing.vocabulary import CONFIRMED, PaymentKind

if TYPE_CHECKING:
    from billing.licences import Sold

ACTOR = "billing"  # of rows that say what a provider told
SAME_CHARGE = timedelta(days=10)  # two charges are four weeks apart, less the days that one was late


def of_period(sold: Sold) -> list[Payment]:
    """The charges that pay for what its provider says now, oldest first; several where money came again."""
    return [charge for charge, told in _told(sold) if _pays_for(charge, told, sold)]


def is_known(sold: Sold) -> bool:
    """Whether the ledger has the money of this, and its provider has not told that all of it went back."""
    return any(not _went_back(charge) for charge in of_period(sold))


def told_otherwise(sold: Sold) -> str:
    """The period that the ledger knows, where its provider has changed it since without a charge; else nothing."""
    known = [told for charge, told in _told(sold) if _pays_for(charge, told, sold)]
    return known[-1].period if known and known[-1].period != sold.verdict.period else ""


def charged_for(sold: Sold) -> str:
    """The agent that the licence was charged for last, of a period that is known."""
    return _rows(sold)[-1].agent_id


def next_name(sold: Sold) -> str:
    """The ledger's name of one more charge of this day. Who writes the same one at the same moment has it, too.

    Ask for it before is_known: then a charge that another writes in between is known, or has this name.
    """
    same = Payment.objects.filter(provider=sold.key.provider, external_id__startswith=sold.name, kind__in=CONFIRMED)
    before = same.count()
    return f"{sold.name}:{before}" if before else sold.name


def move_name(sold: Sold, agent: Agent) -> str:
    """The same of what its provider charged nothing for. The agent is locked."""
    return f"{sold.name}:{agent.pk}:{agent.payments.count()}"


def was_returned_by_hand(charge: Payment) -> bool:
    """Whether an operator gave its money back, or the rest of it, which its provider may not know."""
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


def _told(sold: Sold) -> list[tuple[Payment, Payment]]:
    """Each charge, and the row that says until when it pays: where its provider changed the plan since, that one."""
    found: list[tuple[Payment, Payment]] = []
    for row in _rows(sold):
        if row.kind in CONFIRMED:
            found.append((row, row))
        else:
            found = [(charge, row) for charge, _ in found]
    return found


def _pays_for(charge: Payment, told: Payment, sold: Sold) -> bool:
    """A charge pays for each end up to some days after its own; and for its own plan, when that is back."""
    till = sold.till.date()
    if till < told_till(told) + SAME_CHARGE:
        return True
    return charge.period == sold.verdict.period and abs(told_till(charge) - till) < SAME_CHARGE


def _went_back(charge: Payment) -> bool:
    """By its provider's word: what an operator gave back is charged no second time."""
    if was_returned_by_hand(charge) or not charge.refunds.filter(actor=ACTOR).exists():
        return False
    return charge.amount is None or charge.gone_back >= charge.amount

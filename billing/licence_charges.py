"""The charges of a licence in the ledger. The name of each charge contains the day until which it pays.

A provider may name another day later for the same charge: Gumroad counts the end of a cancelled membership from its
last charge, which may have been some days late. So days that are close together belong to one charge.
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

ACTOR = "billing"  # of rows that repeat what a provider said
SAME_CHARGE = timedelta(days=10)  # charges are four weeks apart, less the days that a charge may be late


def of_period(sold: Sold) -> list[Payment]:
    """The charges that pay for the period that the provider names now, oldest first. Several, if money came twice."""
    return [charge for charge, told in _told(sold) if _pays_for(charge, told, sold)]


def is_known(sold: Sold) -> bool:
    """Whether the ledger has a charge for this period that the provider has not fully refunded."""
    return any(not _went_back(charge) for charge in of_period(sold))


def told_otherwise(sold: Sold) -> str:
    """The period in the ledger, if the provider has changed the period since then without a charge; otherwise empty."""
    known = [told for charge, told in _told(sold) if _pays_for(charge, told, sold)]
    return known[-1].period if known and known[-1].period != sold.verdict.period else ""


def charged_for(sold: Sold) -> str:
    """The agent of the licence's last charge. At least one charge must be in the ledger."""
    return _rows(sold)[-1].agent_id


def next_name(sold: Sold) -> str:
    """The ledger's name for one more charge with this end. Two processes at the same moment get the same name.

    Call this before `is_known`: then a charge that another process writes in between is known, or has this name.
    """
    same = Payment.objects.filter(provider=sold.key.provider, external_id__startswith=sold.name, kind__in=CONFIRMED)
    before = same.count()
    return f"{sold.name}:{before}" if before else sold.name


def move_name(sold: Sold, agent: Agent) -> str:
    """The ledger's name for a change that the provider charged nothing for. The agent is locked."""
    return f"{sold.name}:{agent.pk}:{agent.payments.count()}"


def was_returned_by_hand(charge: Payment) -> bool:
    """Whether an operator refunded this charge or the rest of it. The provider may not know of such a refund."""
    return charge.refunds.filter(external_id=refund_name(charge.external_id)).exclude(actor=ACTOR).exists()


def told_till(charge: Payment) -> date:
    """The day until which the charge pays, as the provider named it (billing/licences.py: Sold.name)."""
    return date.fromisoformat(charge.external_id.split(":")[1])


def _rows(sold: Sold) -> list[Payment]:
    """The licence's charges and changes of plan, oldest first. Filtered by subscription because that has an index."""
    provider, reference = sold.key.provider, sold.verdict.external_ref
    same = Payment.objects.filter(subscription__provider=provider, subscription__external_ref=reference)
    of_it = same.filter(provider=provider, external_id__startswith=f"{reference}:")
    return list(of_it.filter(kind__in=[*CONFIRMED, PaymentKind.NEW_PLAN]).order_by("at", "id"))


def _told(sold: Sold) -> list[tuple[Payment, Payment]]:
    """Each charge with the row that says until when it pays: the last change of plan after it, or the charge itself."""
    found: list[tuple[Payment, Payment]] = []
    for row in _rows(sold):
        if row.kind in CONFIRMED:
            found.append((row, row))
        else:
            found = [(charge, row) for charge, _ in found]
    return found


def _pays_for(charge: Payment, told: Payment, sold: Sold) -> bool:
    """Whether this charge pays until the end that the provider names now.

    A charge pays for every earlier end and for ends a few days later. It also pays for an end near its own if the
    licence has the charge's period again.
    """
    till = sold.till.date()
    if till < told_till(told) + SAME_CHARGE:
        return True
    return charge.period == sold.verdict.period and abs(told_till(charge) - till) < SAME_CHARGE


def _went_back(charge: Payment) -> bool:
    """Whether the provider refunded all of it.

    A refund by an operator does not count: the provider does not charge again.
    """
    if was_returned_by_hand(charge) or not charge.refunds.filter(actor=ACTOR).exists():
        return False
    return charge.amount is None or charge.gone_back >= charge.amount

"""A charge of a licence that can pay for nothing here: a card or another licence pays, or its agent is deleted.

The ledger has it as soon as the licence's provider says so. It bought nothing, so operators decide about it, unless the
licence pays again while the charge's time runs.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q

from billing import payments, timeline
from billing.models import Decision, Payment, Subscription
from billing.models.payments import PaymentQuerySet
from billing.payments import Receipt
from billing.vocabulary import CONFIRMED, PaymentKind

if TYPE_CHECKING:
    from billing.licences import Sold

log = logging.getLogger(__name__)

ACTOR = "billing"
BY_CARD = "a card of another plan pays for this agent"
BY_LICENCE = "another licence pays for this agent"


@transaction.atomic
def note(row: Subscription, sold: Sold, *, why: str, now: datetime) -> None:
    """Write the charge down once; again after its money went back and was charged anew."""
    agent = payments.locked(row.agent_id)
    known = list(charges(sold))
    if any(_is_kept(payment) for payment in known):
        return
    log.error("a licence was charged and buys nothing", extra={"subscription": row.pk, "problem": why})
    receipt = Receipt(
        provider=sold.key.provider,
        external_id=f"{sold.name}:{agent.pk}:{agent.payments.count()}" if known else sold.name,
        kind=PaymentKind.RENEWAL,
        agent_id=agent.pk,
        purchase=sold.purchase(),
        amount=sold.cents,
        currency="usd" if sold.cents else "",
        actor=ACTOR,
    )
    payments.write(receipt, agent, now=now, subscription=row, unapplied=why)
    timeline.note(agent, f"the licence of {row.pk} was charged, and bought nothing: {why}", actor=ACTOR, now=now)


def place(sold: Sold, *, by: Payment, now: datetime) -> None:
    """The licence pays again: what was charged for this period waits for no operator any more."""
    for payment in charges(sold).open():
        reason = "the licence pays again, for the time of this charge"
        Decision.objects.create(payment=payment, credit=by, reason=reason, actor=ACTOR, at=now)


def was_decided(sold: Sold) -> bool:
    """Whether an operator has done something else with the money of this period."""
    return charges(sold).exclude(unapplied="").exclude(decision=None).exclude(decision__actor=ACTOR).exists()


def charges(sold: Sold) -> PaymentQuerySet:
    """All rows of the ledger that say that this period was charged, oldest first."""
    named = Q(external_id=sold.name) | Q(external_id__startswith=f"{sold.name}:")
    rows = Payment.objects.filter(named, provider=sold.key.provider, kind__in=CONFIRMED)
    return rows.order_by("at", "id")


def _is_kept(payment: Payment) -> bool:
    if payment.amount is None:
        return not payment.refunds.exists()
    return payment.gone_back < payment.amount

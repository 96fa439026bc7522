"""Charges of a licence that cannot pay here: a card or another licence pays for the agent, or the agent is deleted.

The ledger gets such a charge as soon as the provider reports it. It bought nothing, so operators decide about it,
unless the licence pays again while the charge's time runs.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction

from agents import timeline
from agents.models import Agent, Reason
from billing import licence_charges, payments
from billing.errors import TakenBack
from billing.models import Decision, Payment, Subscription
from billing.payments import Receipt
from billing.vocabulary import CONFIRMED, PaymentKind

if TYPE_CHECKING:
    from billing.licences import Sold

log = logging.getLogger(__name__)

ACTOR = "billing"
BY_CARD = "a card of another plan pays for this agent"
BY_LICENCE = "another licence pays for this agent"
WAS_OVER = "the licence was over here when it was charged"


@transaction.atomic
def note(row: Subscription, sold: Sold, *, why: str, now: datetime) -> None:
    """Write the charge once; and once more if its money was refunded and charged again.

    If the provider changed the plan without a charge, write a row with the new end, so that the next end is taken for
    another charge.
    """
    agent = Agent.objects.lock(row.agent_id)
    name = licence_charges.next_name(sold)
    if licence_charges.is_known(sold):
        if was := licence_charges.told_otherwise(sold):
            moved = licence_charges.move_name(sold, agent)
            receipt = _receipt(agent, sold, name=moved, kind=PaymentKind.NEW_PLAN, reason=f"was {was}")
            payments.write(receipt, agent, now=now, subscription=row)
        return
    if sold.is_free:
        return
    log.error("a charge of a licence bought nothing", extra={"subscription": row.pk, "problem": why})
    payments.write(_receipt(agent, sold, name=name), agent, now=now, subscription=row, unapplied=why)
    words = f"the licence of {row.pk} was charged, and bought nothing: {why}"
    timeline.note(agent, words, reason=Reason.PAYMENT, actor=ACTOR, now=now)


def _receipt(
    agent: Agent, sold: Sold, *, name: str, kind: PaymentKind = PaymentKind.RENEWAL, reason: str = ""
) -> Receipt:
    cents = sold.cents if kind in CONFIRMED else None
    return Receipt(
        provider=sold.key.provider,
        external_id=name,
        kind=kind,
        agent_id=agent.pk,
        purchase=sold.purchase(),
        amount=cents,
        currency="usd" if cents else "",
        actor=ACTOR,
        reason=reason,
    )


def place(sold: Sold, *, by: Payment, now: datetime) -> None:
    """The licence pays again: operators no longer have to decide about the charges of this period.

    Raises TakenBack if an operator has just decided about such a charge.
    """
    for payment in Payment.objects.open().filter(pk__in=_names(sold)):
        reason = "the licence pays again, for the time of this charge"
        Decision.objects.create(payment=payment, credit=by, reason=reason, actor=ACTOR, at=now)
    if was_decided(sold):
        raise TakenBack


def was_placed(payment: Payment) -> bool:
    """Whether the charge bought nothing at first, and its licence later paid again with it."""
    return Decision.objects.filter(payment=payment, actor=ACTOR).exists()


def was_decided(sold: Sold) -> bool:
    """Whether an operator decided about the money of this period."""
    return Decision.objects.filter(payment__in=_names(sold)).exclude(actor=ACTOR).exists()


def _names(sold: Sold) -> list[str]:
    return [payment.pk for payment in licence_charges.of_period(sold) if payment.unapplied]

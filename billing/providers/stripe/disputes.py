"""A charge that the card's owner disputes.

Its time is paused while the bank decides, ends if we lose, and comes back if we win. The card is not charged again.
"""

from __future__ import annotations

import logging
from datetime import datetime
from fractions import Fraction

from django.db import transaction

from agents.configuring import profile
from agents.models import Agent, Desired
from billing import dunning, part_refunds, payments, spans, subscriptions, unused_time
from billing.models import Payment, StripeDispute, Subscription
from billing.models.payments import refund_name
from billing.providers.stripe import cards, returns
from billing.providers.stripe.objects import Dispute
from billing.providers.stripe.returns import WAS_LOST, WAS_WON
from billing.spans import SoldPlan, UnusedTime
from billing.vocabulary import PaymentKind, Period

log = logging.getLogger(__name__)

# Stripe's words for the status. An inquiry (`warning_…`) has taken no money; `prevented` is reported as a refund.
OPEN = {"needs_response", "under_review", "appeal_needs_response", "appeal_under_review"}
WON, LOST = "won", "lost"
AGAINST_US = {*OPEN, LOST}
DISPUTED = "its payment is disputed"
PART_LOST = "only a part was lost, and the rest is ours"
NO_TIME = "a bank gave it back, and the time that it paid for is over"


@transaction.atomic
def note(told: Dispute, *, now: datetime) -> None:
    """Store the state of a dispute and follow it.

    Calling this twice is harmless, and so is an old state that comes late.
    """
    payment = returns.counted(told.payment_intent)
    if payment is None:
        return
    holder = unused_time.held(payment)
    row, is_new = StripeDispute.objects.select_for_update(of=("self",)).get_or_create(
        dispute_id=told.id,
        defaults={"payment": payment, "status": told.status, "cents": abs(told.amount), "seen_at": now},
    )
    was_lost, was_against_us = _was_lost(row, told), not is_new and row.status in AGAINST_US
    row.status = told.status
    if told.status in AGAINST_US:
        if not was_against_us:  # a card that was entered after the dispute is still charged
            cards.cancel(payment.agent, now=now)
        holder = _go_against(holder, payment, row, was_lost=was_lost, now=now)
    if told.status == WON:
        holder = _go_for(holder, payment, row, was_lost=was_lost, now=now)
    if told.status in {WON, LOST}:
        row.closed_at = row.closed_at or now
    row.save()
    dunning.settle(holder, now=now)


def _was_lost(row: StripeDispute, told: Dispute) -> bool:
    """Whether the dispute was lost before this report. A dispute that was won is open again if the bank appealed."""
    if row.status == WON:
        row.closed_at = row.closed_at if told.status == WON else None
        return False
    return row.closed_at is not None


def _go_against(holder: Agent, payment: Payment, row: StripeDispute, *, was_lost: bool, now: datetime) -> Agent:
    """The dispute is open or lost: take the time of the payment, and write a loss in the ledger.

    If a lost dispute is open again, its time is gone already.
    """
    if not row.is_taken and not was_lost and _is_whole(row, payment):
        _hold(holder, payment, row, now=now)
    if row.status == LOST and row.closed_at is None:
        _lose(payment, row, now=now)
        if row.is_taken and part_refunds.worth(payment):  # what another dispute had taken came back in the meantime
            return _give_back(holder, payment, row, reason=PART_LOST, now=now)
    return holder


def _go_for(holder: Agent, payment: Payment, row: StripeDispute, *, was_lost: bool, now: datetime) -> Agent:
    if was_lost:
        _reinstate(payment, row, now=now)
    return _give_back(holder, payment, row, reason=WAS_WON, now=now) if row.is_taken else holder


def _is_whole(row: StripeDispute, payment: Payment) -> bool:
    """Whether the dispute is about the whole payment. If it is about a part, only money goes and the time stays."""
    return row.cents >= part_refunds.worth(payment)


def _hold(holder: Agent, payment: Payment, row: StripeDispute, *, now: datetime) -> None:
    held = Subscription.objects.paid().filter(agent=holder, spans__payment=payment).first()
    mine = [rest for rest in spans.left(held, now=now) if rest.payment_id == payment.pk] if held else []
    row.is_taken, row.subscription = True, held
    row.length = spans.total(mine)
    row.usd = spans.stored(sum((rest.usd for rest in mine), Fraction(0)))
    for name, value in spans.columns(mine[0].homes if mine else ()).items():
        setattr(row, name, value)
    if held:
        row.tier, row.period, row.tier_snapshot = held.tier, held.period, held.tier_snapshot
    unused_time.take_back(holder, payment, actor=cards.ACTOR, now=now, note=DISPUTED)
    if payment.subscription is None:  # it bought nothing, so there is no time to take
        return
    name = _name(payment, "dispute", row)
    receipt = returns.way_back(
        payment, kind=PaymentKind.REVOKE, name=name, amount=None, actor=cards.ACTOR, reason=DISPUTED
    )
    returns.write(receipt, payment, now=now)


def _lose(payment: Payment, row: StripeDispute, *, now: datetime) -> None:
    worth, amount = part_refunds.worth(payment), min(row.cents, int((payment.amount or 0) - payment.gone_back))
    if amount <= 0:
        return
    whole = refund_name(payment.external_id)
    known = Payment.objects.filter(provider=payment.provider, external_id=whole)
    name = whole if amount >= worth and not known.exists() else _name(payment, "lost", row)
    receipt = returns.way_back(
        payment, kind=PaymentKind.REFUND, name=name, amount=amount, actor=cards.ACTOR, reason=WAS_LOST
    )
    returns.write(receipt, payment, now=now)
    returns.close_gone(payment, now=now)
    if amount < worth:
        part_refunds.lessen(payment, amount, left=worth)


def _reinstate(payment: Payment, row: StripeDispute, *, now: datetime) -> None:
    """The bank changed its mind after we had lost: the money is ours again, and gets a new invoice.

    If the payment's time has already ended because the rest was refunded, an operator decides.
    """
    amount, worth = min(row.cents, returns.lost(payment)), part_refunds.worth(payment)
    if amount <= 0:
        return
    name = _name(payment, "reinstated", row)
    receipt = returns.way_back(
        payment, kind=PaymentKind.CAME_BACK, name=name, amount=amount, actor=cards.ACTOR, reason=WAS_WON
    )
    returns.write(receipt, payment, now=now, unapplied="" if worth or row.is_taken else NO_TIME)
    if worth:
        part_refunds.lessen(payment, worth - part_refunds.worth(payment), left=worth)


def _name(payment: Payment, what: str, row: StripeDispute) -> str:
    """A name for the ledger's row. A bank may decide several times, so the name may get a number."""
    name = f"{payment.external_id}:{what}:{row.dispute_id}"
    before = Payment.objects.filter(provider=payment.provider, external_id__startswith=name).count()
    return f"{name}:{before}" if before else name


def _give_back(agent: Agent, payment: Payment, row: StripeDispute, *, reason: str, now: datetime) -> Agent:
    """Give back the time that was left when the dispute began, to the subscription that pays for the agent now.

    If all of the money was refunded in the meantime, no time comes back.
    """
    row.refresh_from_db(fields=["usd"])  # another part may have come back a moment ago
    row.is_taken = False
    if payment.subscription is None:
        return agent
    name = _name(payment, "won", row)
    receipt = returns.way_back(
        payment, kind=PaymentKind.RESTORED, name=name, amount=None, actor=cards.ACTOR, reason=reason
    )
    if row.subscription is None or not row.length or not part_refunds.worth(payment):
        returns.write(receipt, payment, now=now)
        return agent
    if agent.desired == Desired.DELETED:
        log.error("a dispute was won for a deleted agent", extra={"agent": agent.pk, "dispute": row.dispute_id})
        payments.write(receipt, agent, now=now, unapplied=payments.DELETED)
        return agent
    agent = subscriptions.expire_ended(agent, now=now)
    homes = spans.homes_of(row, spans.passed_by([row]))
    rest = UnusedTime(length=row.length, usd=Fraction(row.usd), payment_id=payment.pk, homes=homes)
    plan = SoldPlan(
        tier=row.tier,
        period=Period(row.period),
        snapshot=row.tier_snapshot or {},
        by=_brought(payment, row, row.subscription),
    )
    held = unused_time.add(agent, [rest], plan, row=row.subscription, actor=cards.ACTOR, now=now)
    payments.write(receipt, agent, now=now, subscription=held)
    agent = profile.follow_payment(agent, held.tier)
    return dunning.paid_again(agent, now=now)


def _brought(payment: Payment, row: StripeDispute, held: Subscription) -> tuple[str, ...]:
    """The payments that brought the plan of the time that was taken.

    If the subscription has left that plan: this payment if it was for that plan, otherwise none.
    """
    if held.tier == row.tier:
        return tuple(spans.brought(held))
    return (payment.pk,) if payment.tier == row.tier else ()

"""Charges in stars and their refunds, each counted once, by Telegram's id of the charge.

A charge is handled in one transaction under the agent's lock: the ledger, the order, the subscription, the event, and
what must be sent back. It may be reported several times, by the webhook and by the list of transactions.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from agents.models import Agent, Desired
from billing import coupons, dunning, orders, payments, unused_time
from billing.models import Payment, StarsOrder, Stray, StrayCharge
from billing.models.payments import refund_name
from billing.payments import Receipt
from billing.providers.stars.telegram import CURRENCY
from billing.providers.stars.updates import StarsCharge
from billing.subscriptions import Purchase
from billing.vocabulary import OrderStatus, PaymentKind, Provider
from config import background
from config.ids import is_id

log = logging.getLogger(__name__)

ACTOR = "telegram"
REFUNDED = "stars were sent back"
MAX_CURRENCY = 12


@transaction.atomic
def take(charge: StarsCharge, *, now: datetime) -> None:
    """Count the charge, or note why it bought nothing and send it back."""
    order = _order_of(charge)
    if order is None:
        _note_unknown(charge, now=now)
        return
    agent = Agent.objects.lock(order.agent_id)
    orders.locked(order.pk)
    order = StarsOrder.objects.get(pk=order.pk)
    if _is_known(charge):
        return
    why = _why_not(order, agent, charge)
    if why is None:
        _count(order, charge, now=now)
    else:
        _send_back(order, agent, charge, why=why, now=now)


def settled(charge_ids: list[str]) -> tuple[set[str], set[str]]:
    """Of these charges, those that are already handled, and those that are known to be refunded."""
    strays = dict(StrayCharge.objects.filter(pk__in=charge_ids).values_list("pk", "refunded_at"))
    names = [*charge_ids, *map(refund_name, charge_ids)]
    ledger = Payment.objects.filter(provider=Provider.STARS, external_id__in=names)
    counted = set(ledger.values_list("external_id", flat=True))
    returned = {one for one in charge_ids if refund_name(one) in counted or (strays.get(one) and one not in counted)}
    return {one for one in charge_ids if one in counted or one in strays}, returned


def _order_of(charge: StarsCharge) -> StarsOrder | None:
    return StarsOrder.objects.filter(pk=charge.payload).first() if is_id("stx", charge.payload) else None


def _counted_for(charge: StarsCharge) -> StarsOrder | None:
    """The order that this charge paid. Telegram does not always name the order in a refund."""
    return StarsOrder.objects.filter(payments__provider=Provider.STARS, payments__external_id=charge.id).first()


def _is_known(charge: StarsCharge) -> bool:
    counted = Payment.objects.filter(provider=Provider.STARS, external_id=charge.id)
    return counted.exists() or StrayCharge.objects.filter(pk=charge.id).exists()


def _why_not(order: StarsOrder, agent: Agent, charge: StarsCharge) -> Stray | None:
    if order.status == OrderStatus.PAID:
        return Stray.SECOND
    if (charge.currency, charge.amount) != (CURRENCY, order.amount_stars):
        return Stray.AMOUNT
    if agent.desired == Desired.DELETED:
        return Stray.DELETED
    late = order.status == OrderStatus.EXPIRED
    return Stray.COUPON if late and not coupons.is_left_for(order) else None


def _count(order: StarsOrder, charge: StarsCharge, *, now: datetime) -> None:
    counted = payments.apply_payment(_receipt(order, charge, late=_is_late(order, now=now)), now=now)
    if counted.order_id != order.pk:  # the same charge was counted earlier for another order
        return
    StarsOrder.objects.filter(pk=order.pk).update(
        charge_id=charge.id, payer_id=charge.payer_id, hold_until=None, held_by=None
    )


def _is_late(order: StarsOrder, *, now: datetime) -> bool:
    """Whether the payment came after the order's end. A payer who was let through in time is not late."""
    held = order.hold_until is not None and now < order.hold_until
    return order.status == OrderStatus.EXPIRED or (now >= order.expires_at and not held)


def _receipt(
    order: StarsOrder,
    charge: StarsCharge,
    *,
    late: bool = False,
    kind: PaymentKind = PaymentKind.PAYMENT,
    external_id: str = "",
    reason: str = "",
) -> Receipt:
    return Receipt(
        provider=Provider.STARS,
        external_id=external_id or charge.id,
        kind=kind,
        agent_id=order.agent_id,
        purchase=Purchase.as_in(order, provider=Provider.STARS),
        amount=charge.amount,
        currency=charge.currency[:MAX_CURRENCY],
        late=late,
        order_id=order.pk,
        actor=ACTOR,
        reason=reason,
    )


def _send_back(order: StarsOrder, agent: Agent, charge: StarsCharge, *, why: Stray, now: datetime) -> None:
    """Write the charge in the ledger as buying nothing, and make its refund due (refunds.py)."""
    level = logging.ERROR if why == Stray.AMOUNT else logging.WARNING
    log.log(level, "stars are sent back: %s", why.label, extra={"order": order.pk, "charge": charge.id})
    payments.write(_receipt(order, charge), agent, now=now, unapplied=f"{why.label}: it is sent back")
    _note(charge, order, why=why, now=now, refund_at=now)
    background.on_commit("billing.send_back_stars")


def _note_unknown(charge: StarsCharge, *, now: datetime) -> None:
    """Note a charge that belongs to none of our orders.

    The bot may also sell other things, so it is not sent back; operators decide.
    """
    if _note(charge, None, why=Stray.UNKNOWN, now=now):
        log.error("stars for no order of this installation", extra={"charge": charge.id, "payload": charge.payload})


def _note(
    charge: StarsCharge,
    order: StarsOrder | None,
    *,
    why: Stray,
    now: datetime,
    refund_at: datetime | None = None,
    refunded_at: datetime | None = None,
) -> bool:
    """Note the charge once. Returns whether it is new."""
    values = {
        "payer_id": charge.payer_id,
        "order": order,
        "amount": charge.amount,
        "currency": charge.currency[:MAX_CURRENCY],
        "payload": charge.payload,
        "why": why,
        "seen_at": now,
        "refund_at": refund_at,
        "refunded_at": refunded_at,
    }
    return StrayCharge.objects.get_or_create(charge_id=charge.id, defaults=values)[1]


@transaction.atomic
def give_back(charge: StarsCharge, *, now: datetime) -> None:
    """Follow a refund: the rest of the time that the charge bought ends now. The order stays paid.

    If the refund is reported before the payment, it is noted, and the payment will not count.
    """
    order = _order_of(charge) or _counted_for(charge)
    if order is None:
        _note(charge, None, why=Stray.UNKNOWN, now=now, refunded_at=now)
        _close(charge, now=now)
        return
    counted = Payment.objects.filter(provider=Provider.STARS, external_id=charge.id).first()
    holder = Agent.objects.lock(order.agent_id) if counted is None else unused_time.held(counted)
    if counted is None:
        _note(charge, order, why=Stray.RETURNED, now=now, refunded_at=now)
    elif not Payment.objects.filter(provider=Provider.STARS, external_id=refund_name(charge.id)).exists():
        _take_back(order, holder, counted, charge, now=now)
    _close(charge, now=now)


def _take_back(order: StarsOrder, holder: Agent, counted: Payment, charge: StarsCharge, *, now: datetime) -> None:
    asked = StrayCharge.objects.filter(pk=charge.id).exclude(reason="").first()
    actor, reason = (asked.actor, asked.reason) if asked else (ACTOR, REFUNDED)
    subscription = counted.subscription
    unused_time.take_back(holder, counted, actor=actor, now=now, note=REFUNDED)
    receipt = _receipt(order, charge, kind=PaymentKind.REFUND, external_id=refund_name(charge.id), reason=reason)
    row = replace(receipt, actor=actor, refund_of=counted.pk)
    payments.write(row, counted.agent, now=now, subscription=subscription, unapplied=counted.unapplied)
    if subscription is not None:
        dunning.settle(holder, now=now)


def _close(charge: StarsCharge, *, now: datetime) -> None:
    open_ = StrayCharge.objects.filter(pk=charge.id, refunded_at=None)
    open_.update(refund_at=None, refunded_at=now, last_error="")

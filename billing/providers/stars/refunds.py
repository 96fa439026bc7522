"""Send back stars that bought nothing, or that an operator sends back.

Failed calls are repeated later, until they work.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from billing.models import StarsOrder, Stray, StrayCharge
from billing.providers.stars import bot, charges, telegram
from billing.providers.stars.errors import NothingToSendBack
from billing.providers.stars.telegram import TelegramAway, TelegramRefused
from billing.providers.stars.updates import StarsCharge
from config import background

log = logging.getLogger(__name__)

BATCH = 50
LEASE = timedelta(minutes=1)  # longer than any call; after a crash the next worker tries again
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
MAX_ERROR = 300


@transaction.atomic
def ask(charge_id: str, *, reason: str, actor: str, now: datetime) -> None:
    """An operator sends a charge back; the time that it bought ends once that is done. Raises NothingToSendBack."""
    stray = StrayCharge.objects.select_for_update().filter(pk=charge_id).first() or _counted(charge_id, now=now)
    if stray is None or stray.refunded_at or stray.payer_id is None:
        raise NothingToSendBack(charge_id)
    stray.refund_at, stray.actor, stray.reason = now, actor, reason
    stray.save()
    background.on_commit("billing.send_back_stars")


def _counted(charge_id: str, *, now: datetime) -> StrayCharge | None:
    order = StarsOrder.objects.select_for_update().filter(charge_id=charge_id).first()
    if order is None or charge_id in charges.settled([charge_id])[1]:
        return None
    return StrayCharge(
        charge_id=charge_id,
        payer_id=order.payer_id,
        order=order,
        amount=order.amount_stars,
        currency=telegram.CURRENCY,
        payload=order.pk,
        why=Stray.ASKED,
        seen_at=now,
    )


def send_due(*, now: datetime | None = None) -> int:
    """Send back what is due, the longest overdue first. Returns how many were sent back."""
    now = now or timezone.now()
    if not bot.is_configured():
        return 0
    due = list(StrayCharge.objects.filter(refund_at__lte=now).order_by("refund_at")[:BATCH])
    return sum(_send(stray, now=now) for stray in due)


def _send(stray: StrayCharge, *, now: datetime) -> bool:
    """Send back one charge, outside of any transaction.

    If it is sent twice, Telegram answers that it is refunded already.
    """
    claimed = StrayCharge.objects.filter(pk=stray.pk, refund_at=stray.refund_at)
    if stray.payer_id is None or not claimed.update(refund_at=now + LEASE, attempts=F("attempts") + 1):
        return False
    try:
        telegram.refund(payer_id=stray.payer_id, charge_id=stray.pk)
    except TelegramAway as away:
        _later(stray, away.message, now=now, at_least=timedelta(seconds=int(away.headers["Retry-After"])))
        return False
    except TelegramRefused as refusal:
        log.exception("Telegram does not send stars back", extra={"charge": stray.pk})
        _later(stray, str(refusal), now=now, at_least=FIRST_WAIT)
        return False
    charges.give_back(_charge_of(stray, stray.payer_id), now=now)
    return True


def _later(stray: StrayCharge, problem: str, *, now: datetime, at_least: timedelta) -> None:
    wait = min(FIRST_WAIT * 2 ** min(stray.attempts, 10), LONGEST_WAIT)
    open_ = StrayCharge.objects.filter(pk=stray.pk, refunded_at=None)
    open_.update(refund_at=now + max(wait, at_least), last_error=problem[:MAX_ERROR])


def _charge_of(stray: StrayCharge, payer_id: int) -> StarsCharge:
    return StarsCharge(
        id=stray.pk, payer_id=payer_id, currency=stray.currency, amount=stray.amount, payload=stray.payload
    )

"""Read Telegram's list of transactions: it shows payments that no webhook reported, and refunds.

The list is in order of time and only grows, so we store how many were read. The last ones are read again each time,
since neighbours may change places. Refunds are handled first: a refunded payment must not be counted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from billing.models import StarsFeed
from billing.providers.stars import bot, charges, telegram, updates
from billing.providers.stars.telegram import PAGE, Json, TelegramAway, TelegramRefused
from billing.providers.stars.updates import StarsCharge
from config.errors import BadRequest
from config.operator_settings import operator_settings
from config.operator_settings.values import values

log = logging.getLogger(__name__)

OVERLAP = 200  # transactions that are read again
MAX_PAGES = 50  # in one run; the next run continues from there


@dataclass(slots=True)
class _Read:
    found: list[Json] = field(default_factory=list)
    start: int = 0


def reconcile(*, now: datetime | None = None) -> int:
    """Make our rows agree with the list. Returns how many transactions were read. Parallel runs are harmless.

    First Telegram gets the webhook's secret, if an operator has changed it.
    """
    values.look()  # an operator may have changed the bot a moment ago
    if not bot.is_configured():
        return 0
    now = now or timezone.now()
    mark, _ = StarsFeed.objects.get_or_create(bot=operator_settings.STARS_BOT_USERNAME)
    try:
        bot.follow(mark)
        read = _read(mark)
    except (TelegramAway, TelegramRefused):
        log.exception("Telegram's list of stars cannot be read, or our webhook not be set: it is tried again")
        return 0
    if _settle(read.found, now=now):
        StarsFeed.objects.filter(pk=mark.pk).update(seen=read.start + len(read.found), read_at=now)
    return len(read.found)


def _read(mark: StarsFeed) -> _Read:
    read = _pages(max(0, mark.seen - OVERLAP))
    if not read.found and mark.seen:  # another bot with the same name, or the list was shortened
        log.error(
            "Telegram's list of stars is shorter than before: it is read again from the start", extra={"bot": mark.pk}
        )
        return _pages(0)
    return read


def _pages(start: int) -> _Read:
    read = _Read(start=start)
    for _ in range(MAX_PAGES):
        page = telegram.transactions(offset=start + len(read.found))
        read.found += page
        if len(page) < PAGE:
            break
    return read


def _settle(found: list[Json], *, now: datetime) -> bool:
    """Handle these transactions. Returns whether all worked; if not, they are read again."""
    going, coming = _charges(found, updates.outgoing), _charges(found, updates.incoming)
    taken, returned = charges.settled([one.id for one in (*going, *coming)])
    done = [_try(charges.give_back, one, now=now) for one in going if one.id not in returned]
    done += [_try(charges.take, one, now=now) for one in coming if one.id not in taken]
    return all(done)


def _charges(found: list[Json], reading: Callable[[Json], StarsCharge | None]) -> list[StarsCharge]:
    """Parse the transactions.

    One that cannot be read is logged for operators and left out, since trying again does not help.
    """
    read = []
    for transaction in found:
        try:
            read.append(reading(transaction))
        except BadRequest:
            log.exception("a transaction of Telegram cannot be read", extra={"charge": str(transaction.get("id"))})
    return [one for one in read if one is not None]


def _try(rule: Callable[..., None], charge: StarsCharge, *, now: datetime) -> bool:
    """Handle one charge. Returns False if it fails, so that the others are still handled."""
    try:
        rule(charge, now=now)
    except Exception:
        log.exception("a transaction of Telegram could not be processed", extra={"charge": charge.id})
        return False
    return True

"""Find what no webhook told us: read Stripe's list of events, and each subscription once a day."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import Max

from billing.models import CardSubscription, StripeFeed
from billing.models.stripe import ENDED
from billing.providers.stripe import api, configuration, inbox, refresh
from billing.providers.stripe.api import Json, StripeAway, StripeRefused
from billing.providers.stripe.errors import StripeUnreadable, UnmatchedObject
from billing.providers.stripe.inbox import KINDS
from billing.providers.stripe.refresh import StripeKind
from billing.providers.stripe.retries import LEASE

log = logging.getLogger(__name__)

OVERLAP = timedelta(minutes=10)  # read again each time, since events appear in the list a little late
AT_ONCE = timedelta(days=1)  # of the list; after an outage it is read day by day
MAX_PAGES = 100  # per day of the list; what is missed is found by the daily check of each subscription
KEPT = timedelta(days=30)  # how long Stripe keeps its list of events
BATCH = 50


def catch_up(*, now: datetime) -> int:
    """Store the events of the list that are not in the inbox.

    Returns how many were read. Calling this twice is harmless.
    """
    if not configuration.is_configured():
        return 0
    mark, _ = StripeFeed.objects.get_or_create(pk=configuration.fingerprint(), defaults={"read_to": _begin(now)})
    until, read = max(mark.read_to, now - KEPT) - OVERLAP, 0
    while until < now:
        since, until = until, min(until + AT_ONCE, now)
        try:
            found = _read(since, until)
        except (StripeAway, StripeRefused):
            log.exception("Stripe's list of events cannot be read: it is tried again")
            break
        inbox.keep(found, now=now)
        StripeFeed.objects.filter(pk=mark.pk).update(read_to=until)
        read += len(found)
    return read


def _begin(now: datetime) -> datetime:
    """From when a new key reads: since the key before it read last, because both are mostly of one account."""
    return StripeFeed.objects.aggregate(newest=Max("read_to"))["newest"] or now


def _read(since: datetime, until: datetime) -> list[Json]:
    found: list[Json] = []
    for _ in range(MAX_PAGES):
        after = str(found[-1].get("id") or "") if found else ""
        page, more = api.events(sorted(KINDS), since=since, until=until, after=after)
        found += page
        if not more or not page:
            return found
    log.error("Stripe's list of events has too many of one day", extra={"since": since.isoformat()})
    return found


def check_due(*, now: datetime) -> int:
    """Read subscriptions that were not reported for a day, or whose charge is overdue. Returns how many were read."""
    if not configuration.is_configured():
        return 0
    due = CardSubscription.objects.filter(check_at__lte=now).exclude(status__in=ENDED).order_by("check_at")
    return sum(_check(card, now=now) for card in due[:BATCH])


def _check(card: CardSubscription, *, now: datetime) -> bool:
    """Read one subscription. Without an answer it stays due: unknown is not unpaid."""
    claimed = CardSubscription.objects.filter(pk=card.pk, check_at=card.check_at)
    if not claimed.update(check_at=now + LEASE):
        return False
    try:
        refresh.look(StripeKind.CARD, card.subscription_id, now=now)
    except StripeAway as away:
        log.warning("a subscription at Stripe cannot be read: %s", away.message, extra={"card": card.subscription_id})
        return False
    except (StripeRefused, UnmatchedObject, StripeUnreadable):
        log.exception(
            "a subscription at Stripe is unknown or has an unexpected form", extra={"card": card.subscription_id}
        )
        return False
    return True

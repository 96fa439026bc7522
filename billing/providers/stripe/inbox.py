"""The events from Stripe, each one once: stored first, then handled, and repeated until that works."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F

from billing.models import StripeEvent
from billing.models.stripe import ERROR
from billing.providers.stripe import refresh
from billing.providers.stripe.api import GONE, StripeAway, StripeRefused
from billing.providers.stripe.errors import StripeUnreadable, UnmatchedObject
from billing.providers.stripe.refresh import StripeKind
from billing.providers.stripe.retries import FIRST_WAIT, LEASE, wait_after
from config import background

log = logging.getLogger(__name__)

BATCH = 100
KEPT = timedelta(days=90)
ID = re.compile(r"[A-Za-z0-9_]{1,100}")
LATEST = 253_402_214_400  # the year 9999
OF_REFUNDS = "refund."

# The event types that matter to us, and the kind of object that we then read from Stripe.
KINDS = {
    "checkout.session.completed": StripeKind.CHECKOUT,
    "customer.subscription.created": StripeKind.CARD,
    "customer.subscription.updated": StripeKind.CARD,
    "customer.subscription.deleted": StripeKind.CARD,
    "customer.subscription.paused": StripeKind.CARD,
    "customer.subscription.resumed": StripeKind.CARD,
    "invoice.paid": StripeKind.INVOICE,
    "invoice.payment_failed": StripeKind.INVOICE,
    "invoice.payment_action_required": StripeKind.INVOICE,
    "charge.refunded": StripeKind.CHARGE,
    "refund.failed": StripeKind.CHARGE,
    "refund.updated": StripeKind.CHARGE,
    "charge.dispute.created": StripeKind.DISPUTE,
    "charge.dispute.updated": StripeKind.DISPUTE,
    "charge.dispute.closed": StripeKind.DISPUTE,
}


def keep(told: Iterable[Mapping[str, Any]], *, now: datetime) -> int:
    """Store the events that are new and matter. Returns how many events were readable."""
    rows = [row for row in (_row(event, now) for event in told) if row is not None]
    StripeEvent.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        background.on_commit("billing.process_stripe")
    return len(rows)


def _row(event: Mapping[str, Any], now: datetime) -> StripeEvent | None:
    kind, created, inside = event.get("type"), event.get("created"), event.get("data")
    what = inside.get("object") if isinstance(inside, Mapping) else None
    name, about = _name(event), _about(str(kind), what) if isinstance(what, Mapping) else ""
    if kind not in KINDS or not name or not about:
        return None
    at = datetime.fromtimestamp(created, UTC) if isinstance(created, int) and 0 <= created <= LATEST else now
    return StripeEvent(event_id=name, type=kind, object_id=about, created_at=at, received_at=now, due_at=now)


def _about(kind: str, what: Mapping[str, Any]) -> str:
    """The id of the object to read. For a refund it is its charge."""
    return _name(what, "charge" if kind.startswith(OF_REFUNDS) else "id")


def _name(told: Mapping[str, Any], field: str = "id") -> str:
    """The id, or empty if it cannot be an id at Stripe. So it is safe as a part of a URL."""
    name = told.get(field)
    return name if isinstance(name, str) and ID.fullmatch(name) else ""


def process_due(*, now: datetime) -> int:
    """Handle the events that are due, the oldest first. Returns how many are done."""
    due = list(StripeEvent.objects.filter(due_at__lte=now).order_by("due_at", "created_at")[:BATCH])
    done = sum(_process(event, now=now) for event in due)
    if len(due) == BATCH:
        background.on_commit("billing.process_stripe")
    return done


def _process(event: StripeEvent, *, now: datetime) -> bool:
    """Handle one event. Stripe is called outside of any transaction.

    After a crash the event becomes due again, and nothing is counted twice.
    """
    claimed = StripeEvent.objects.filter(pk=event.pk, due_at=event.due_at)
    if not claimed.update(due_at=now + LEASE, attempts=F("attempts") + 1):
        return False
    try:
        refresh.look(KINDS[event.type], event.object_id, now=now)
    except StripeAway as away:
        return _later(event, away.message, now=now, at_least=timedelta(seconds=int(away.headers["Retry-After"])))
    except UnmatchedObject as stray:
        log.error(
            "an event of Stripe names this installation, but matches nothing here: %s", stray, extra={"event": event.pk}
        )
        return _close(event, now=now, stray=str(stray))
    except StripeRefused as refusal:
        if refusal.code == GONE:  # from the test mode, or from another account
            return _close(event, now=now, stray="Stripe does not know it with our key")
        log.exception("Stripe does not return what one of its events names", extra={"event": event.pk})
        return _later(event, str(refusal), now=now)
    except StripeUnreadable as problem:
        log.exception("an answer of Stripe has an unexpected form", extra={"event": event.pk})
        return _later(event, str(problem), now=now)
    except Exception as error:  # a bug in our code: the other events must not wait for it
        log.exception("an event of Stripe could not be processed", extra={"event": event.pk})
        return _later(event, type(error).__name__, now=now)
    return _close(event, now=now)


def _close(event: StripeEvent, *, now: datetime, stray: str = "") -> bool:
    closed = {"due_at": None, "done_at": now, "last_error": "", "stray": stray[:200]}
    return bool(StripeEvent.objects.filter(pk=event.pk).update(**closed))


def _later(event: StripeEvent, problem: str, *, now: datetime, at_least: timedelta = FIRST_WAIT) -> bool:
    open_ = StripeEvent.objects.filter(pk=event.pk, done_at=None)
    open_.update(due_at=now + wait_after(event.attempts, at_least=at_least), last_error=problem[:ERROR])
    return False


def purge(*, now: datetime) -> None:
    """Delete handled events after 90 days. Stripe reports no event after 30 days, so none comes again."""
    StripeEvent.objects.filter(done_at__lt=now - KEPT, stray="").delete()

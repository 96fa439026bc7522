"""A licence's activation at its provider: made once the licence is ours, given back when its agent is gone."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from agents.models import Desired
from billing import payments, revocations, subscriptions
from billing.errors import LicenceRefused
from billing.models import Subscription
from billing.models.subscriptions import LIVE
from billing.providers.base import LicenceDriver
from config.errors import Unavailable

log = logging.getLogger(__name__)

ACTOR = "billing"
AGAIN = timedelta(minutes=5)
# The name of an activation that may be there without our knowing its name.
UNCONFIRMED = "unconfirmed"


def bind(driver: LicenceDriver, row: Subscription, *, now: datetime) -> Subscription:
    """Activate a licence that has just become ours. A provider that is silent is asked again by its verification.

    Raises LicenceRefused when the provider refuses: somebody was quicker elsewhere, so it pays for nothing here.
    """
    if row.instance:
        return row
    try:
        return _activate(driver, row)
    except Unavailable as error:
        log.warning("a licence is not activated yet", extra={"subscription": row.pk, "problem": error.message})
        if driver.counts_activations:
            _note(row, check_at=now + AGAIN)
        return row
    except LicenceRefused as refusal:
        revocations.revoke(row.pk, reason=refusal.message, actor=ACTOR, now=now)
        raise


def complete(driver: LicenceDriver, row: Subscription) -> None:
    """Activate what was not, for want of an answer. A refusal then may mean that the unanswered call worked."""
    if not driver.counts_activations or row.instance or not row.is_live:
        return
    try:
        _activate(driver, row)
    except Unavailable as error:
        log.warning("a licence is not activated yet", extra={"subscription": row.pk, "problem": error.message})
    except LicenceRefused as refusal:
        log.error("a licence could not be activated", extra={"subscription": row.pk, "problem": refusal.message})
        _note(row, instance=UNCONFIRMED)


def free(driver: LicenceDriver, rows: QuerySet[Subscription], *, now: datetime) -> None:
    """Give back what agents hold that are deleted, or for which the licence has expired. Raises Unavailable."""
    gone = Q(status__in=LIVE, agent__desired=Desired.DELETED)
    for row in rows.filter(gone | (~Q(status__in=LIVE) & ~Q(instance=""))).order_by("created_at")[:20]:
        release(driver, row, now=now)


def unbind(driver: LicenceDriver, row: Subscription) -> None:
    """Give the activation back and go on: the next verification makes another. Raises Unavailable."""
    if row.instance and row.license_key:
        driver.release(row.license_key, instance=row.instance)
        _note(row, instance="")


def release(driver: LicenceDriver, row: Subscription, *, now: datetime) -> None:
    """Give the activation back; what a deleted agent held is over. Twice is harmless. Raises Unavailable."""
    if row.instance and row.license_key:
        driver.release(row.license_key, instance=row.instance)
    with transaction.atomic():
        agent = payments.locked(row.agent_id)
        row = Subscription.objects.select_for_update(of=("self",)).get(pk=row.pk)
        row.instance, row.check_at, row.unknown_since = "", None, None
        row.save(update_fields=["instance", "check_at", "unknown_since"])
        if row.is_live and agent.desired == Desired.DELETED:
            subscriptions.expire(agent, row, at=now, actor=ACTOR, now=now, note="its agent is deleted")


def _activate(driver: LicenceDriver, row: Subscription) -> Subscription:
    instance = driver.activate(row.license_key or "", agent_id=row.agent_id)
    return _note(row, instance=instance) if instance else row


def _note(row: Subscription, **values: object) -> Subscription:
    Subscription.objects.filter(pk=row.pk).update(**values)
    row.refresh_from_db()
    return row

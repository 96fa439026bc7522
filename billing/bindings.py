"""A licence's activation at its provider: made once the licence is ours, given back when its agent is gone."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from agents import entitlement
from agents.models import Agent, Desired
from billing import payments, remainders, revocations
from billing.errors import LicenceRefused
from billing.models import Subscription
from billing.models.subscriptions import LIVE
from billing.providers.base import LicenceDriver
from billing.providers.licence_http import AskedTooOften
from config.errors import Unavailable

log = logging.getLogger(__name__)

ACTOR = "billing"
AGAIN = timedelta(minutes=5)
# The name of an activation that may be there without our knowing its name; with a time, while it is being asked for.
UNCONFIRMED = "unconfirmed"


def bind(driver: LicenceDriver, row: Subscription, *, now: datetime) -> Subscription:
    """Activate a licence that has just become ours. A provider that is silent is asked again by its verification.

    Raises LicenceRefused when the provider refuses: somebody was quicker elsewhere, so it pays for nothing here.
    """
    if row.instance or _is_taken_over(row):
        return row
    if driver.counts_activations and not _claim(row, was="", now=now):
        return row
    try:
        return _activate(driver, row, was="", now=now)
    except LicenceRefused as refusal:
        _note(row, instance="")
        revocations.revoke(row.pk, reason=refusal.message, actor=ACTOR, now=now)
        raise


def complete(driver: LicenceDriver, row: Subscription, *, used: int | None, now: datetime) -> Subscription:
    """Activate what was not: nobody came to it, or its provider gave no answer.

    What may be activated already is left so, unless its provider says that no activation is `used`. A refusal may mean
    that a call worked whose answer nobody heard.
    """
    if not driver.counts_activations or not row.is_live or not _is_open(row, used=used, now=now):
        return row
    was = row.instance
    if not _claim(row, was=was, now=now):
        return row
    try:
        return _activate(driver, row, was=was, now=now)
    except LicenceRefused as refusal:
        log.error("a licence could not be activated", extra={"subscription": row.pk, "problem": refusal.message})
        return _note(row, instance=UNCONFIRMED)


def unconfirmed(rows: QuerySet[Subscription]) -> QuerySet[Subscription]:
    """Those that are over, and may have left an activation that nobody can give back by its name."""
    over = ~Q(status__in=LIVE) | Q(agent__desired=Desired.DELETED)
    return rows.filter(over, instance__startswith=UNCONFIRMED)


def _is_open(row: Subscription, *, used: int | None, now: datetime) -> bool:
    """Whether it may be asked for: no activation is known of, and nobody is just about to make one."""
    if not row.instance:
        return True
    since = row.instance.removeprefix(UNCONFIRMED).strip()
    if not row.instance.startswith(UNCONFIRMED) or used != 0:
        return False
    return not since or datetime.fromisoformat(since) + AGAIN <= now


def _claim(row: Subscription, *, was: str, now: datetime) -> bool:
    """Only one asks its provider, and leaves word before: who dies then is known to have perhaps activated it."""
    claim = f"{UNCONFIRMED} {now.isoformat(timespec='seconds')}"
    taken = Subscription.objects.filter(pk=row.pk, instance=was).update(instance=claim)
    row.refresh_from_db()
    return bool(taken)


@transaction.atomic
def _is_taken_over(row: Subscription) -> bool:
    """From an agent of ours that is gone: an activation of this licence whose name was never heard."""
    same = Subscription.objects.filter(provider=row.provider, external_ref=row.external_ref).exclude(pk=row.pk)
    before = unconfirmed(same).values_list("pk", flat=True)
    if not Subscription.objects.filter(pk__in=list(before)).update(instance=""):
        return False
    _note(row, instance=UNCONFIRMED)
    return True


def free(driver: LicenceDriver, rows: QuerySet[Subscription], *, now: datetime) -> None:
    """Give back what agents hold that are deleted, or for which the licence has expired. Raises Unavailable."""
    gone = Q(status__in=LIVE, agent__desired=Desired.DELETED)
    named = ~Q(instance="") & ~Q(instance__startswith=UNCONFIRMED)
    for row in rows.filter(gone | (~Q(status__in=LIVE) & named)).order_by("created_at")[:20]:
        release(driver, row, now=now, check_at=now + AGAIN)  # unless another agent has it by then


def unbind(driver: LicenceDriver, row: Subscription) -> None:
    """Give the activation back and go on: the next verification makes another. Raises Unavailable."""
    if _release_there(driver, row):
        _note(row, instance="")


def release(driver: LicenceDriver, row: Subscription, *, now: datetime, check_at: datetime | None) -> None:
    """Give the activation back; what a deleted agent held is over. Twice is harmless. Raises Unavailable.

    `check_at` is when its provider is asked again whether it was charged.
    """
    _release_there(driver, row)
    with transaction.atomic():
        agent = payments.locked(row.agent_id)
        row = Subscription.objects.select_for_update(of=("self",)).get(pk=row.pk)
        row.instance = UNCONFIRMED if row.instance.startswith(UNCONFIRMED) else ""
        row.save(update_fields=["instance"])
        if agent.desired == Desired.DELETED:
            if row.is_live:
                remainders.end_licence(agent, row, at=now, actor=ACTOR, now=now, note="its agent is deleted")
                Agent.objects.filter(pk=agent.pk).update(term_due_at=now)  # what was beside it is parked
            if agent.paid and not Subscription.objects.live().filter(agent=agent).exists():
                entitlement.withdraw(agent, until=now)  # its trial counts: the licence pays for another agent's
        _note(row, check_at=check_at, unknown_since=None)


def _release_there(driver: LicenceDriver, row: Subscription) -> bool:
    """One without a name stays, for the next agent of ours that this licence pays for."""
    if not row.instance or row.instance.startswith(UNCONFIRMED) or not row.license_key:
        return False
    driver.release(row.license_key, instance=row.instance)
    return True


def _activate(driver: LicenceDriver, row: Subscription, *, was: str, now: datetime) -> Subscription:
    """Without an answer the claim stands until a verification looks; when we held ourselves back, nothing was asked."""
    try:
        instance = driver.activate(row.license_key or "", agent_id=row.agent_id)
    except Unavailable as error:
        log.warning("a licence is not activated yet", extra={"subscription": row.pk, "problem": error.message})
        if not driver.counts_activations:
            return row
        instance = was if isinstance(error, AskedTooOften) else row.instance
        return _note(row, instance=instance, check_at=now + AGAIN)
    return _note(row, instance=instance) if instance else row


def _note(row: Subscription, **values: object) -> Subscription:
    Subscription.objects.filter(pk=row.pk).update(**values)
    row.refresh_from_db()
    return row

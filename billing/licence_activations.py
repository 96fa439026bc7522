"""The activation of a licence at its provider.

We activate a licence once it belongs to an agent here, and release the activation when that agent is deleted.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from agents import entitlement
from agents.models import Agent, Desired
from billing import dunning, revocations, unused_time
from billing.errors import LicenceRefused
from billing.models import Subscription
from billing.models.subscriptions import LIVE
from billing.providers.base import LicenceDriver
from billing.providers.licence_http import AskedTooOften
from config.errors import Unavailable

log = logging.getLogger(__name__)

ACTOR = "billing"
AGAIN = timedelta(minutes=5)
# `Subscription.instance` is this word when an activation may exist whose name we do not know. While a call to the
# provider is running, `activation_asked_at` says since when.
UNCONFIRMED = "unconfirmed"


def activate(driver: LicenceDriver, row: Subscription, *, now: datetime) -> Subscription:
    """Activate a licence that now belongs to this agent. If the provider gives no answer, verification asks again
    later.

    Raises LicenceRefused when the provider refuses: somebody else used the last activation first, so the licence is
    revoked here.
    """
    if row.instance or _is_taken_over(row):
        return row
    if driver.counts_activations and not _claim(row, now=now):
        return row
    try:
        return _ask(driver, row, was="", now=now)
    except LicenceRefused as refusal:
        _note(row, instance="", activation_asked_at=None)
        revocations.revoke(row.pk, reason=refusal.message, actor=ACTOR, now=now)
        raise


def activate_again(driver: LicenceDriver, row: Subscription, *, used: int | None, now: datetime) -> Subscription:
    """Activate a licence that is not activated yet, because no call was made or because the provider gave no answer.

    A licence that may already be activated stays as it is, unless the provider says that 0 activations are `used`. A
    refusal is only logged: an earlier call may have worked although its answer was lost.
    """
    if not driver.counts_activations or not row.is_live or not _is_open(row, used=used, now=now):
        return row
    was = row.instance
    if not _claim(row, now=now):
        return row
    try:
        return _ask(driver, row, was=was, now=now)
    except LicenceRefused as refusal:
        log.error("a licence could not be activated", extra={"subscription": row.pk, "problem": refusal.message})
        return _note(row, activation_asked_at=None)


def unconfirmed(rows: QuerySet[Subscription]) -> QuerySet[Subscription]:
    """Subscriptions that are over and may have left an activation that we cannot release: its name is unknown."""
    over = ~Q(status__in=LIVE) | Q(agent__desired=Desired.DELETED)
    return rows.filter(over, instance=UNCONFIRMED)


def _is_open(row: Subscription, *, used: int | None, now: datetime) -> bool:
    """Whether we may ask the provider for an activation: none is known, and no other process is asking for one now."""
    if not row.instance:
        return True
    if row.instance != UNCONFIRMED or used != 0:
        return False
    return row.activation_asked_at is None or row.activation_asked_at + AGAIN <= now


def _claim(row: Subscription, *, now: datetime) -> bool:
    """Write a claim before the provider is asked, so that only one process asks. Returns whether this process has it.

    After a crash, the claim shows that the licence may already be activated.
    """
    unclaimed = {"instance": row.instance, "activation_asked_at": row.activation_asked_at}
    taken = Subscription.objects.filter(pk=row.pk, **unclaimed).update(instance=UNCONFIRMED, activation_asked_at=now)
    row.refresh_from_db()
    return bool(taken)


@transaction.atomic
def _is_taken_over(row: Subscription) -> bool:
    """Take over an unnamed activation of the same licence from a deleted agent here. Returns whether there was one."""
    same = Subscription.objects.filter(provider=row.provider, external_ref=row.external_ref).exclude(pk=row.pk)
    before = unconfirmed(same).values_list("pk", flat=True)
    if not Subscription.objects.filter(pk__in=list(before)).update(instance="", activation_asked_at=None):
        return False
    _note(row, instance=UNCONFIRMED, activation_asked_at=None)
    return True


def release_unused(driver: LicenceDriver, rows: QuerySet[Subscription], *, now: datetime) -> None:
    """Release the activations of deleted agents and of expired licences. Raises Unavailable."""
    gone = Q(status__in=LIVE, agent__desired=Desired.DELETED)
    named = ~Q(instance__in=["", UNCONFIRMED])
    for row in rows.filter(gone | (~Q(status__in=LIVE) & named)).order_by("created_at")[:20]:
        release(driver, row, now=now, check_at=now + AGAIN)  # unless the licence pays for another agent by then


def deactivate(driver: LicenceDriver, row: Subscription) -> None:
    """Release the activation and keep the subscription: the next verification activates it again.

    Raises Unavailable.
    """
    if _release_there(driver, row):
        _note(row, instance="")


def release(driver: LicenceDriver, row: Subscription, *, now: datetime, check_at: datetime | None) -> None:
    """Release the activation. If the agent is deleted, its subscription ends too. Calling this twice is harmless.

    `check_at` is when the provider is asked again whether it charged the licence. Raises Unavailable.
    """
    _release_there(driver, row)
    with transaction.atomic():
        agent = Agent.objects.lock(row.agent_id)
        row = Subscription.objects.select_for_update(of=("self",)).get(pk=row.pk)
        row.instance, row.activation_asked_at = UNCONFIRMED if row.instance == UNCONFIRMED else "", None
        row.save(update_fields=["instance", "activation_asked_at"])
        if agent.desired == Desired.DELETED:
            if row.is_live:
                unused_time.end_licence(agent, row, at=now, actor=ACTOR, now=now, note="its agent is deleted")
                # so that the next step of the term parks the time bought beside the licence
                dunning.look_again(agent.pk, at=now)
            if agent.paid and not Subscription.objects.live().filter(agent=agent).exists():
                entitlement.withdraw(agent, until=now)  # its trial counts again: the licence pays for another agent now
        _note(row, check_at=check_at, unknown_since=None)


def _release_there(driver: LicenceDriver, row: Subscription) -> bool:
    """Release the activation at the provider. Returns False where there is none with a known name.

    An activation without a known name stays: the next agent here that this licence pays for takes it over.
    """
    if row.instance in {"", UNCONFIRMED} or not row.license_key:
        return False
    driver.release(row.license_key, instance=row.instance)
    return True


def _ask(driver: LicenceDriver, row: Subscription, *, was: str, now: datetime) -> Subscription:
    """Ask the provider for an activation. If it gives no answer, the claim stays until a verification asks again.

    If our own rate limit stopped the call, the claim is removed, since the provider was not asked.
    """
    try:
        instance = driver.activate(row.license_key or "", agent_id=row.agent_id)
    except Unavailable as error:
        log.warning("a licence is not activated yet", extra={"subscription": row.pk, "problem": error.message})
        if not driver.counts_activations:
            return row
        claim = {"instance": was, "activation_asked_at": None} if isinstance(error, AskedTooOften) else {}
        return _note(row, check_at=now + AGAIN, **claim)
    return _note(row, instance=instance, activation_asked_at=None) if instance else row


def _note(row: Subscription, **values: object) -> Subscription:
    Subscription.objects.filter(pk=row.pk).update(**values)
    row.refresh_from_db()
    return row

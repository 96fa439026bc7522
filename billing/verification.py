"""Ask a licence's provider whether it is paid: at the end of the paid time, daily, and hourly while it does not answer.

`Subscription.check_at` says when to ask next. A process leases a row before it asks, so two workers never ask about the
same licence. A provider that gives no answer means "unknown", never "unpaid".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts import throttling
from accounts.throttling import Limit
from agents import timeline
from agents.models import Agent, Desired, Reason
from billing import (
    dunning,
    licence_activations,
    licence_refunds,
    licences,
    payments,
    revocations,
    subscriptions,
    unplaced_charges,
)
from billing.errors import (
    AskedAlready,
    LicenceHeld,
    LicenceInUse,
    NotConfigured,
    NothingToVerify,
    OtherPlanByCard,
    TakenBack,
)
from billing.licences import CHECKED_EVERY, Key, Sold
from billing.models import Subscription
from billing.providers import registry
from billing.providers.base import LicenceDriver, ProviderAnswer, Verdict
from billing.term import UNKNOWN_MAX
from billing.vocabulary import LICENSED, Provider
from config import background
from config.crypto import UnreadableSecret
from config.errors import RateLimited, Unavailable

log = logging.getLogger(__name__)

BATCH = 30  # per provider and run: half of the calls per minute that we allow for a provider
SILENCES = 3  # per run; after so many missing answers the provider is asked again in the next run
LEASE = timedelta(minutes=5)
UNKNOWN_AGAIN, HELD_BACK_AGAIN = timedelta(hours=1), timedelta(minutes=1)
# Write the missing answer down a little before the term itself ends the paid time, so that grace counts from there.
LAST_WORD = timedelta(minutes=5)
# How long we ask about an expired licence: its card may still be charged, or a dispute be won.
REVIVED_WITHIN = timedelta(days=90)
HINTS = Limit(name="licence-hint", times=6, seconds=60, told=False)  # per licence: anybody can send hints
MAX_HINT = 200  # characters of a key or a reference
ACTOR = "billing"


def verify_due() -> int:
    """Verify every licence that is due, the longest overdue first. Returns how many were verified."""
    return sum(_verify_due_of(provider) for provider in sorted(LICENSED))


def _verify_due_of(provider: Provider) -> int:
    asked = silences = 0
    while asked < BATCH and silences < SILENCES:
        leased = _lease(Subscription.objects.filter(provider=provider), now=timezone.now())
        if leased is None:
            break
        asked += 1
        try:
            silences += _check(leased, now=timezone.now()) == ProviderAnswer.UNKNOWN
        except Exception:
            log.exception("a licence could not be verified", extra={"subscription": leased.pk})
    return asked


def verify(subscription_id: str, *, now: datetime) -> None:
    """Verify this licence if it is due: after a hint, or when an operator asks."""
    leased = _lease(Subscription.objects.filter(pk=subscription_id), now=now)
    if leased is not None:
        _check(leased, now=now)


@transaction.atomic
def ask(row: Subscription, *, reason: str, actor: str, now: datetime) -> None:
    """An operator asks to verify this licence now. Raises NothingToVerify, AskedAlready."""
    if row.provider not in LICENSED:
        raise NothingToVerify(row.pk)
    agent = Agent.objects.lock(row.agent_id)
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=row.pk)
    if row.check_at is not None and row.check_at <= now:
        raise AskedAlready(row.pk)
    words = f"subscription {row.pk} is verified now: {reason}"
    timeline.note(agent, words, reason=Reason.PAYMENT, actor=actor, now=now)
    hasten(row, now=now)


def ask_about(agent: Agent, *, reason: str, actor: str, now: datetime) -> None:
    """Ask about the licence that the agent has or had last."""
    row = _newest(Subscription.objects.filter(agent=agent, provider__in=LICENSED))
    if row is None:
        raise NothingToVerify(agent.pk)
    ask(row, reason=reason, actor=actor, now=now)


def hasten(row: Subscription, *, now: datetime) -> None:
    """Verify the licence as soon as our rate limit for its provider allows."""
    Subscription.objects.filter(pk=row.pk, provider__in=LICENSED).update(check_at=now)
    background.on_commit("billing.verify", row.pk)


def hint(
    provider: Provider, *, key: str, external_ref: str, card_ref: str = "", signed: bool = False, now: datetime
) -> None:
    """A callback says that a licence changed. We only ask its provider. Hints without a signature are rate limited."""
    rows = Subscription.objects.filter(provider=provider, agent__desired__in=[Desired.RUNNING, Desired.STOPPED])
    found = None
    if key:
        found = _newest(rows, license_fingerprint=Key(provider=provider, text=key).fingerprint)
    if found is None and external_ref:
        found = _newest(rows, external_ref=external_ref)
    if found is None and card_ref:
        found = _newest(rows, card_ref=card_ref)
    if found is None:
        return
    try:
        if not signed:
            throttling.spend(HINTS, by=found.pk, now=now)
    except RateLimited:
        return
    hasten(found, now=now)


def named(word: Mapping[str, Any]) -> dict[str, str]:
    """Which licence a callback is about: in Gumroad's form fields, or in Lemon Squeezy's object."""
    about = _inner(word.get("data", {}), "attributes")
    sold = word.get("subscription_id") or word.get("sale_id") or about.get("order_item_id")
    found = {
        "key": word.get("license_key") or about.get("key"),
        "external_ref": sold or _inner(about, "first_order_item").get("id"),
        "card_ref": about.get("subscription_id"),
    }
    return {name: str(value or "")[:MAX_HINT] for name, value in found.items()}


def _inner(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = found.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _newest(rows: QuerySet[Subscription], **known: str) -> Subscription | None:
    """The live row if there is one, otherwise the one that expired last."""
    return rows.filter(**known).order_by(F("expired_at").desc(nulls_first=True)).first()


@transaction.atomic
def _lease(rows: QuerySet[Subscription], *, now: datetime) -> Subscription | None:
    due = rows.filter(check_at__lte=now).order_by("check_at")
    row = due.select_for_update(skip_locked=True).first()
    if row is not None:
        row.check_at = now + LEASE
        row.save(update_fields=["check_at"])
    return row


def _check(row: Subscription, *, now: datetime) -> ProviderAnswer:
    if row.agent.desired == Desired.DELETED:
        return _let_go(row, now=now)
    try:
        driver = registry.licence_driver(Provider(row.provider or ""))
        verdict = driver.verify(row.license_key or "", now=now)
    except (NotConfigured, UnreadableSecret) as error:
        log.error("a licence cannot be verified", extra={"subscription": row.pk, "problem": error.message})
        return _unknown(row.pk, reason=error.message, now=now)
    except Unavailable:  # our own rate limit stopped the call
        Subscription.objects.filter(pk=row.pk).update(check_at=now + HELD_BACK_AGAIN)
        return ProviderAnswer.UNKNOWN
    return _settle(driver, row, verdict, now=now)


def _settle(driver: LicenceDriver, row: Subscription, verdict: Verdict, *, now: datetime) -> ProviderAnswer:
    if verdict.answer == ProviderAnswer.PAID and verdict.external_ref != row.external_ref:
        return _unknown(row.pk, reason="the key is of another purchase now", now=now)
    match verdict.answer:
        case ProviderAnswer.PAID:
            why = _paid(driver, row, verdict, now=now)
            if why is not None:
                licence_refunds.note(row, verdict, actor=ACTOR, now=now, unapplied=why)
        case ProviderAnswer.UNPAID:
            why = "" if row.is_live else unplaced_charges.WAS_OVER
            licence_refunds.note(row, verdict, actor=ACTOR, now=now, unapplied=why)
            _unpaid(row, verdict, now=now)
        case ProviderAnswer.UNKNOWN:
            _unknown(row.pk, reason=verdict.reason, now=now)
    return verdict.answer


def _paid(driver: LicenceDriver, row: Subscription, verdict: Verdict, *, now: datetime) -> str | None:
    """The licence is paid at its provider. Returns why it pays for nothing here, empty if it pays here.

    Returns None if it pays for another agent.
    """
    sold = _sold(row, verdict)
    try:
        received = licences.receive(row.agent_id, sold, actor=ACTOR, now=now)
    except LicenceInUse:  # verification asks about it there
        _ask_again(row, at=None if _pays_elsewhere(row) else now + CHECKED_EVERY)
        return None
    except TakenBack as refusal:
        log.warning("a paid licence does not pay again yet", extra={"subscription": row.pk, "problem": refusal.message})
        return _buys_nothing(row, sold, why=unplaced_charges.WAS_OVER, now=now)
    except OtherPlanByCard:  # until that card's subscription ends
        return _buys_nothing(row, sold, why=unplaced_charges.BY_CARD, now=now)
    except LicenceHeld:
        return _buys_nothing(row, sold, why=unplaced_charges.BY_LICENCE, now=now)
    licence_activations.activate_again(driver, received.subscription, used=verdict.used, now=now)
    return ""


def _sold(row: Subscription, verdict: Verdict) -> Sold:
    return Sold(key=Key(provider=Provider(row.provider or ""), text=row.license_key or ""), verdict=verdict)


def _buys_nothing(row: Subscription, sold: Sold, *, why: str, now: datetime) -> str:
    """Write the charge that buys nothing, and ask again tomorrow: the provider may go on charging."""
    unplaced_charges.note(row, sold, why=why, now=now)
    _seen_paid(row, now=now)
    _ask_again(row, at=now + CHECKED_EVERY)
    return why


def _seen_paid(row: Subscription, *, now: datetime) -> None:
    Subscription.objects.filter(pk=row.pk).update(paid_seen_at=now)


def _ask_again(row: Subscription, *, at: datetime | None) -> None:
    Subscription.objects.filter(pk=row.pk).update(check_at=at, unknown_since=None)


@transaction.atomic
def _unpaid(row: Subscription, verdict: Verdict, *, now: datetime) -> None:
    """End the licence, then set when to ask again. In this order, since ending it clears `check_at`."""
    row = _over(row, verdict, now=now)
    row.unknown_since = None
    row.check_at = _again(row, now=now)
    row.save(update_fields=["unknown_since", "check_at"])


def _over(row: Subscription, verdict: Verdict, *, now: datetime) -> Subscription:
    """End the licence now if the provider says that it is over.

    If the provider only does not know the key, the key may have been replaced: the licence then ends with its paid
    time.
    """
    if not verdict.revoked and subscriptions.licensed_until(row) > now:
        return row
    return revocations.revoke(
        row.pk, reason=verdict.reason, actor=ACTOR, now=now, went_back=verdict.went_back, failed=verdict.failed
    )


def _again(row: Subscription, *, now: datetime) -> datetime | None:
    if row.is_live:
        ends = [end for end in (subscriptions.licensed_until(row), row.current_period_end) if end > now]
        return min([*ends, now + CHECKED_EVERY])
    return now + CHECKED_EVERY if now < _paid_last(row, now=now) + REVIVED_WITHIN else None


def _paid_last(row: Subscription, *, now: datetime) -> datetime:
    """When it ended here, or when its provider was last seen to charge it after that."""
    ended = row.expired_at or now
    return max(ended, row.paid_seen_at or ended)


@transaction.atomic
def _unknown(subscription_id: str, *, reason: str, now: datetime) -> ProviderAnswer:
    """The provider gave no answer: the licence stays paid for seven days after its end, then it expires.

    Its agent is not deleted until there is an answer.
    """
    agent = Agent.objects.lock(Subscription.objects.values_list("agent_id", flat=True).get(pk=subscription_id))
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=subscription_id)
    since = row.unknown_since or now
    log.error("no answer about a licence", extra={"subscription": row.pk, "reason": reason, "since": since.isoformat()})
    given_up = row.current_period_end + UNKNOWN_MAX
    if row.is_live and now >= given_up - LAST_WORD:
        note = f"no answer of its provider for {UNKNOWN_MAX.days} days"
        subscriptions.expire(agent, row, at=given_up, actor=ACTOR, now=now, note=note, cut=False)
        dunning.settle(agent, now=now)
    row.unknown_since = since
    row.check_at = now + UNKNOWN_AGAIN
    if row.is_live:
        row.check_at = min(row.check_at, max(now + LAST_WORD, given_up - LAST_WORD))
    row.save(update_fields=["unknown_since", "check_at"])
    return ProviderAnswer.UNKNOWN


def _let_go(row: Subscription, *, now: datetime) -> ProviderAnswer:
    """The agent is deleted: release the key for another agent. Ask the provider as long as it goes on charging."""
    try:
        driver = registry.licence_driver(Provider(row.provider or ""))
        answer, again = _still_charged(driver, row, now=now)
        licence_activations.release(driver, row, now=now, check_at=again)
    except (NotConfigured, Unavailable, UnreadableSecret) as error:
        log.warning("a licence could not be released", extra={"subscription": row.pk, "problem": error.message})
        _ask_again(row, at=now + UNKNOWN_AGAIN)
        return ProviderAnswer.UNKNOWN
    return answer


def _still_charged(
    driver: LicenceDriver, row: Subscription, *, now: datetime
) -> tuple[ProviderAnswer, datetime | None]:
    """The provider's answer about a deleted agent's licence, and when to ask again.

    Writes charges and refunds to the ledger.
    """
    if _pays_elsewhere(row):
        return ProviderAnswer.UNPAID, None
    verdict = driver.verify(row.license_key or "", now=now)
    match verdict.answer:
        case ProviderAnswer.UNKNOWN:
            return ProviderAnswer.UNKNOWN, _again(row, now=now)
        case ProviderAnswer.UNPAID:
            licence_refunds.note(row, verdict, actor=ACTOR, now=now, unapplied=payments.DELETED)
            return ProviderAnswer.UNPAID, _again(_over_leased(row, verdict, now=now), now=now)
    if verdict.external_ref != row.external_ref:
        return ProviderAnswer.UNPAID, None
    unplaced_charges.note(row, _sold(row, verdict), why=payments.DELETED, now=now)
    _seen_paid(row, now=now)
    licence_refunds.note(row, verdict, actor=ACTOR, now=now, unapplied=payments.DELETED)
    return ProviderAnswer.PAID, now + CHECKED_EVERY


@transaction.atomic
def _over_leased(row: Subscription, verdict: Verdict, *, now: datetime) -> Subscription:
    """End the licence, and keep the lease. After a crash another worker releases the activation when the lease ends."""
    row = _over(row, verdict, now=now)
    Subscription.objects.filter(pk=row.pk).update(check_at=now + LEASE)
    return row


def _pays_elsewhere(row: Subscription) -> bool:
    same = Subscription.objects.live().filter(provider=row.provider, external_ref=row.external_ref)
    return same.exclude(pk=row.pk).exists()

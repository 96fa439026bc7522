"""A licence key pays for an agent: first verified without side effects, then stored here, then activated at its
provider.

In this order a lost race uses up no activation. The purchase is identified by the provider's own reference, which stays
the same when the key is replaced; the key is identified by its fingerprint. Both are unique in the database.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from accounts import throttling
from accounts.throttling import Limit
from agents.errors import NoSuchAgent
from agents.models import Agent, Desired
from billing import (
    dunning,
    licence_activations,
    licence_charges,
    orders,
    payments,
    prices,
    subscriptions,
    tried_licences,
    unplaced_charges,
)
from billing.errors import LicenceInUse, LicenceRefused, OtherPlanPaid, TakenBack
from billing.licence_charges import SAME_CHARGE
from billing.models import Subscription
from billing.models.subscriptions import LIVE
from billing.payments import Receipt
from billing.providers import reasons, registry
from billing.providers.base import ProviderAnswer, Verdict
from billing.subscriptions import Licence, Purchase
from billing.vocabulary import PaymentKind, Period, Provider, SubscriptionStatus
from catalog.engines import check_tier, engine_of
from catalog.tiers import tier_of
from config import crypto, dry_run, waiting
from config.errors import Unavailable

log = logging.getLogger(__name__)

ACTIVATIONS = Limit(name="licence-activation", times=10, seconds=3600)  # per account
CHECKED_EVERY = timedelta(days=1)
CENTS = 100
_RESTORED = PaymentKind.RESTORED, "its provider says that it is paid again"
MOVES = {PaymentKind.KEY_MOVE, PaymentKind.NEW_PLAN, PaymentKind.RESTORED}  # nothing is charged for these


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as the buyer typed it."""

    provider: Provider
    text: str

    @property
    def fingerprint(self) -> str:
        """A digest of the key. Spaces and upper or lower case do not change it."""
        return crypto.keyed_digest(f"licence:{self.provider}:{''.join(self.text.split()).casefold()}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sold:
    """A key, and the provider's answer about it."""

    key: Key
    verdict: Verdict

    @property
    def till(self) -> datetime:
        if self.verdict.till is None:
            raise ValueError("paid without an end")
        return self.verdict.till

    @property
    def name(self) -> str:
        """The ledger's name of this charge: the provider's reference and the day until which it pays."""
        return f"{self.verdict.external_ref}:{self.till:%Y-%m-%d}"

    @property
    def is_free(self) -> bool:
        """Whether its provider says that nothing was charged."""
        return self.verdict.price_usd == 0

    @property
    def cents(self) -> int | None:
        """The amount charged, in US cents. None if it was nothing or in another currency."""
        return int(self.verdict.price_usd * CENTS) if self.verdict.price_usd else None

    def purchase(self) -> Purchase:
        verdict = self.verdict
        if verdict.period is None:
            raise ValueError("paid without a period")
        usd = verdict.price_usd
        return Purchase(
            provider=self.key.provider,
            tier=verdict.tier,
            period=verdict.period,
            price_usd=prices.price_of(tier_of(verdict.tier), verdict.period) if usd is None else usd,
            tier_snapshot=prices.snapshot_of(verdict.tier, verdict.period),
            licence=Licence(
                key=self.key.text,
                fingerprint=self.key.fingerprint,
                external_ref=verdict.external_ref,
                till=self.till,
            ),
        )


@dataclass(frozen=True, slots=True)
class StoredLicence:
    subscription: Subscription
    new: bool  # whether this call changed anything: of several parallel calls, one does


def activate(
    agent: Agent, key: Key, *, tier: str | None, period: Period | None, actor: str, now: datetime
) -> Subscription:
    """Let the key pay for the agent. Doing it again for the same agent changes nothing.

    Raises NotConfigured, LicenceInUse, LicenceHeld, LicenceRefused, OtherPlanPaid, OtherPlanByCard, EngineBelowMinTier,
    RateLimited, and Unavailable when the provider gives no answer.
    """
    driver = registry.licence_driver(key.provider)
    _refuse_used(agent, key)
    throttling.spend(ACTIVATIONS, by=agent.user_id, now=now)
    if dry_run.skips(tried_licences.UNASKED):
        return tried_licences.subscription_by(
            agent, key.provider, key.text, key.fingerprint, tier=tier, period=period, now=now
        )
    with waiting.turns.take(agent.user_id):
        licence_activations.release_unused(
            driver, _elsewhere(agent, key).filter(license_fingerprint=key.fingerprint), now=now
        )
        waiting.release_connection()
        verdict = paid(driver.verify(key.text, now=now))
        _refuse_other_plan(verdict, tier=tier, period=period)
        check_tier(engine_of(agent.engine), tier_of(verdict.tier))
        orders.refuse_beside_card(agent, verdict.tier)
        _refuse_exhausted(agent, key, verdict)
        licence_activations.release_unused(
            driver, _elsewhere(agent, key).filter(external_ref=verdict.external_ref), now=now
        )
        received = receive(agent.pk, Sold(key=key, verdict=verdict), actor=actor, now=now)
        if received.new:
            return licence_activations.activate(driver, received.subscription, now=now)
        return licence_activations.activate_again(driver, received.subscription, used=verdict.used, now=now)


def receive(agent_id: str, sold: Sold, *, actor: str, now: datetime, reason: str = "") -> StoredLicence:
    """Store the licence for the agent, or add what is new of it. `reason` is the reason of an operator who moves it.

    Raises LicenceInUse, LicenceHeld, OtherPlanByCard, TakenBack, NoSuchAgent.
    """
    try:
        return _receive(agent_id, sold, actor=actor, now=now, moved=reason)
    except IntegrityError as error:  # another agent was first: unique indexes let a licence pay for one agent only
        raise LicenceInUse from error


@transaction.atomic
def _receive(agent_id: str, sold: Sold, *, actor: str, now: datetime, moved: str) -> StoredLicence:
    agent = Agent.objects.lock(agent_id)
    if agent.desired == Desired.DELETED:
        raise NoSuchAgent
    row = Subscription.objects.filter(
        agent=agent, provider=sold.key.provider, external_ref=sold.verdict.external_ref
    ).first()
    if row is None or not row.is_live:
        orders.refuse_beside_card(agent, sold.verdict.tier)
    receipt = _receipt(agent, row, sold, actor=actor, moved=moved)
    if receipt is not None:
        payment = payments.apply_payment(receipt, now=now)
        if payment.subscription is None or payment.agent_id != agent.pk:
            raise LicenceInUse
        row = payment.subscription
        unplaced_charges.place(sold, by=payment, now=now)
    if row is None:
        raise ValueError("a licence without its subscription")
    row = _mirror_cancellation(Agent.objects.lock(agent_id), row, sold.verdict, now=now)
    _note_paid(row, sold, now=now)
    _forget_elsewhere(row)
    return StoredLicence(row, new=receipt is not None)


def _receipt(agent: Agent, row: Subscription | None, sold: Sold, *, actor: str, moved: str) -> Receipt | None:
    """The receipt for the part that is new. None when the provider says nothing new."""
    name = licence_charges.next_name(sold)
    new = _new_of_live(row, sold) if row is not None and row.is_live else _new_of_other(agent, row, sold, moved=moved)
    if new is None:
        return None
    kind, reason = new
    is_move = kind in MOVES
    cents = None if is_move else sold.cents
    return Receipt(
        provider=sold.key.provider,
        external_id=licence_charges.move_name(sold, agent) if is_move else name,
        kind=kind,
        agent_id=agent.pk,
        purchase=sold.purchase(),
        amount=cents,
        currency="usd" if cents else "",
        actor=actor,
        reason=reason,
    )


def _new_of_live(row: Subscription, sold: Sold) -> tuple[PaymentKind, str] | None:
    """What is new for a live subscription. An end that is only a few days later is not another charge."""
    until = subscriptions.licensed_until(row)
    if sold.till >= until + SAME_CHARGE:
        return _RESTORED if licence_charges.is_known(sold) else (PaymentKind.RENEWAL, "")
    if (row.tier, row.period) != (sold.verdict.tier, sold.verdict.period):
        return PaymentKind.NEW_PLAN, f"was {row.tier}, {row.period}"
    if row.license_fingerprint != sold.key.fingerprint:
        return PaymentKind.KEY_MOVE, "the provider gave this licence another key"
    return (PaymentKind.RESTORED, "its provider gives a later end of the charged time") if sold.till > until else None


def _new_of_other(agent: Agent, row: Subscription | None, sold: Sold, *, moved: str) -> tuple[PaymentKind, str]:
    """What is new for a licence that does not pay for this agent now. Each charge of the provider is written once."""
    _refuse_taken_back(sold)
    if not licence_charges.is_known(sold):
        return PaymentKind.PAYMENT if row is None else PaymentKind.RENEWAL, moved
    if was := licence_charges.told_otherwise(sold):
        return PaymentKind.NEW_PLAN, moved or f"was {was}"
    before = licence_charges.charged_for(sold)
    if row is None or moved or before != agent.pk:
        return PaymentKind.KEY_MOVE, moved or f"the licence moved from {before}, where it is over"
    return _RESTORED


def _refuse_taken_back(sold: Sold) -> None:
    """Refuse a licence whose charge for this period an operator refunded, or gave days for: the provider may not know.

    The key pays again from its next period on. Raises TakenBack.
    """
    charged = licence_charges.of_period(sold)
    if (charged and licence_charges.was_returned_by_hand(charged[-1])) or unplaced_charges.was_decided(sold):
        raise TakenBack


def _mirror_cancellation(agent: Agent, row: Subscription, verdict: Verdict, *, now: datetime) -> Subscription:
    """Copy the cancellation from the provider. What the owner cancelled only here stays cancelled until a renewal."""
    if verdict.cancels:
        row.cancels_there = True
        if row.status == SubscriptionStatus.ACTIVE:
            row = subscriptions.cancel(agent, row, actor=row.provider or "", now=now)
            dunning.settle(agent, now=now)  # from now on the owner is reminded before the end
    elif row.cancels_there:
        row.cancels_there = False
        if row.status == SubscriptionStatus.CANCELED:
            return subscriptions.reinstate(agent, row, actor=row.provider or "", now=now)
    return row


def _note_paid(row: Subscription, sold: Sold, *, now: datetime) -> None:
    row.paid_seen_at, row.unknown_since = now, None
    row.card_ref = sold.verdict.card_ref or row.card_ref
    row.check_at = min(sold.till, now + CHECKED_EVERY)
    row.save(update_fields=["paid_seen_at", "unknown_since", "check_at", "cancels_there", "card_ref"])


def _forget_elsewhere(row: Subscription) -> None:
    """Stop the checks of this licence on the agents that had it before."""
    before = Subscription.objects.filter(provider=row.provider, external_ref=row.external_ref).exclude(pk=row.pk)
    before.exclude(check_at=None, unknown_since=None).update(check_at=None, unknown_since=None)


# Checks before the licence is stored.


def _elsewhere(agent: Agent, key: Key) -> QuerySet[Subscription]:
    return Subscription.objects.filter(provider=key.provider).exclude(agent=agent).select_related("agent")


def _refuse_used(agent: Agent, key: Key) -> None:
    held = _elsewhere(agent, key).filter(license_fingerprint=key.fingerprint, status__in=LIVE)
    if held.exclude(agent__desired=Desired.DELETED).exists():
        raise LicenceInUse


def _refuse_exhausted(agent: Agent, key: Key, verdict: Verdict) -> None:
    """Refuse a licence with no activation left, unless we used it: the key was entered again, or an answer was lost."""
    if not verdict.exhausted:
        return
    ours = Subscription.objects.filter(provider=key.provider, external_ref=verdict.external_ref)
    held = ours.filter(Q(status__in=LIVE) | ~Q(instance=""), agent=agent)
    if not held.exists() and not licence_activations.unconfirmed(ours).exists():
        raise LicenceRefused(reasons.USED_UP)


def paid(verdict: Verdict) -> Verdict:
    """The verdict, if it says paid. Raises LicenceRefused if unpaid, Unavailable if the provider does not say."""
    if verdict.answer == ProviderAnswer.UNKNOWN:
        raise Unavailable(
            f"licenseKey: its provider does not answer ({verdict.reason}): try again soon", retry_after=30
        )
    if verdict.answer == ProviderAnswer.UNPAID:
        raise LicenceRefused(verdict.reason)
    return verdict


def _refuse_other_plan(verdict: Verdict, *, tier: str | None, period: Period | None) -> None:
    if tier is not None and tier != verdict.tier:
        raise OtherPlanPaid("tier", tier, verdict.tier)
    if period is not None and period != verdict.period:
        raise OtherPlanPaid("period", period, str(verdict.period))

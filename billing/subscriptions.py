"""STATE MACHINE of a subscription: active, canceled, expired; what money does to it, and what time and people do.

Everything here runs in the transaction of a caller who holds the agent's lock, so one agent's subscriptions change one
after the other (facts: billing 6, lock order). Money comes in through billing/payments.py alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from agents.models import Agent, Reason, Transition
from billing import periods, prices, standing, term
from billing.errors import AlreadyExpired, IllegalMove, LicenceHeld, NeverEnds
from billing.models import Subscription
from billing.vocabulary import CONFIRMED, FOREVER, LICENSED, Period, Provider, SubscriptionStatus
from catalog.tiers import tier_of

ACTIVE, CANCELED, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED

MOVES: dict[SubscriptionStatus, set[SubscriptionStatus]] = {
    ACTIVE: {CANCELED, EXPIRED},
    CANCELED: {ACTIVE, EXPIRED},
    EXPIRED: {ACTIVE},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """What a licence is known by. `till` is until when its provider says that it is paid."""

    key: str
    fingerprint: str
    external_ref: str
    till: datetime
    instance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """What was bought: a period of a plan or, by licence, until its provider's date."""

    provider: Provider | None
    tier: str
    period: Period
    price_usd: Decimal
    tier_snapshot: dict[str, Any]
    licence: Licence | None = None
    length: timedelta | None = None  # a manual credit's, instead of a period


@dataclass(frozen=True, slots=True)
class Bought:
    subscription: Subscription
    converted: timedelta = field(default=timedelta(0))


def licence_of(agent: Agent) -> Subscription | None:
    """The licence that pays for the agent. While it lives no other one can, and only its provider changes the plan."""
    return Subscription.objects.live().filter(agent=agent, provider__in=LICENSED).first()


def buy(agent: Agent, purchase: Purchase, *, actor: str, now: datetime) -> Bought:
    """A new subscription, or more of the one there is.

    Time left of another plan is converted (design: Billing). What a licence pays for is never converted, since its key
    stays good at its provider: whatever is bought beside it is added to it. Raises LicenceHeld.
    """
    current = Subscription.objects.paid().select_for_update(no_key=True).filter(agent=agent).first()
    if purchase.licence:
        return _license(agent, purchase, purchase.licence, current, actor=actor, now=now)
    if current and current.is_licensed:
        return _add_beside(agent, current, purchase, actor=actor, now=now)
    if current and current.tier == purchase.tier:
        return _extend(agent, current, purchase, actor=actor, now=now)
    return _open(agent, purchase, current, actor=actor, now=now)


def _open(agent: Agent, purchase: Purchase, current: Subscription | None, *, actor: str, now: datetime) -> Bought:
    converted = _convert(agent, current, purchase, actor=actor, now=now)
    row = _new(agent, purchase, now=now, until=_later(now, purchase, anchor_day=now.day) + converted)
    if converted or purchase.length is not None:
        row.anchor_day = row.current_period_end.day
    return Bought(_activate(agent, row, actor=actor, now=now), converted)


def _extend(agent: Agent, row: Subscription, purchase: Purchase, *, actor: str, now: datetime) -> Bought:
    """More of the same plan, after what is paid already (facts: billing 7.63).

    The day of the month is kept along a run of plain renewals alone. Where the end was moved, by a suspension, by days
    that an operator gave, or since all was over though no worker had noticed, a new run begins there: on the day of the
    old one a month could be of one day, or of sixty.
    """
    end = max(now, end_of(row, now=now))
    if end != row.current_period_end:
        row.anchor_day = end.day
    row.current_period_end = _later(end, purchase, anchor_day=row.anchor_day)
    if purchase.length is not None:
        row.anchor_day = row.current_period_end.day
    row.counted_at = now
    row.provider = purchase.provider or row.provider
    if purchase.length is None:  # days that an operator credits are no other plan
        row.period, row.price_usd, row.tier_snapshot = purchase.period, purchase.price_usd, purchase.tier_snapshot
    return Bought(_activate(agent, row, actor=actor, now=now))


def _add_beside(agent: Agent, row: Subscription, purchase: Purchase, *, actor: str, now: datetime) -> Bought:
    bought = _later(now, purchase, anchor_day=now.day) - now
    converted = timedelta(0)
    if row.tier != purchase.tier:
        usd = {"old_usd": purchase.price_usd, "new_usd": row.price_usd}
        bought = converted = periods.converted(bought, **usd, old=purchase.period, new=Period(row.period))
    bought += max(timedelta(0), now - row.current_period_end)  # what is bought begins now, whoever is asked late
    row.extra += bought
    row.current_period_end += bought
    row.counted_at = now
    return Bought(_activate(agent, row, actor=actor, now=now), converted)


def _license(
    agent: Agent, purchase: Purchase, licence: Licence, current: Subscription | None, *, actor: str, now: datetime
) -> Bought:
    row = Subscription.objects.filter(
        agent=agent, provider=purchase.provider, external_ref=licence.external_ref
    ).first() or _new(agent, purchase, now=now, until=licence.till)
    converted = timedelta(0)
    if current and current.pk != row.pk:
        if current.is_licensed:
            raise LicenceHeld(current)
        converted = _convert(agent, current, purchase, actor=actor, now=now)
    row.tier, row.period = purchase.tier, purchase.period
    row.price_usd, row.tier_snapshot = purchase.price_usd, purchase.tier_snapshot
    row.license_key, row.license_fingerprint = licence.key, licence.fingerprint
    row.external_ref, row.instance = licence.external_ref, licence.instance or row.instance
    if row.status == EXPIRED:
        row.extra, row.current_period_end = converted, licence.till + converted
    else:  # never shortened but by a definite refund (facts: billing 6)
        row.extra += converted
        row.current_period_end = max(licence.till + row.extra, row.current_period_end + converted)
    row.counted_at = row.paid_seen_at = now
    row.unknown_since = None
    return Bought(_activate(agent, row, actor=actor, now=now), converted)


def _convert(agent: Agent, old: Subscription | None, purchase: Purchase, *, actor: str, now: datetime) -> timedelta:
    """End the old plan now; returns what its remainder is worth of the new one."""
    if old is None:
        return timedelta(0)
    left = max(timedelta(0), end_of(old, now=now) - now)
    expire(agent, old, at=now, actor=actor, now=now, note="another plan was bought")
    usd, period = _cheapest(old)
    return periods.converted(left, old_usd=usd, old=period, new_usd=purchase.price_usd, new=purchase.period)


def _cheapest(row: Subscription) -> tuple[Decimal, Period]:
    """What a day of it cost at least: years and months of one plan, bought one after the other, differ."""
    paid = row.payments.filter(kind__in=CONFIRMED, price_usd__gt=0).values_list("price_usd", "period")
    known = [(usd, Period(period)) for usd, period in paid if usd is not None]
    if not known:  # an operator's credit cost nothing, and is worth what its plan is sold for
        period = Period(row.period)
        return row.price_usd or prices.price_of(tier_of(row.tier), period), period
    return min(known, key=lambda one: one[0] / periods.MONTHS[one[1]])


def grant(agent: Agent, purchase: Purchase, *, actor: str, now: datetime) -> Subscription:
    """An internal subscription: without an end, beside whatever is paid. Granting twice is one grant."""
    row = Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).first()
    if row is not None:
        return row
    return _activate(agent, _new(agent, purchase, now=now, until=FOREVER), actor=actor, now=now)


def cancel(agent: Agent, row: Subscription, *, actor: str, now: datetime) -> Subscription:
    """No renewal; it can be used until its end. Raises AlreadyExpired, NeverEnds."""
    if row.is_internal:
        raise NeverEnds(row)
    if row.status == EXPIRED:
        raise AlreadyExpired(row)
    if row.status == CANCELED:
        return row
    row.canceled_at = now
    return _move(agent, row, CANCELED, actor=actor, now=now)


def reinstate(agent: Agent, row: Subscription, *, actor: str, now: datetime) -> Subscription:
    """Its provider takes the cancellation back: it renews again."""
    return _activate(agent, row, actor=actor, now=now)


def expire(
    agent: Agent, row: Subscription, *, at: datetime, actor: str, now: datetime, note: str, cut: bool = True
) -> Subscription:
    """Payment stopped verifying `at` that time. `cut` ends the paid time there too."""
    row.expired_at, row.check_at, row.unknown_since = at, None, None
    if cut:
        row.current_period_end = min(row.current_period_end, at)
    return _move(agent, row, EXPIRED, actor=actor, now=now, note=note)


def expire_ended(agent: Agent, *, now: datetime) -> None:
    """What nobody renews, and has ended. Of licences the provider is asked first (billing/verification.py)."""
    for row in Subscription.objects.paid().filter(agent=agent).exclude(provider__in=LICENSED):
        end = end_of(row, now=now)
        if end <= now:
            expire(agent, row, at=end, actor="billing", now=now, note="its time is over", cut=False)


def end_of(row: Subscription, *, now: datetime) -> datetime:
    """Until when it is paid, with what suspensions gave back."""
    return term.ends(standing.bought(row), standing.pauses(row.user_id), now=now)


def _later(start: datetime, purchase: Purchase, *, anchor_day: int) -> datetime:
    if purchase.length is not None:
        return start + purchase.length
    return periods.end_of(start, purchase.period, anchor_day=anchor_day)


def _new(agent: Agent, purchase: Purchase, *, now: datetime, until: datetime) -> Subscription:
    return Subscription(
        user_id=agent.user_id,
        agent=agent,
        tier=purchase.tier,
        period=purchase.period,
        price_usd=purchase.price_usd,
        tier_snapshot=purchase.tier_snapshot,
        provider=purchase.provider,
        current_period_end=until,
        created_at=now,
        counted_at=now,
        anchor_day=now.day,
    )


def _activate(agent: Agent, row: Subscription, *, actor: str, now: datetime) -> Subscription:
    row.canceled_at = row.expired_at = None
    return _move(agent, row, ACTIVE, actor=actor, now=now)


@transaction.atomic(savepoint=False)
def _move(
    agent: Agent, row: Subscription, to: SubscriptionStatus, *, actor: str, now: datetime, note: str = ""
) -> Subscription:
    """The only place that assigns a status: refuse, change, record."""
    fresh = row._state.adding  # noqa: SLF001 # Django's public way to tell
    before = SubscriptionStatus(row.status)
    if not fresh and to != before and to not in MOVES[before]:
        raise IllegalMove(f"{row.id}: {before} to {to}")
    row.status = to
    row.save(force_insert=fresh)
    came = "new" if fresh else before.value
    words = f"subscription {row.id} {came} to {to}, until {row.current_period_end:%Y-%m-%d %H:%M} UTC"
    Transition.objects.create(
        agent=agent,
        from_status=agent.status,
        to_status=agent.status,
        reason=Reason.PAYMENT,
        actor=actor,
        note=f"{words}: {note}" if note else words,
        at=now,
    )
    return row

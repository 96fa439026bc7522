"""STATE MACHINE of a subscription: active, canceled, expired. How payments, time and people change it.

Everything here runs in the transaction of a caller who holds the agent's lock, so the subscriptions of one agent change
one after the other. Locks are taken in the order agent, then subscription. Payments come only through
billing/payments.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.db import transaction

from agents import timeline
from agents.models import Agent, Reason
from billing import agent_terms, next_plans, periods, spans, term
from billing.errors import AlreadyExpired, LicenceHeld, NeverEnds
from billing.models import Order, Payment, Subscription
from billing.spans import SoldPlan, Unused, UnusedTime
from billing.vocabulary import FOREVER, LICENSED, Period, Provider, SubscriptionStatus
from config import states

FREE = Decimal(0)
ACTIVE, CANCELED, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED

TRANSITIONS: dict[SubscriptionStatus, set[SubscriptionStatus]] = {
    ACTIVE: {CANCELED, EXPIRED},
    CANCELED: {ACTIVE, EXPIRED},
    EXPIRED: {ACTIVE},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """How a licence is identified. `till` is until when its provider says that it is paid."""

    key: str
    fingerprint: str
    external_ref: str
    till: datetime
    instance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """What was bought: one period of a plan, or for a licence the time until the provider's date."""

    provider: Provider | None
    tier: str
    period: Period
    price_usd: Decimal
    tier_snapshot: dict[str, Any] = field(default_factory=dict)
    licence: Licence | None = None
    length: timedelta | None = None  # set for days that an operator credits, instead of a period
    follows: bool = False  # True for a card's renewal, which is charged a little after the last period ended

    @classmethod
    def of(cls, payment: Payment, *, provider: Provider | None = None, price_usd: Decimal = FREE) -> Purchase:
        """The plan of this payment, for a row of the ledger that tells what became of its money."""
        return cls(provider=provider, tier=payment.tier, period=Period(payment.period), price_usd=price_usd)

    @classmethod
    def as_in(
        cls, row: Order | Subscription, *, provider: Provider | None, price_usd: Decimal | None = None
    ) -> Purchase:
        """The plan of this order or subscription, at its price or at the given one."""
        return cls(
            provider=provider,
            tier=row.tier,
            period=Period(row.period),
            price_usd=row.price_usd if price_usd is None else price_usd,
            tier_snapshot=row.tier_snapshot or {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseOutcome:
    """What a purchase makes of the agent's paid time."""

    subscription: Subscription  # with its new values, which `buy` writes
    rests: Sequence[UnusedTime]  # its unused time from `start` on
    start: datetime
    taken: Unused | None  # where that time was
    replaced: Subscription | None = None  # the subscription that ends
    drops_next_plan: bool = False
    converted: timedelta = timedelta(0)  # the time that came from another plan


def licence_of(agent: Agent) -> Subscription | None:
    """The licence that pays for the agent.

    While it is live, no other licence can, and the plan changes only at its provider.
    """
    return Subscription.objects.live().filter(agent=agent, provider__in=LICENSED).first()


def licensed_until(row: Subscription) -> datetime:
    """Until when the licence's provider said that it is paid, without the time bought beside it."""
    return row.current_period_end - row.extra


def buy(agent: Agent, purchase: Purchase, *, actor: str, now: datetime) -> PurchaseOutcome:
    """Write the outcome of a purchase. Raises LicenceHeld."""
    current = Subscription.objects.paid().select_for_update(no_key=True).filter(agent=agent).first()
    made = outcome(agent, purchase, current, now=now)
    if made.taken:
        made.taken.remove()
    if made.replaced:
        expire(agent, made.replaced, at=now, actor=actor, now=now, note="another plan was bought")
    if made.drops_next_plan:
        next_plans.forget(agent, now=now)
    activate(agent, made.subscription, actor=actor, now=now)
    spans.lay(made.subscription, made.rests, start=made.start)
    return made


def outcome(agent: Agent, purchase: Purchase, current: Subscription | None, *, now: datetime) -> PurchaseOutcome:
    """A new subscription, or more time on the `current` one. Paid time begins after the free days.

    The rest of another plan is converted (billing/spans.py). A licence's time is never converted, since its key stays
    valid at the provider: time that is bought beside it runs after it. Writes nothing. Raises LicenceHeld.
    """
    if purchase.licence:
        return _license(agent, purchase, purchase.licence, current, now=now)
    if current and current.is_licensed:
        return _add_beside(current, purchase, now=now)
    if current and current.tier == purchase.tier:
        return _extend(agent, current, purchase, now=now)
    return _open(agent, purchase, current, now=now)


def _open(agent: Agent, purchase: Purchase, current: Subscription | None, *, now: datetime) -> PurchaseOutcome:
    start, anchor_day = _first_day(agent, purchase, current, now=now)
    end = _later(start, purchase, anchor_day=anchor_day)
    taken = spans.unused(current, now=now) if current else None
    carried = _carried(current, taken, _plan(purchase))
    row = new(agent, _plan(purchase), purchase.provider, purchase.price_usd, now=now, until=end + spans.total(carried))
    row.anchor_day = anchor_day
    if spans.total(carried) or purchase.length is not None:
        row.anchor_day = row.current_period_end.day
    return PurchaseOutcome(
        subscription=row,
        rests=[_rest(purchase, end - start), *carried],
        start=start,
        taken=taken,
        replaced=current,
        drops_next_plan=not purchase.follows,
        converted=spans.total(carried),
    )


def _first_day(
    agent: Agent, purchase: Purchase, current: Subscription | None, *, now: datetime
) -> tuple[datetime, int]:
    """When the purchase starts, and the day of the month on which its periods end.

    A card's renewal on a smaller plan starts where the last period ended, though the card is charged a little later.
    """
    if current is not None and purchase.follows:
        ended = end_of(current, now=now)
        if ended <= now < ended + term.UNKNOWN_MAX:
            return ended, current.anchor_day
    start = start_of(agent, now=now)
    return start, start.day


def _extend(agent: Agent, row: Subscription, purchase: Purchase, *, now: datetime) -> PurchaseOutcome:
    """Add more time of the same plan after the paid time.

    The anchor day stays only while plain renewals follow each other. It is set anew if the end was moved: by a
    suspension, by credited days, or because the time was over before this purchase. With the old anchor day, a month
    could then have one day, or sixty. A late charge of a renewing card does not move the end: the new period begins
    where the last one ended.
    """
    ended = end_of(row, now=now)
    end = ended if purchase.follows and now < ended + term.UNKNOWN_MAX else max(now, ended)
    if end != row.current_period_end:
        row.anchor_day = end.day
    start, taken = min(start_of(agent, now=now), end), spans.unused(row, now=now)
    rests = [*taken.rests, _rest(purchase, _later(end, purchase, anchor_day=row.anchor_day) - end)]
    row.current_period_end = start + spans.total(rests)
    if purchase.length is not None:
        row.anchor_day = row.current_period_end.day
    row.counted_at = now
    row.provider = purchase.provider or row.provider
    if purchase.length is None:  # credited days do not change the plan or its price
        row.period, row.price_usd, row.tier_snapshot = purchase.period, purchase.price_usd, purchase.tier_snapshot
    return PurchaseOutcome(subscription=row, rests=rests, start=start, taken=taken)


def _add_beside(row: Subscription, purchase: Purchase, *, now: datetime) -> PurchaseOutcome:
    bought = _rest(purchase, _later(now, purchase, anchor_day=now.day) - now)
    added = spans.on_plan(bought, _plan(purchase), spans.plan_of(row))
    taken = spans.unused(row, now=now)
    rests = [*taken.rests, added]
    start = put_beside(row, rests, till=licensed_until(row), now=now)
    converted = added.length if row.tier != purchase.tier else timedelta(0)
    return PurchaseOutcome(subscription=row, rests=rests, start=start, taken=taken, converted=converted)


def _license(
    agent: Agent, purchase: Purchase, licence: Licence, current: Subscription | None, *, now: datetime
) -> PurchaseOutcome:
    plan = _plan(purchase)
    row = Subscription.objects.filter(
        agent=agent, provider=purchase.provider, external_ref=licence.external_ref
    ).first() or new(agent, plan, purchase.provider, purchase.price_usd, now=now, until=licence.till)
    replaced = current if current and current.pk != row.pk else None
    if replaced and replaced.is_licensed:
        raise LicenceHeld(replaced)
    # A licence that is renewed pays for the time until now. Time beside it that ran meanwhile counts as unused.
    taken = spans.unused(replaced or row, now=now if replaced else min(now, licensed_until(row)))
    carried = _carried(replaced or row, taken, plan)
    till = licence.till
    # in these cases only a definite refund shortens the time
    if row.status != EXPIRED and row.period == purchase.period:
        till = max(till, licensed_until(row))
    row.brought_by = spans.brought(current) if current and current.tier == purchase.tier else []
    row.tier, row.period = purchase.tier, purchase.period
    row.price_usd, row.tier_snapshot = purchase.price_usd, purchase.tier_snapshot
    row.license_key, row.license_fingerprint = licence.key, licence.fingerprint
    row.external_ref, row.instance = licence.external_ref, licence.instance or row.instance
    row.current_period_end, row.paid_seen_at, row.unknown_since = till, now, None
    return PurchaseOutcome(
        subscription=row,
        rests=carried,
        start=put_beside(row, carried, till=till, now=now),
        taken=taken,
        replaced=replaced,
        drops_next_plan=True,  # only its provider changes the plan of a licence
        converted=spans.total(carried) if replaced and replaced.tier != plan.tier else timedelta(0),
    )


def _carried(old: Subscription | None, taken: Unused | None, plan: SoldPlan) -> list[UnusedTime]:
    """The unused time of the old plan, converted to the new one."""
    if old is None or taken is None:
        return []
    known = spans.plan_of(old)
    return [spans.on_plan(rest, known, plan) for rest in taken.rests]


def put_beside(row: Subscription, rests: Sequence[UnusedTime], *, till: datetime, now: datetime) -> datetime:
    """Place the time that was bought beside a licence after it, not before now and not in the free days.

    Returns when that time starts.
    """
    start = max(till, start_of(row.agent, now=now))
    row.current_period_end = start + spans.total(rests) if spans.total(rests) else till
    row.extra, row.counted_at = row.current_period_end - till, now
    return start


def start_of(agent: Agent, *, now: datetime) -> datetime:
    """When paid time starts: after the free days, and not before now."""
    return max(now, agent_terms.free_until(agent, now=now))


def _plan(purchase: Purchase) -> SoldPlan:
    return SoldPlan(tier=purchase.tier, period=purchase.period, snapshot=purchase.tier_snapshot)


def _rest(purchase: Purchase, length: timedelta) -> UnusedTime:
    """The time that was just bought or given, all of it unused."""
    if purchase.length is not None:
        return spans.gift(length, _plan(purchase))
    return UnusedTime(length=length, usd=Fraction(purchase.price_usd))


def grant(agent: Agent, purchase: Purchase, *, actor: str, now: datetime) -> Subscription:
    """An internal subscription without an end, beside paid time. Granting twice makes one grant."""
    row = Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).first()
    if row is not None:
        return row
    row = new(agent, _plan(purchase), Provider.INTERNAL, purchase.price_usd, now=now, until=FOREVER)
    return activate(agent, row, actor=actor, now=now)


def cancel(agent: Agent, row: Subscription, *, actor: str, now: datetime) -> Subscription:
    """Cancel the subscription: it does not renew, and runs until its end. Raises AlreadyExpired, NeverEnds."""
    if row.is_internal:
        raise NeverEnds(row)
    if row.status == EXPIRED:
        raise AlreadyExpired(row)
    if row.status == CANCELED:
        return row
    row.canceled_at = now
    return move_to(agent, row, CANCELED, actor=actor, now=now)


def reinstate(agent: Agent, row: Subscription, *, actor: str, now: datetime) -> Subscription:
    """The provider took back the cancellation: the subscription renews again."""
    return activate(agent, row, actor=actor, now=now)


def expire(
    agent: Agent, row: Subscription, *, at: datetime, actor: str, now: datetime, note: str, cut: bool = True
) -> Subscription:
    """Expire the subscription `at` this time, when payment stopped verifying. `cut`: its paid time ends then too."""
    row.expired_at, row.check_at, row.unknown_since = at, None, None
    if cut:
        row.current_period_end = min(row.current_period_end, at)
    return move_to(agent, row, EXPIRED, actor=actor, now=now, note=note)


def expire_ended(agent: Agent, *, now: datetime) -> Agent:
    """Expire the agent's subscriptions that have ended. Licences are left out: verification asks their provider first.

    A subscription that a card renews has some more days until the charge, unless Stripe says that it will not charge.
    """
    rows = Subscription.objects.paid().filter(agent=agent).exclude(provider__in=LICENSED)
    for row in rows.annotate(by_card=agent_terms.BY_CARD):
        end = end_of(row, now=now)
        known = agent_terms.bought(row)
        if term.runs_until(known, agent_terms.pauses(row.user_id), now=now) <= now:
            expire(agent, row, at=end, actor="billing", now=now, note="its time is over", cut=False)
            agent = next_plans.begin(agent)
    return agent


def end_of(row: Subscription, *, now: datetime) -> datetime:
    """Until when it is paid, including the time that suspensions gave back."""
    return term.ends(agent_terms.bought(row), agent_terms.pauses(row.user_id), now=now)


def _later(start: datetime, purchase: Purchase, *, anchor_day: int) -> datetime:
    if purchase.length is not None:
        return start + purchase.length
    return periods.end_of(start, purchase.period, anchor_day=anchor_day)


def new(
    agent: Agent, plan: SoldPlan, provider: Provider | None, price_usd: Decimal, *, now: datetime, until: datetime
) -> Subscription:
    return Subscription(
        user_id=agent.user_id,
        agent=agent,
        tier=plan.tier,
        period=plan.period,
        price_usd=price_usd,
        tier_snapshot=plan.snapshot,
        provider=provider,
        brought_by=[],
        current_period_end=until,
        created_at=now,
        counted_at=now,
        anchor_day=now.day,
    )


def activate(agent: Agent, row: Subscription, *, actor: str, now: datetime) -> Subscription:
    row.canceled_at = row.expired_at = None
    return move_to(agent, row, ACTIVE, actor=actor, now=now)


@transaction.atomic(savepoint=False)
def move_to(
    agent: Agent, row: Subscription, to: SubscriptionStatus, *, actor: str, now: datetime, note: str = ""
) -> Subscription:
    """The only place that assigns a status: check the move, change the row, write the timeline."""
    fresh = row._state.adding  # noqa: SLF001 # the way that Django documents
    before = SubscriptionStatus(row.status)
    if not fresh and to != before:
        states.check(TRANSITIONS, before, to, of=row.id)
    row.status = to
    row.save(force_insert=fresh)
    came = "new" if fresh else before.value
    words = f"subscription {row.id} {came} to {to}, until {row.current_period_end:%Y-%m-%d %H:%M} UTC"
    timeline.note(agent, f"{words}: {note}" if note else words, reason=Reason.PAYMENT, actor=actor, now=now)
    return row

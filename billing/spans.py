"""Paid time as a list of spans, one for each payment or gift, in the order in which they run.

Each payment owns its time: a refund takes back what is left of that time and no other. Each span knows what was
received for it: on another plan that value buys time at the plan's list price (docs/billing.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

from billing import periods, prices, standing, term
from billing.models import Payment, Span, StripeDispute, Subscription
from billing.term import Pause
from billing.vocabulary import Period

SECOND = timedelta(seconds=1)
LEAST_USD = Decimal("1E-10")  # far less than a second of the dearest plan costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Time that is not used yet, what was received for it in USD, and whose it is; None: of what is just bought."""

    length: timedelta
    usd: Fraction
    is_gift: bool = False
    payment_id: str | None = None
    home: HomePlan | None = None  # None: it is on the plan that it was bought for


@dataclass(frozen=True, slots=True, kw_only=True)
class SoldPlan:
    """A plan as it was offered when somebody bought it."""

    tier: str
    period: Period
    snapshot: dict[str, Any]

    @property
    def usd(self) -> Decimal:
        """Its list price for a period."""
        return prices.listed(self.tier, self.snapshot, self.period)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePlan:
    """The plan that some time was bought for, and how much of that time is left there."""

    plan: SoldPlan
    length: timedelta


def plan_of(row: Subscription) -> SoldPlan:
    return SoldPlan(tier=row.tier, period=Period(row.period), snapshot=row.tier_snapshot or {})


def total(rests: Iterable[Rest]) -> timedelta:
    return sum((one.length for one in rests), timedelta(0))


def left(row: Subscription, *, now: datetime) -> list[Rest]:
    """What is not used yet, in its order. Nothing of what a licence itself pays for."""
    return [rest for _, rest in _left(row, now=now)]


def take(row: Subscription, *, now: datetime) -> list[Rest]:
    """The same, taken away from the subscription: `lay` gives it back, or to another one. What is used stays."""
    taken = _left(row, now=now)
    for span, rest in taken:
        if rest.length == span.length:
            span.delete()
            continue
        span.length -= rest.length
        if span.home_length is not None and rest.home is not None:
            span.home_length -= rest.home.length
        span.usd = max(span.usd - stored(rest.usd), Decimal(0))
        span.starts_at, span.ends_at = now - span.length, now
        span.save()
    return [rest for _, rest in taken]


def lay(row: Subscription, rests: Sequence[Rest], *, start: datetime) -> datetime:
    """Write these spans of the subscription, one after the other; returns when the last one ends."""
    at, spans = start, []
    for rest in (one for one in rests if one.length):
        until = at + rest.length
        spans.append(
            Span(
                subscription=row,
                payment_id=rest.payment_id,
                starts_at=at,
                ends_at=until,
                length=rest.length,
                usd=stored(rest.usd),
                is_gift=rest.is_gift,
                **columns(rest.home),
            )
        )
        at = until
    Span.objects.bulk_create(spans)
    return at


def own(row: Subscription, payment: Payment) -> None:
    """What was just bought belongs to this row of the ledger."""
    Span.objects.filter(subscription=row, payment=None).update(payment=payment)


def on_plan(rest: Rest, old: SoldPlan, new: SoldPlan) -> Rest:
    """The same value as time of another plan, in whole seconds; time of the same plan stays as it is.

    On a plan that costs nothing time stays as it is, too. The time remembers the plan that it was bought for.
    """
    if old.tier == new.tier or not new.usd:
        return rest
    home = rest.home or HomePlan(plan=old, length=rest.length)
    return replace(rest, length=periods.bought_by(rest.usd, usd=new.usd, period=new.period), home=home)


def home_of_all(rests: Sequence[Rest]) -> SoldPlan | None:
    """The plan to go back to where all that was paid for was bought for another plan than it is on; else None.

    Of several plans it is the one that was bought last, which comes first. Given days hold nothing where they are,
    unless nothing else is left.
    """
    counted = [rest for rest in rests if not rest.is_gift] or rests
    plans = [rest.home.plan for rest in counted if rest.home is not None]
    if not plans or len(plans) < len(counted):
        return None
    return next(plan for plan in reversed(plans) if plan.tier == plans[0].tier)


def gone_home(rests: Sequence[Rest], old: SoldPlan, home: SoldPlan) -> list[Rest]:
    """The same time at home, as if never on another plan; in whole seconds, rounded up. The rest comes by its value."""
    return [
        replace(rest, length=_up(rest.home.length), home=None)
        if rest.home is not None and rest.home.plan.tier == home.tier
        else on_plan(rest, old, home)
        for rest in rests
    ]


def gift(length: timedelta, plan: SoldPlan) -> Rest:
    """Given time. It is worth what its plan is sold for by the month."""
    monthly = replace(plan, period=Period.MONTHLY).usd
    return Rest(length=length, usd=periods.worth(length, usd=monthly, period=Period.MONTHLY), is_gift=True)


def _left(row: Subscription, *, now: datetime) -> list[tuple[Span, Rest]]:
    spans = Span.objects.filter(subscription=row).order_by("starts_at", "id")
    return left_of(row, spans, standing.pauses(row.user_id), now=now)


def left_of(
    row: Subscription, spans: Iterable[Span], pauses: Sequence[Pause], *, now: datetime
) -> list[tuple[Span, Rest]]:
    """The same of spans and suspensions that are read already, for who looks at many subscriptions."""
    since = row.counted_at
    if row.is_licensed:  # which does not stand still; what is beside it does, once it runs
        since = max(since, row.current_period_end - row.extra)
    pauses = pauses if row.parked_at is None else []
    now = row.parked_at or now
    found = []
    for span in spans:
        starts, ends = (
            term.postponed(moment, pauses, since=max(since, row.counted_at), now=now)
            for moment in (span.starts_at, span.ends_at)
        )
        length = ends - max(now, starts)
        if length > timedelta(0):
            found.append((span, _share(span, length)))
    return found


def stored(usd: Fraction) -> Decimal:
    """Rounded up: what was worth a whole second is not worth less by having been stored."""
    return (Decimal(usd.numerator) / usd.denominator).quantize(LEAST_USD, ROUND_UP)


def _up(length: timedelta) -> timedelta:
    return -(-length // SECOND) * SECOND


def _share(span: Span, length: timedelta) -> Rest:
    share = periods.share(length, span.length)
    usd, home = Fraction(span.usd) * share, _home(span, share)
    return Rest(length=length, usd=usd, is_gift=span.is_gift, payment_id=span.payment_id, home=home)


def _home(span: Span, share: Fraction) -> HomePlan | None:
    home = home_of(span)
    return home and replace(home, length=timedelta(microseconds=int(home.length // timedelta.resolution * share)))


def home_of(row: Span | StripeDispute) -> HomePlan | None:
    """The plan that this time was bought for, where it is on another one."""
    if row.home_tier is None or row.home_period is None or row.home_length is None:
        return None
    plan = SoldPlan(tier=row.home_tier, period=Period(row.home_period), snapshot=row.home_snapshot or {})
    return HomePlan(plan=plan, length=row.home_length)


def columns(home: HomePlan | None) -> dict[str, Any]:
    """As `home_of` reads it."""
    return {
        "home_tier": home and home.plan.tier,
        "home_period": home and home.plan.period,
        "home_snapshot": home and home.plan.snapshot,
        "home_length": home and home.length,
    }

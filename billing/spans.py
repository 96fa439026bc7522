"""Paid time as a list of spans, one for each payment or gift, in the order in which they run.

Each payment owns its time: a refund takes back the unused rest of that time and no other. Each span knows what was
received for it. On another plan that value buys time at the plan's list price (docs/reference/billing.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

from django.db import connection

from billing import agent_terms, periods, prices, term
from billing.models import PassedPlan, Payment, Span, StripeDispute, Subscription
from billing.term import Pause
from billing.vocabulary import CONFIRMED, LICENSED, Period

SECOND = timedelta(seconds=1)
LEAST_USD = Decimal("1E-10")  # far less than a second of the most expensive plan costs
MOST_PASSED = 16  # how many plans a span remembers, besides the one that it was bought for

_FORGET = """
WITH known AS (SELECT passed FROM billing_span UNION ALL SELECT passed FROM billing_stripedispute)
DELETE FROM billing_passedplan WHERE id NOT IN (
    SELECT (one ->> 0)::bigint FROM known, jsonb_array_elements(known.passed) AS one
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedTime:
    """Unused time, its value in USD, and the payment that it belongs to. No payment: it was just bought or given."""

    length: timedelta
    usd: Fraction
    is_gift: bool = False
    payment_id: str | None = None
    homes: tuple[HomePlan, ...] = ()  # empty: it is still on the plan that it was bought for


@dataclass(frozen=True, slots=True, kw_only=True)
class SoldPlan:
    """A plan with the prices that it had when it was bought."""

    tier: str
    period: Period
    snapshot: dict[str, Any]
    # the payments that brought the plan to an agent; empty: a licence or an operator brought it
    by: tuple[str, ...] = ()
    passed_id: int | None = None  # the id of its PassedPlan row, once time has moved from it to another plan

    @property
    def usd(self) -> Decimal:
        """The list price of one period, in USD."""
        return prices.listed(self.tier, self.snapshot, self.period)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePlan:
    """A plan that some time was on before, and how much time is left if it returns there.

    In a list of these, the first is the plan that the time was bought for, and the last is the one before the present
    plan.
    """

    plan: SoldPlan
    length: timedelta


def plan_of(row: Subscription) -> SoldPlan:
    snapshot, by = row.tier_snapshot or {}, tuple(brought(row))
    return SoldPlan(tier=row.tier, period=Period(row.period), snapshot=snapshot, by=by)


def brought(row: Subscription) -> list[str]:
    """The payments that brought the subscription's plan, also if they are used up or refunded.

    Without a licence's charges.
    """
    if row.brought_by is not None:
        return list(row.brought_by)
    if row._state.adding:  # noqa: SLF001 # the way that Django documents
        return []
    known = row.payments.filter(kind__in=CONFIRMED, tier=row.tier, unapplied="")  # for rows from an earlier release
    return list(known.exclude(provider__in=LICENSED).order_by("at", "pk").values_list("pk", flat=True))


def total(rests: Iterable[UnusedTime]) -> timedelta:
    return sum((one.length for one in rests), timedelta(0))


@dataclass(frozen=True, slots=True)
class Unused:
    """The unused time of a subscription at a moment, with the rows that it is in."""

    spans: Sequence[tuple[Span, UnusedTime]]
    at: datetime

    @property
    def rests(self) -> list[UnusedTime]:
        """The unused time in the order in which it runs, without the time that a licence itself pays for."""
        return [rest for _, rest in self.spans]

    def remove(self) -> list[UnusedTime]:
        """Remove the unused time from the subscription. Used time stays.

        `lay` gives the time back to this subscription or to another one.
        """
        Span.objects.filter(pk__in=[span.pk for span, rest in self.spans if rest.length == span.length]).delete()
        for span, rest in self.spans:
            if rest.length < span.length:
                _use_up(span, rest, now=self.at)
        return self.rests


def unused(row: Subscription, *, now: datetime) -> Unused:
    spans = list(Span.objects.filter(subscription=row).order_by("starts_at", "id"))
    return Unused(left_of(row, spans, agent_terms.pauses(row.user_id), passed=passed_by(spans), now=now), now)


def left(row: Subscription, *, now: datetime) -> list[UnusedTime]:
    return unused(row, now=now).rests


def take(row: Subscription, *, now: datetime) -> list[UnusedTime]:
    """Like `left`, but also remove the unused time from the subscription (`Unused.remove`)."""
    return unused(row, now=now).remove()


def _use_up(span: Span, rest: UnusedTime, *, now: datetime) -> None:
    """Remove the rest from the span. A licence's late renewal may give back the used time, so its plans are kept."""
    span.length -= rest.length
    if rest.homes and span.home_length is not None:
        first, *since = (one.length for one in rest.homes)
        span.home_length -= first
        pairs = zip(span.passed or [], since, strict=True)
        span.passed = [[number, all_ - kept // timedelta.resolution] for (number, all_), kept in pairs] or None
    span.usd = max(span.usd - stored(rest.usd), Decimal(0))
    span.starts_at, span.ends_at = now - span.length, now
    span.save()


def lay(row: Subscription, rests: Sequence[UnusedTime], *, start: datetime) -> datetime:
    """Write these spans of the subscription, one after the other. Returns when the last one ends.

    Time that is worth less than a second of the present plan has length 0 here. It gets its full length again when it
    returns to its earlier plan.
    """
    at, spans = start, []
    for rest in _written([one for one in rests if one.length or one.homes]):
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
                **columns(rest.homes),
            )
        )
        at = until
    Span.objects.bulk_create(spans)
    return at


def own(row: Subscription, payment: Payment) -> None:
    """Assign the time that was just bought to its row of the ledger."""
    Span.objects.filter(subscription=row, payment=None).update(payment=payment)
    if payment.kind in CONFIRMED and payment.tier == row.tier and payment.provider not in LICENSED:
        row.brought_by = [*(name for name in brought(row) if name != payment.pk), payment.pk]
        row.save(update_fields=["brought_by"])


def on_plan(rest: UnusedTime, old: SoldPlan, new: SoldPlan) -> UnusedTime:
    """The same value as time of another plan, in whole seconds. The time remembers the plans that it comes from.

    Time of the same plan stays as it is. Time on a plan that costs nothing stays as it is, too.
    """
    if old.tier == new.tier or not new.usd:
        return rest
    homes = (*rest.homes, HomePlan(plan=old, length=rest.length))
    return _by_value(rest, new, homes=homes[:1] + homes[1:][-MOST_PASSED:])


def _by_value(rest: UnusedTime, new: SoldPlan, *, homes: tuple[HomePlan, ...]) -> UnusedTime:
    return replace(rest, length=periods.bought_by(rest.usd, usd=new.usd, period=new.period), homes=homes)


def home_of_all(rests: Sequence[UnusedTime]) -> SoldPlan | None:
    """The plan to return to, if all paid time was bought for another plan than the present one; otherwise None.

    It is the plan before the present one. If the spans differ, it is the plan of the span that runs first. Given days
    do not count, unless nothing else is left.
    """
    counted = [rest for rest in rests if not rest.is_gift] or rests
    plans = [rest.homes[-1].plan for rest in counted if rest.homes]
    if not plans or len(plans) < len(counted):
        return None
    home = next(plan for plan in reversed(plans) if plan.tier == plans[0].tier)
    there = (_at(rest, home.tier) for rest in rests)
    names = (name for one in there if one for name in one[1].plan.by)
    return replace(home, by=tuple(dict.fromkeys(names)), passed_id=None)


def but_for(rests: Iterable[UnusedTime], is_gone: Callable[[SoldPlan], bool]) -> list[UnusedTime]:
    """The same time, as if it had never been on these plans. The plan that it was bought for stays."""
    return [replace(rest, homes=tuple(_still_there(rest.homes, is_gone))) for rest in rests]


def _still_there(homes: Sequence[HomePlan], is_gone: Callable[[SoldPlan], bool]) -> Iterable[HomePlan]:
    return [one for number, one in enumerate(homes) if number == 0 or not is_gone(one.plan)]


def gone_home(rests: Sequence[UnusedTime], old: SoldPlan, home: SoldPlan) -> list[UnusedTime]:
    """The same time, as if it had stayed on the plan `home`. Whole seconds, rounded up.

    Time that never was on that plan is converted by its value.
    """
    return [_gone_home(rest, old, home) for rest in rests]


def _gone_home(rest: UnusedTime, old: SoldPlan, home: SoldPlan) -> UnusedTime:
    if found := _at(rest, home.tier):
        number, there = found
        return replace(rest, length=_up(there.length), homes=rest.homes[:number])
    if old.tier == home.tier or not home.usd:
        return rest
    return _by_value(rest, home, homes=rest.homes or (HomePlan(plan=old, length=rest.length),))


def _at(rest: UnusedTime, tier: str) -> tuple[int, HomePlan] | None:
    """The last time it was on that plan: the position in `homes`, and the plan."""
    found = [(number, one) for number, one in enumerate(rest.homes) if one.plan.tier == tier]
    return found[-1] if found else None


def gift(length: timedelta, plan: SoldPlan) -> UnusedTime:
    """Given time. Its value is the monthly list price of its plan."""
    monthly = replace(plan, period=Period.MONTHLY).usd
    return UnusedTime(length=length, usd=periods.worth(length, usd=monthly, period=Period.MONTHLY), is_gift=True)


def left_of(
    row: Subscription,
    spans: Iterable[Span],
    pauses: Sequence[Pause],
    *,
    passed: Mapping[int, SoldPlan] | None = None,
    now: datetime,
) -> list[tuple[Span, UnusedTime]]:
    """Like `unused`, but spans and suspensions are already loaded, for callers with many subscriptions.

    Without `passed`, the result does not contain the earlier plans.
    """
    since = row.counted_at
    if row.is_licensed:  # a licence goes on during a suspension; the time beside it is paused once it runs
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
        if length > timedelta(0) or (not span.length and ends > now):
            found.append((span, _share(span, length, passed)))
    return found


def stored(usd: Fraction) -> Decimal:
    """Rounded up, so that storing does not lower the value of a whole second."""
    return (Decimal(usd.numerator) / usd.denominator).quantize(LEAST_USD, ROUND_UP)


def _up(length: timedelta) -> timedelta:
    return -(-length // SECOND) * SECOND


def _share(span: Span, length: timedelta, passed: Mapping[int, SoldPlan] | None) -> UnusedTime:
    share = periods.share(length, span.length) if span.length else Fraction(1)
    known = () if passed is None else homes_of(span, passed)
    return UnusedTime(
        length=length,
        usd=Fraction(span.usd) * share,
        is_gift=span.is_gift,
        payment_id=span.payment_id,
        homes=tuple(replace(one, length=_part(one.length, share)) for one in known),
    )


def _part(length: timedelta, share: Fraction) -> timedelta:
    return timedelta(microseconds=int(length // timedelta.resolution * share))


def passed_by(rows: Iterable[Span | StripeDispute]) -> dict[int, SoldPlan]:
    """The plans that these spans have passed, by the id of their rows."""
    numbers = {number for row in rows for number, _ in row.passed or []}
    found = PassedPlan.objects.filter(pk__in=numbers) if numbers else []
    return {
        one.pk: SoldPlan(
            tier=one.tier, period=Period(one.period), snapshot=one.snapshot, by=tuple(one.by), passed_id=one.pk
        )
        for one in found
    }


def forget_passed() -> int:
    """Delete the passed plans that no span or dispute refers to. Returns how many were deleted.

    This is safe while others write: a new plan and its spans are written in one transaction, and no span refers to an
    old plan again.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FORGET)
        return int(cursor.rowcount)


def homes_of(row: Span | StripeDispute, passed: Mapping[int, SoldPlan]) -> tuple[HomePlan, ...]:
    """The plan that this time was bought for and those that it was on since. Empty if it is still on the first plan."""
    if row.home_tier is None or row.home_period is None or row.home_length is None:
        return ()
    by = () if row.payment_id is None else (row.payment_id,)  # a gift has no payment, so it does not hold a plan
    plan = SoldPlan(tier=row.home_tier, period=Period(row.home_period), snapshot=row.home_snapshot or {}, by=by)
    since = (
        HomePlan(plan=passed[number], length=timedelta(microseconds=microseconds))
        for number, microseconds in row.passed or []
    )
    return HomePlan(plan=plan, length=row.home_length), *since


def columns(homes: Sequence[HomePlan]) -> dict[str, Any]:
    """The columns from which `homes_of` reads these plans."""
    first = homes[0] if homes else None
    return {
        "home_tier": first and first.plan.tier,
        "home_period": first and first.plan.period,
        "home_snapshot": first and first.plan.snapshot,
        "home_length": first and first.length,
        "passed": [[one.plan.passed_id, one.length // timedelta.resolution] for one in homes[1:]] or None,
    }


def _written(rests: Sequence[UnusedTime]) -> list[UnusedTime]:
    """The same time, after each plan that it passed has a PassedPlan row. Equal plans share a row."""
    new: list[SoldPlan] = []
    for plan in (one.plan for rest in rests for one in rest.homes[1:]):
        if plan.passed_id is None and plan not in new:
            new.append(plan)
    rows = PassedPlan.objects.bulk_create(
        PassedPlan(tier=plan.tier, period=plan.period, snapshot=plan.snapshot, by=list(plan.by)) for plan in new
    )
    known = [replace(plan, passed_id=row.pk) for plan, row in zip(new, rows, strict=True)]

    def with_row(one: HomePlan) -> HomePlan:
        return one if one.plan.passed_id else replace(one, plan=known[new.index(one.plan)])

    return [replace(rest, homes=(*rest.homes[:1], *map(with_row, rest.homes[1:]))) for rest in rests]
